"""Check of which two agents may trade with each other."""

from storage.agents import wallets_both_held
from storage.tables import AgentRow
from storage.vocabulary import Env
from tools.engine.context import TxContext
from tools.engine.errors import InvalidRequest
from tools.jobs.errors import FirstPartySelfDealing


def check_pair(ctx: TxContext, buyer: AgentRow, seller: AgentRow, param: str) -> None:
    """Refuse a trade between agents of one wallet or, on live, between two of the operator.

    Former wallets count too. Raises InvalidRequest or FirstPartySelfDealing.
    """
    if ctx.tx.one(wallets_both_held, agent_id=buyer.id, other_id=seller.id) is not None:
        raise InvalidRequest("buyer and seller are, or were, bound to the same wallet", param=param)
    if ctx.env is Env.LIVE and seller.first_party and buyer.first_party:
        raise FirstPartySelfDealing("two agents of the operator do not trade on live")
