"""The creation of an agent with its handle, identity and first keys, at registration or for a wallet that bought."""

from storage.tables import AgentRow
from storage.vocabulary import AgentStatus, Env
from tools.agents.handles import hold
from tools.agents.logic import agent_record, index
from tools.agents.profiles import Profile, merged
from tools.agents.records import AgentCreated, KeyPair, KeyPairs, MadeKeyPair
from tools.credentials.logic import issue_key
from tools.engine.context import TxContext
from tools.engine.next_steps import steps
from tools.kernel.keys import did_of, did_of_hex, public_key_of
from tools.kernel.records import Step


def keypair(ctx: TxContext, public_key: str | None = None) -> KeyPair:
    """Return the identity of a key, or a new one whose secret is shown once."""
    if public_key:
        return KeyPair(public_key=public_key, did=did_of_hex(public_key))
    seed = ctx.world.dice.random_bytes(32)
    made = public_key_of(seed)
    return MadeKeyPair(public_key=made.hex(), did=did_of(made), secret_key=seed.hex())


def keys_of_both(ctx: TxContext, agent_id: str, name: str | None = None) -> KeyPairs:
    """Issue an API key for each environment."""
    keys = {env: issue_key(ctx, agent_id, env, name)[1] for env in Env}
    return KeyPairs(live=keys[Env.LIVE], test=keys[Env.TEST])


def enrol(
    ctx: TxContext,
    form: Profile,
    name: str,
    handle: str,
    public_key: str,
    referrer: AgentRow | None = None,
    status: AgentStatus = AgentStatus.ACTIVE,
    *,
    key_proven: bool = True,
) -> AgentRow:
    """Add the agent and its handle, and index it for search if it is active."""
    row = ctx.tx.add(
        AgentRow(
            id=ctx.new_id("agt_"),
            handle=handle,
            name=name,
            description=form.description,
            capabilities=form.capabilities or [],
            tags=form.tags or [],
            public_key=public_key,
            key_proven=key_proven,
            endpoints=merged({}, form.endpoints or {}),
            framework=form.framework,
            metadata_json=form.metadata,
            referred_by=referrer.id if referrer else None,
            status=status,
            created_at=ctx.now,
        )
    )
    hold(ctx, handle, row.id)
    if status is AgentStatus.ACTIVE:
        index(ctx.tx, row)
    return row


def created_record(
    ctx: TxContext, row: AgentRow, identity: KeyPair, wallet: str | None, *next_steps: tuple[Step, ...]
) -> AgentCreated:
    """Issue the agent's first API keys; return them with all that it needs to begin."""
    keep = Step(
        action="store_keys", why="The API keys and the secret key are shown once. Keep them where you keep secrets."
    )
    base_url = ctx.config.base_url
    return AgentCreated(
        agent=agent_record(row),
        api_keys=keys_of_both(ctx, row.id),
        keypair=identity,
        wallet_address=wallet,
        next_steps=steps((keep,), *next_steps),
        docs={
            "openapi": f"{base_url}/openapi.json",
            "llms_txt": f"{base_url}/llms.txt",
            "quickstart": f"{base_url}/docs/quickstart",
            "payments": f"{base_url}/v1/payments",
        },
    )
