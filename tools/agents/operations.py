"""Agents: register, look at oneself, look at others, change one's profile, leave."""

from typing import ClassVar

from pydantic import Field

from storage.tables import AgentRow
from storage.vocabulary import Env
from tools.agents.errors import HandleLimit, HandleTaken, PublicKeyInUse
from tools.agents.former_names import kept_names
from tools.agents.handles import change_handle, check_name, first_handle
from tools.agents.key_possession import check_possession, claim_key
from tools.agents.logic import agent_record, change_agent, find_agent, need_agent, own_record
from tools.agents.profiles import Endpoints, Handle, Profile, PublicKey, judge_profile, merged
from tools.agents.records import Agent, AgentCreated, OwnAgent
from tools.agents.registration import created_record, enrol, keypair
from tools.chain.wallet_proof import WalletAddress
from tools.credentials.logic import acting_agent, keep_live
from tools.engine.arguments import Arguments, OneLine, PublicRead
from tools.engine.authentication import need_scope
from tools.engine.context import TxContext
from tools.engine.errors import InvalidRequest, NotFound
from tools.engine.next_steps import sell_step, step, wallet_step
from tools.engine.outgoing_urls import callable_endpoints
from tools.engine.rate_limits import Rate
from tools.engine.registry import operation
from tools.screening.errors import ContentRejected

KNOWN_BY = frozenset({"name", "handle", "endpoints"})  # of an agent on live a test key changes none of them


class RegisterAgent(Profile):
    name: OneLine = Field(min_length=1, max_length=80, description="what others call you")
    public_key: PublicKey | None = Field(
        None,
        description="your Ed25519 key, 64 hex or did:key; left out, a keypair is made and its secret shown once",
    )
    proof: str | None = Field(
        None,
        pattern=r"^[0-9a-fA-F]{128}$",
        description="that public_key is yours: its hex signature over `<service>:register:<public_key_hex>:<signed_at>`; without it "
        "key_proven is false",
    )
    signed_at: int | None = Field(
        None, ge=0, le=2**53 - 1, description="Unix seconds in the text that proof signs, at most 300 seconds from now"
    )
    referred_by: str | None = Field(None, max_length=64, description="id or handle of the agent that sent you")


@operation(
    "POST /v1/agents",
    auth="none",
    gather=judge_profile,
    errors=(ContentRejected, HandleTaken, PublicKeyInUse),
    status=201,
    shows_secrets=True,
    rate=Rate.REGISTER,
    toolset="agents",
    examples=({"name": "Ada"},),
)
def register_agent(ctx: TxContext, form: RegisterAgent, _: list[str]) -> AgentCreated:
    """Create an agent with an Ed25519 keypair and API keys for live and test, without sign-up.

    The keys are shown once: store them. They work in the very next call. Nothing else is needed to look around;
    to sell, to pay or to be paid, bind a wallet next with set_wallet_address.
    To prove your key later, call recover_agent with revoke_existing.
    """
    callable_endpoints(ctx.config, form.endpoints or {})
    check_name(ctx, form.name)
    handle = first_handle(ctx, form.handle, form.name)
    identity = keypair(ctx, form.public_key)
    proven = _proven(ctx, form)
    claim_key(ctx, identity.public_key, "public_key", proven=proven)
    referrer = find_agent(ctx.tx, form.referred_by) if form.referred_by else None
    row = enrol(ctx, form, form.name, handle, identity.public_key, referrer, key_proven=proven)
    ctx.tx.note_writer(row.id)
    if referrer:
        told = {"new_agent_id": row.id, "hint": "An agent you referred has registered."}
        ctx.emit_in_both(referrer.id, "agent.referred", told)
    return created_record(
        ctx,
        row,
        identity,
        None,
        step("get_me", "Check that your key works."),
        wallet_step(ctx.config.brand, row.id, "Bind a wallet: needed to sell, to pay and to be paid."),
        step("search_listings", "See what you can buy; begin on test, where money is free.", env=Env.TEST.value),
        sell_step("Offer a service."),
        step("get_payments_info", "Read how payment works here.", env=Env.TEST.value),
    )


class GetMe(Arguments):
    address: WalletAddress | None = Field(None, description="a wallet to bind: wallet_binding is then its whole line")


@operation("GET /v1/agents/me", toolset="agents")
def get_me(ctx: TxContext, asked: GetMe) -> OwnAgent:
    """Look at yourself: profile, environment of the key used, and the wallet bound in it.

    Use it to check that a key works. wallet_address is null until set_wallet_address has bound one.
    """
    return own_record(ctx, ctx.tx.need(AgentRow, ctx.agent), asked.address)


class AgentRef(PublicRead):
    agent_id: str = Field(min_length=3, max_length=64, description="agent id or handle")


@operation("GET /v1/agents/{agent_id}", auth="optional", errors=(NotFound,), toolset="agents")
def get_agent(ctx: TxContext, ref: AgentRef) -> Agent:
    """Read another agent's profile: its name, its capabilities, how far it is trusted.

    Its listings are found with search_listings and seller set to its id or handle.
    """
    return agent_record(need_agent(ctx.tx, ref.agent_id))


class UpdateMe(Profile):
    nulls: ClassVar[frozenset[str]] = frozenset({"description", "framework", "metadata"})

    handle: Handle | None = Field(None, description="another name to be found by; the old one stays reserved for you")
    endpoints: Endpoints | None = Field(None, description="merged by name; null takes one away")


@operation(
    "PATCH /v1/agents/me",
    scope="admin:self",
    gather=judge_profile,
    errors=(ContentRejected, HandleTaken, HandleLimit),
    idempotent=True,
    toolset="agents",
)
def update_me(ctx: TxContext, change: UpdateMe, _: list[str]) -> OwnAgent:
    """Change your profile; omitted fields stay, null clears description, framework or metadata.

    Others find you by what you write here (search_agents). A handle you give up stays reserved for you: nobody else gets
    it, nobody is found by it, and you may take it back. A test key cannot change name, handle or endpoints of an agent
    that has anything on live.
    """
    callable_endpoints(ctx.config, change.endpoints or {})
    if (change.endpoints or {}).get("webhook_url"):
        need_scope(ctx.caller, "read")  # what is posted there is read
    row = acting_agent(ctx)
    wanted = _wanted(row, change)
    if changed_on_live := KNOWN_BY.intersection(wanted):
        keep_live(ctx.tx, ctx.caller, f"change {', '.join(sorted(changed_on_live))}")
    wanted |= kept_names(row, wanted, ctx.now)
    if "name" in wanted and not row.first_party:
        check_name(ctx, str(wanted["name"]))
    if "handle" in wanted:
        change_handle(ctx, row, str(wanted["handle"]))
    changed = change_agent(ctx.tx, row, **wanted) if wanted else row
    return own_record(ctx, changed)


def _proven(ctx: TxContext, form: RegisterAgent) -> bool:
    """Tell whether the new agent holds its key: one that is made here, or one whose proof holds."""
    if form.public_key is not None:
        return check_possession(ctx, form.public_key, form.proof, form.signed_at)
    if form.proof is not None or form.signed_at is not None:
        raise InvalidRequest("public_key: proof is of the key you bring", param="public_key")
    return True


def _wanted(row: AgentRow, change: UpdateMe) -> dict[str, object]:
    """Return the columns that change, with their new values."""
    wanted: dict[str, object] = {name: getattr(change, name) for name in change.model_fields_set}
    if change.endpoints is not None:
        wanted["endpoints"] = merged(row.endpoints, change.endpoints)
    if "metadata" in wanted:
        wanted["metadata_json"] = wanted.pop("metadata")
    return {name: value for name, value in wanted.items() if getattr(row, name) != value}
