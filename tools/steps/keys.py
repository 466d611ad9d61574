"""API keys: made, counted, shown."""

from collections.abc import Sequence
from datetime import datetime

import orjson

from storage.agents import agent_by_public_key
from storage.keys import active_hashes, forget_useless, revoke_keys, usable_keys
from storage.tables import FormerKeyRow, KeyRow
from storage.unit import Tx
from tools.context import Context
from tools.ports import Env
from tools.rules.keys import KEY_ENTROPY_BYTES, api_key, key_hash, key_prefix
from tools.rules.scopes import EVERYTHING

USELESS_KEPT = 400  # revoked and expired keys of one agent, the newest


def issue_key(
    ctx: Context,
    agent_id: str,
    env: Env,
    name: str | None = None,
    scopes: Sequence[str] = (EVERYTHING,),
    expires_at: datetime | None = None,
) -> tuple[KeyRow, str]:
    """A new key and its secret, which is shown once and not stored."""
    secret = api_key(env, ctx.world.dice.roll(KEY_ENTROPY_BYTES))
    row = ctx.tx.add(
        KeyRow(
            id=ctx.new_id("key_"),
            agent_id=agent_id,
            env=env,
            hash=key_hash(ctx.house.pepper, secret),
            prefix=key_prefix(secret),
            name=name,
            scopes=orjson.dumps(scopes).decode(),
            expires_at=expires_at,
            created_at=ctx.now,
        )
    )
    return row, secret


def known_key(tx: Tx, public_key: str) -> bool:
    """Whether an agent has this public key (hex) or had it once, also one that has left: a did names one agent for good."""
    if tx.one(agent_by_public_key, public_key=public_key) is not None:
        return True
    return tx.get(FormerKeyRow, public_key) is not None


def usable(ctx: Context, agent_id: str) -> list[str]:
    """The ids of the agent's keys that open something: neither revoked nor expired."""
    return ctx.tx.all(usable_keys, agent_id=agent_id, now=ctx.now)


def revoke_all(tx: Tx, agent_id: str) -> None:
    """End every key of an agent."""
    forget_keys(tx, agent_id)
    tx.run(revoke_keys, agent_id=agent_id)


def forget_keys(tx: Tx, agent_id: str) -> None:
    """Have every process read the agent's keys, and what its tokens hang on, anew: for when the agent's own status changes what they open."""
    tx.forget(f"holder:{agent_id}", *(f"key:{hashed}" for hashed in tx.all(active_hashes, agent_id=agent_id)))


def forget_oldest(ctx: Context, agent_id: str) -> None:
    """Keys nobody can use do not pile up: beyond so many the oldest go."""
    ctx.tx.run(forget_useless, agent_id=agent_id, now=ctx.now, kept=USELESS_KEPT)
