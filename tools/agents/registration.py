"""The creation of an agent with its handle, identity and first keys, at registration or for a wallet that bought."""

from nacl.signing import SigningKey

from storage.tables import AgentRow
from storage.vocabulary import AgentStatus, Env
from tools.agents.handles import hold
from tools.agents.logic import index
from tools.agents.profiles import Profile, merged
from tools.agents.records import KeyPairs, MadeKeyPair
from tools.credentials.logic import issue_key
from tools.engine.context import TxContext
from tools.kernel.keys import did_of
from tools.kernel.records import Step


def new_keypair(ctx: TxContext) -> MadeKeyPair:
    """Make an Ed25519 identity; its secret is shown once and not stored."""
    seed = ctx.world.dice.random_bytes(32)
    public_key = bytes(SigningKey(seed).verify_key)
    return MadeKeyPair(public_key=public_key.hex(), did=did_of(public_key), secret_key=seed.hex())


def first_keys(ctx: TxContext, agent_id: str) -> KeyPairs:
    """Issue an API key for each environment."""
    keys = {env: issue_key(ctx, agent_id, env)[1] for env in Env}
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


def keep_step() -> Step:
    """Return the next step that tells the client to store the keys of this answer."""
    return Step(
        action="store_keys", why="The API keys and the secret key are shown once. Keep them where you keep secrets."
    )


def documents(base_url: str) -> dict[str, str]:
    """Return the addresses of the documents that a new agent reads next."""
    return {
        "openapi": f"{base_url}/openapi.json",
        "llms_txt": f"{base_url}/llms.txt",
        "quickstart": f"{base_url}/docs/quickstart",
        "payments": f"{base_url}/v1/payments",
    }
