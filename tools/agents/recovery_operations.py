"""Recovery with the root key: new API keys, and another root key. Both take a signed request only."""

from pydantic import Field

from storage.tables import FormerKeyRow
from storage.vocabulary import Env
from tools.agents.errors import PublicKeyInUse
from tools.agents.key_possession import check_signature, claim_key
from tools.agents.logic import agent_record, change_agent
from tools.agents.profiles import PublicKey
from tools.agents.records import Agent, AgentRecovered
from tools.agents.registration import keys_of_both
from tools.credentials.errors import KeyLimit
from tools.credentials.logic import acting_agent, check_room, forget_oldest, revoke_all
from tools.engine.arguments import Arguments
from tools.engine.context import TxContext
from tools.engine.next_steps import step, steps
from tools.engine.rate_limits import Rate
from tools.engine.registry import operation
from tools.kernel.keys import did_of_hex, rotation_message
from tools.kernel.records import Step

ONLY_SIGNED = "only a signature over the HTTP request itself (RFC 9421) admits it"


class RecoverAgent(Arguments):
    revoke_existing: bool = Field(False, description="end every API key you had, in both environments")


@operation(
    "POST /v1/agents/recover",
    auth="signed",
    errors=(KeyLimit,),
    shows_secrets=True,
    rate=Rate.RECOVER,
    toolset="agents",
    only_rest=ONLY_SIGNED,
    examples=({"revoke_existing": True},),
)
def recover_agent(ctx: TxContext, asked: RecoverAgent) -> AgentRecovered:
    """Get new API keys for live and test if yours are lost or leaked; they are shown once.

    Takes a request signed with your Ed25519 key (RFC 9421; skill.md has it as a program), no API key. With revoke_existing every
    older key is revoked at once, and a public key that you brought counts as proven. Webhooks made with a leaked key
    stay: check them, and endpoints.webhook_url. At most 5 an hour.
    Next: store the keys, and call get_me with one.
    """
    agent = acting_agent(ctx)
    if asked.revoke_existing:
        revoke_all(ctx.tx, agent.id)
        agent = change_agent(ctx.tx, agent, auth_epoch=agent.auth_epoch + 1, key_proven=True)
    for env in Env:
        check_room(ctx, agent.id, env, "Send revoke_existing: true, which ends them all.")
    keys = keys_of_both(ctx, agent.id, "recovered")
    for env in Env:
        forget_oldest(ctx, agent.id, env)
    hint = "If this was not you, your root key has leaked: rotate it, then recover with revoke_existing."
    ctx.emit_in_both(ctx.agent, "agent.keys_recovered", {"revoked_previous": asked.revoke_existing, "hint": hint})
    return AgentRecovered(
        agent=agent_record(agent),
        api_keys=keys,
        revoked_previous=asked.revoke_existing,
        next_steps=_after(asked.revoke_existing),
    )


def _after(revoked: bool) -> list[Step]:
    """Return next steps, such as a check of webhooks, because these outlive a leaked key."""
    leaked = (
        step(
            "list_webhooks", "A webhook made with a leaked key still gets your events: delete those that are not yours."
        ),
        step(
            "get_me",
            "See that endpoints.webhook_url, profile and wallet are what you set: a leaked key may have changed them.",
        ),
    )
    return steps(*(leaked if revoked else (step("get_me", "Check that a new key works."),)))


class RotateKey(Arguments):
    new_public_key: PublicKey = Field(description="the Ed25519 key to be known by, 64 hex or did:key")
    proof: str = Field(
        pattern=r"^[0-9a-fA-F]{128}$",
        description="hex signature by the new key over `<service>:rotate:<agent_id>:<old_public_key_hex>:<new_public_key_hex>`",
    )


@operation(
    "POST /v1/agents/me/rotate-key",
    auth="signed",
    errors=(PublicKeyInUse,),
    idempotent=True,
    toolset="agents",
    only_rest=ONLY_SIGNED,
)
def rotate_key(ctx: TxContext, asked: RotateKey) -> Agent:
    """Change your root key and with it your did; id, handle, API keys and wallets stay.

    Takes a request signed with the old key and a proof by the new one; a refused proof gets the text to sign in
    details.text. The old key is then invalid: if the answer was lost, repeat the call signed with the new key. A key that
    any agent proved, or used before, is refused.
    """
    agent = acting_agent(ctx)
    if asked.new_public_key == agent.public_key:
        return agent_record(agent)
    text = rotation_message(ctx.config.brand, agent.id, agent.public_key, asked.new_public_key)
    check_signature(
        asked.new_public_key, text, asked.proof, "the new key did not sign the change", "the new Ed25519 key"
    )
    claim_key(ctx, asked.new_public_key, "new_public_key", proven=True)
    ctx.tx.add(FormerKeyRow(public_key=agent.public_key, agent_id=agent.id, retired_at=ctx.now))
    changed = change_agent(
        ctx.tx, agent, public_key=asked.new_public_key, key_proven=True, auth_epoch=agent.auth_epoch + 1
    )
    old_did, new_did = [did_of_hex(row.public_key) for row in (agent, changed)]
    hint = "If this was not you, your root key has leaked: report it to the operator."
    ctx.emit_in_both(ctx.agent, "agent.key_rotated", {"old_did": old_did, "new_did": new_did, "hint": hint})
    return agent_record(changed)
