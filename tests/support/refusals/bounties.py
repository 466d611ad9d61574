"""Errors of bounties, proposals and awards."""

from typing import Any

from storage.tables import AgentRow
from storage.vocabulary import AgentStatus
from tests.support.bounties import NEED, award, bounty, propose
from tests.support.market import Agent
from tests.support.refusals import EVIL, Scenario, change_row, forget_wallet, limited, live_agent, produces
from tests.support.trade import Trade

NOWHERE = {
    "get_bounty": {},
    "propose_on_bounty": {"price": 1},
    "list_proposals": {},
    "withdraw_proposal": {},
    "award_bounty": {"proposal_id": "prp_1"},
    "close_bounty": {},
}


async def offered(trade: Trade, seller: Agent, buyer: Agent) -> tuple[Any, Any]:
    """Return a bounty and its one proposal."""
    posted = await bounty(trade, buyer)
    return posted, await propose(trade, seller, posted)


async def refused_award(trade: Trade, buyer: Agent, posted: Any, proposal: Any, **on: Any) -> Any:
    named = {"bounty_id": posted["id"], "proposal_id": proposal["id"]}
    return await trade.market.refusal("award_bounty", by=buyer, **named, **on)


async def refused_proposal(trade: Trade, seller: Agent, posted: Any, **given: Any) -> Any:
    return await trade.market.refusal("propose_on_bounty", by=seller, **{"bounty_id": posted["id"], "price": 1} | given)


def _nowhere(operation: str, given: dict[str, Any]) -> Scenario:
    async def refuse(trade: Trade) -> Any:
        return await trade.market.refusal(operation, by=await trade.agent("Bo"), bounty_id="bty_1", **given)

    return refuse


def _bad_cursor(operation: str) -> Scenario:
    async def refuse(trade: Trade) -> Any:
        buyer = await trade.market.register()
        named = {"bounty_id": (await bounty(trade, buyer))["id"]} if operation == "list_proposals" else {}
        return await trade.market.refusal(operation, by=buyer, cursor="AAAA", **named)

    return refuse


for _operation, _given in NOWHERE.items():
    produces(_operation, "not_found")(_nowhere(_operation, _given))
for _operation in ("search_bounties", "list_my_bounties", "list_proposals"):
    produces(_operation, "invalid_cursor")(_bad_cursor(_operation))


@produces("create_bounty", "bounty_limit")
async def _(trade: Trade) -> Any:
    buyer = await limited(trade, open_bounties=1).market.register()
    await bounty(trade, buyer)
    return await trade.market.refusal("create_bounty", by=buyer, **NEED)


@produces("create_bounty", "content_rejected")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("create_bounty", by=await trade.market.register(), **NEED | {"title": EVIL})


@produces("create_bounty", "payload_too_large")
async def _(trade: Trade) -> Any:
    big = {"text": "x" * 524_288}
    return await trade.market.refusal("create_bounty", by=await trade.market.register(), **NEED, input=big)


@produces("close_bounty", "bounty_not_open")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, made = await offered(trade, seller, buyer)
    await award(trade, buyer, posted, made)
    return await trade.market.refusal("close_bounty", by=buyer, bounty_id=posted["id"])


@produces("propose_on_bounty", "bounty_closed")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    await trade.market.call("close_bounty", by=buyer, bounty_id=posted["id"])
    return await refused_proposal(trade, seller, posted)


@produces("propose_on_bounty", "proposal_final")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, _ = await offered(trade, seller, buyer)
    await trade.market.call("withdraw_proposal", by=seller, bounty_id=posted["id"])
    return await refused_proposal(trade, seller, posted)


@produces("propose_on_bounty", "proposal_limit")
async def _(trade: Trade) -> Any:
    seller, buyer = await limited(trade, proposals_per_bounty=1).parties()
    posted, _ = await offered(trade, seller, buyer)
    return await refused_proposal(trade, await trade.agent("Cy"), posted)


@produces("propose_on_bounty", "wallet_address_required")
async def _(trade: Trade) -> Any:
    posted = await bounty(trade, await trade.market.register("Bo"))
    return await refused_proposal(trade, await trade.market.register("Sela"), posted)


@produces("propose_on_bounty", "upfront_requires_trust")
async def _(trade: Trade) -> Any:
    seller, buyer = await live_agent(trade, "Sela"), await trade.market.register("Bo")
    posted = await trade.market.call("create_bounty", by=buyer, on="live", **NEED)
    return await refused_proposal(trade, seller, posted, on="live", payment="upfront")


@produces("propose_on_bounty", "first_party_self_dealing")
async def _(trade: Trade) -> Any:
    seller, buyer = await live_agent(trade, "Sela"), await trade.market.register("Bo")
    for agent in (seller, buyer):
        await change_row(trade, AgentRow, (agent.id,), first_party=True)
    posted = await trade.market.call("create_bounty", by=buyer, on="live", **NEED)
    return await refused_proposal(trade, seller, posted, on="live")


@produces("propose_on_bounty", "content_rejected")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    return await refused_proposal(trade, seller, await bounty(trade, buyer), message=EVIL)


@produces("withdraw_proposal", "proposal_final")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, made = await offered(trade, seller, buyer)
    await award(trade, buyer, posted, made)
    return await trade.market.refusal("withdraw_proposal", by=seller, bounty_id=posted["id"])


@produces("award_bounty", "bounty_closed")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, made = await offered(trade, seller, buyer)
    await trade.market.call("close_bounty", by=buyer, bounty_id=posted["id"])
    return await refused_award(trade, buyer, posted, made)


@produces("award_bounty", "proposal_not_pending")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, made = await offered(trade, seller, buyer)
    await trade.market.call("withdraw_proposal", by=seller, bounty_id=posted["id"])
    return await refused_award(trade, buyer, posted, made)


@produces("award_bounty", "proposal_changed")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, read = await offered(trade, seller, buyer)
    await propose(trade, seller, posted, payment="upfront")
    named = {"bounty_id": posted["id"], "proposal_id": read["id"], "payment": read["payment"]}
    return await trade.market.refusal("award_bounty", by=buyer, **named)


@produces("award_bounty", "seller_unavailable")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, made = await offered(trade, seller, buyer)
    await change_row(trade, AgentRow, (seller.id,), status=AgentStatus.SUSPENDED)
    return await refused_award(trade, buyer, posted, made)


@produces("award_bounty", "seller_has_no_wallet_address")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, made = await offered(trade, seller, buyer)
    await forget_wallet(trade, seller)
    return await refused_award(trade, buyer, posted, made)


@produces("award_bounty", "first_party_self_dealing")
async def _(trade: Trade) -> Any:
    seller, buyer = await live_agent(trade, "Sela"), await trade.market.register("Bo")
    posted = await trade.market.call("create_bounty", by=buyer, on="live", **NEED)
    named = {"bounty_id": posted["id"], "price": 1}
    made = await trade.market.call("propose_on_bounty", by=seller, on="live", **named)
    for agent in (seller, buyer):
        await change_row(trade, AgentRow, (agent.id,), first_party=True)
    return await refused_award(trade, buyer, posted, made, on="live")


@produces("award_bounty", "job_limit")
async def _(trade: Trade) -> Any:
    seller, buyer = await limited(trade, unfinished_jobs=1).parties()
    await trade.order(buyer, await trade.listing(seller))
    return await refused_award(trade, buyer, *await offered(trade, seller, buyer))
