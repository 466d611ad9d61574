"""Who may trade with whom."""

from storage.tables import AgentRow, WalletRow
from tools.context import Context
from tools.errors import FirstPartySelfDealing, InvalidRequest
from tools.ports import Env


def check_pair(ctx: Context, buyer: AgentRow, seller: AgentRow, param: str) -> None:
    """Refuse a trade of one wallet with itself, and one between two agents of the operator on live."""
    theirs, ours = ctx.tx.get(WalletRow, seller.id, ctx.env), ctx.tx.get(WalletRow, buyer.id, ctx.env)
    if theirs and ours and theirs.address == ours.address:
        raise InvalidRequest("buyer and seller are bound to the same wallet", param=param)
    if ctx.env is Env.LIVE and seller.first_party and buyer.first_party:
        raise FirstPartySelfDealing("two agents of the operator do not trade on live")
