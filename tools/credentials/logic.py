"""API keys: issue, limit, revoke, and delete old ones."""

from collections.abc import Sequence
from datetime import datetime

from storage.agents import active_hashes, forget_useless, revoke_keys, usable_keys
from storage.tables import AgentRow, KeyRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, Env, KeyStatus
from tools.credentials.errors import KeyLimit
from tools.engine.caller import EVERYTHING, Caller
from tools.engine.context import TxContext
from tools.engine.errors import Forbidden, Unauthenticated
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
            scopes=list(scopes),
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


LIVE_KEY = "live_key"
HINT = (
    "Use your live API key, or sign the request with your Ed25519 key (RFC 9421). A test key can manage only test keys."
)


def holds_test_key(caller: Caller) -> bool:
    """Tell whether the call used a test key or test token; a signed request is valid on both."""
    return caller.proof is None and caller.env is Env.TEST


def need_live_key(deed: str) -> Forbidden:
    """Return the error for an action that needs a live key or a signed request."""
    return Forbidden(f"a test key cannot {deed}", hint=HINT, scope=LIVE_KEY)


def keep_live(tx: Tx, caller: Caller, deed: str) -> None:
    """Raise Forbidden if a test key is used and the agent was ever on live.

    It was if it made a call or claimed an account there.
    """
    if holds_test_key(caller) and tx.need(AgentRow, caller.agent).live_since is not None:
        raise need_live_key(f"{deed} of an agent that is on live")


def acting_agent(ctx: TxContext, *, lock: bool = True) -> AgentRow:
    """Return the caller's row if it is still active and the key of the call is still valid.

    Raises Unauthenticated if the agent or the key was ended after authentication. Operations that create something
    that outlives the key need this check: a key that is being revoked must not create another key in the meantime.
    """
    row = ctx.tx.get(AgentRow, ctx.agent, lock=lock)
    if row is None or row.status is not AgentStatus.ACTIVE or not _key_stands(ctx, row):
        raise Unauthenticated("the key was revoked or changed, or its agent is no longer active")
    return row


def _key_stands(ctx: TxContext, row: AgentRow) -> bool:
    if ctx.caller.proof is not None:
        return ctx.caller.proof.public_key == row.public_key
    if ctx.caller.epoch not in (None, row.auth_epoch):
        return False
    if ctx.caller.key_id is None:
        return True
    key = ctx.tx.get(KeyRow, ctx.caller.key_id)
    return key is not None and key.status is KeyStatus.ACTIVE
