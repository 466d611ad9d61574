"""Guards between the environments: a test key cannot change what identifies an agent on live."""

from storage.tables import AgentRow, KeyRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, Env, KeyStatus
from tools.engine.caller import Caller
from tools.engine.context import TxContext
from tools.engine.errors import Forbidden, Unauthenticated

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
    """Raise Forbidden if a test key is used and the agent has anything on live."""
    if holds_test_key(caller) and is_live(tx, caller.agent):
        raise need_live_key(f"{deed} of an agent that is on live")


def is_live(tx: Tx, agent_id: str) -> bool:
    """Tell whether the agent ever made a call on live, or claimed an account there."""
    agent = tx.get(AgentRow, agent_id)
    return agent is not None and agent.live_since is not None


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
