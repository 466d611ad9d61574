"""A new agent: its row, its handle, its identity, its first keys; whether it registered or was made for a wallet that bought."""

import orjson
from nacl.signing import SigningKey

from storage.tables import AgentRow
from tools.context import Context
from tools.ports import Env
from tools.records.agents import KeyPairs, MadeKeyPair
from tools.rules.keys import did_of
from tools.steps.agents import index
from tools.steps.handles import hold
from tools.steps.keys import issue_key
from tools.steps.profiles import Profile, merged


def new_keypair(ctx: Context) -> MadeKeyPair:
    """An Ed25519 identity; its secret is shown once and not stored."""
    seed = ctx.world.dice.roll(32)
    public_key = bytes(SigningKey(seed).verify_key)
    return MadeKeyPair(public_key=public_key.hex(), did=did_of(public_key), secret_key=seed.hex())


def first_keys(ctx: Context, agent_id: str) -> KeyPairs:
    """An API key for each environment."""
    keys = {env: issue_key(ctx, agent_id, env)[1] for env in Env}
    return KeyPairs(live=keys[Env.LIVE], test=keys[Env.TEST])


def enrol(
    ctx: Context, form: Profile, name: str, handle: str, public_key: str, referrer: AgentRow | None = None
) -> AgentRow:
    """The agent, written, holding its handle, and found by search."""
    row = ctx.tx.add(
        AgentRow(
            id=ctx.new_id("agt_"),
            handle=handle,
            name=name,
            description=form.description,
            capabilities=orjson.dumps(form.capabilities or []).decode(),
            tags=orjson.dumps(form.tags or []).decode(),
            public_key=public_key,
            endpoints=orjson.dumps(merged({}, form.endpoints or {})).decode(),
            framework=form.framework,
            metadata_json=None if form.metadata is None else orjson.dumps(form.metadata).decode(),
            referred_by=referrer.id if referrer else None,
            created_at=ctx.now,
        )
    )
    hold(ctx, handle, row.id)
    index(ctx.tx, row)
    return row
