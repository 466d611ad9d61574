"""API keys: issue, limit, revoke, and delete old ones."""

from collections.abc import Sequence
from datetime import datetime

import orjson

from storage.keys import active_hashes, forget_useless, revoke_keys, usable_keys
from storage.tables import KeyRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.credentials.errors import KeyLimit
from tools.engine.caller import EVERYTHING
from tools.engine.context import TxContext
from tools.kernel.keys import KEY_ENTROPY_BYTES, api_key, key_hash, key_prefix

USELESS_KEPT = 400  # the most recent revoked or expired keys that are kept, per agent and environment


def issue_key(
    ctx: TxContext,
    agent_id: str,
    env: Env,
    name: str | None = None,
    scopes: Sequence[str] = (EVERYTHING,),
    expires_at: datetime | None = None,
) -> tuple[KeyRow, str]:
    """Issue a key; return its row and its secret, which is shown once and not stored."""
    secret = api_key(env, ctx.world.dice.random_bytes(KEY_ENTROPY_BYTES))
    row = ctx.tx.add(
        KeyRow(
            id=ctx.new_id("key_"),
            agent_id=agent_id,
            env=env,
            hash=key_hash(ctx.config.pepper, secret),
            prefix=key_prefix(secret),
            name=name,
            scopes=orjson.dumps(scopes).decode(),
            expires_at=expires_at,
            created_at=ctx.now,
        )
    )
    return row, secret


def usable(ctx: TxContext, agent_id: str) -> dict[str, str]:
    """Return the agent's valid keys, neither revoked nor expired: id to environment."""
    return dict(ctx.tx.all(usable_keys, agent_id=agent_id, now=ctx.now))


def check_room(ctx: TxContext, agent_id: str, env: Env, hint: str | None = None) -> None:
    """Raise KeyLimit if the agent already has the most keys allowed in that environment."""
    most, count = ctx.config.limits.usable_keys, list(usable(ctx, agent_id).values()).count(env)
    if count >= most:
        raise KeyLimit(f"you have {count} usable keys of {env}, at most {most} are allowed", hint=hint, limit=most)


def revoke_all(tx: Tx, agent_id: str) -> None:
    """Revoke every key of an agent."""
    forget_keys(tx, agent_id)
    tx.run(revoke_keys, agent_id=agent_id)


def forget_keys(tx: Tx, agent_id: str) -> None:
    """Drop an agent's keys and token data from the caches of all processes."""
    tx.invalidate(f"holder:{agent_id}", *(f"key:{hashed}" for hashed in tx.all(active_hashes, agent_id=agent_id)))


def forget_oldest(ctx: TxContext, agent_id: str, env: Env) -> None:
    """Delete the oldest revoked or expired keys of one environment beyond USELESS_KEPT."""
    ctx.tx.run(forget_useless, agent_id=agent_id, env=env, now=ctx.now, kept=USELESS_KEPT)
