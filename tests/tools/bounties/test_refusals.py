"""The errors that operations of bounties, proposals and awards declare: a call produces each."""

from typing import Any

from storage.tables import AgentRow
from storage.vocabulary import AgentStatus
from tests.requirements import covers
from tests.support.bounties import NEED, award, bounty, propose
from tests.support.market import Agent
from tests.support.refusals import EVIL, change_row, fill, forget_wallet, limited, live_agent, refusal
from tests.support.trade import Trade


async def offered(trade: Trade, seller: Agent, buyer: Agent) -> tuple[Any, Any]:
    """Return a bounty and its one proposal."""
    posted = await bounty(trade, buyer)
    return posted, await propose(trade, seller, posted)


async def refused_award(trade: Trade, buyer: Agent, posted: Any, proposal: Any, **on: Any) -> Any:
    named = {"bounty_id": posted["id"], "proposal_id": proposal["id"]}
    return await trade.market.refusal("award_bounty", by=buyer, **named, **on)


async def refused_proposal(trade: Trade, seller: Agent, posted: Any, **given: Any) -> Any:
    return await trade.market.refusal("propose_on_bounty", by=seller, **{"bounty_id": posted["id"], "price": 1} | given)


async def refused_nowhere(trade: Trade, operation: str, given: dict[str, Any]) -> Any:
    return await trade.market.refusal(operation, by=await trade.agent("Bo"), bounty_id="bty_1", **given)


async def refused_cursor(trade: Trade, operation: str) -> Any:
    buyer = await trade.market.register()
    named = {"bounty_id": (await bounty(trade, buyer))["id"]} if operation == "list_proposals" else {}
    return await trade.market.refusal(operation, by=buyer, cursor="AAAA", **named)


@refusal
async def test_create_bounty_bounty_limit(trade: Trade) -> Any:
    buyer = await limited(trade, open_bounties=1).market.register()
    await bounty(trade, buyer)
    return await trade.market.refusal("create_bounty", by=buyer, **NEED)


@refusal
@covers("error.code.content_rejected")
async def test_create_bounty_content_rejected(trade: Trade) -> Any:
    return await trade.market.refusal("create_bounty", by=await trade.market.register(), **NEED | {"title": EVIL})


@refusal
async def test_create_bounty_payload_too_large(trade: Trade) -> Any:
    big = {"text": "x" * 524_288}
    return await trade.market.refusal("create_bounty", by=await trade.market.register(), **NEED, input=big)


@refusal
@covers("error.decided.bounty_not_open")
async def test_close_bounty_bounty_not_open(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, made = await offered(trade, seller, buyer)
    await award(trade, buyer, posted, made)
    return await trade.market.refusal("close_bounty", by=buyer, bounty_id=posted["id"])


@refusal
async def test_propose_on_bounty_bounty_closed(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    await trade.market.call("close_bounty", by=buyer, bounty_id=posted["id"])
    return await refused_proposal(trade, seller, posted)


@refusal
@covers("error.decided.proposal_final")
async def test_propose_on_bounty_proposal_final(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, _ = await offered(trade, seller, buyer)
    await trade.market.call("withdraw_proposal", by=seller, bounty_id=posted["id"])
    return await refused_proposal(trade, seller, posted)


@refusal
@covers("error.decided.proposal_limit")
async def test_propose_on_bounty_proposal_limit(trade: Trade) -> Any:
    seller, buyer = await limited(trade, proposals_per_bounty=1).parties()
    posted, _ = await offered(trade, seller, buyer)
    return await refused_proposal(trade, await trade.agent("Cy"), posted)


@refusal
async def test_propose_on_bounty_wallet_address_required(trade: Trade) -> Any:
    posted = await bounty(trade, await trade.market.register("Bo"))
    return await refused_proposal(trade, await trade.market.register("Sela"), posted)


@refusal
@covers("error.code.upfront_requires_trust")
async def test_propose_on_bounty_upfront_requires_trust(trade: Trade) -> Any:
    seller, buyer = await live_agent(trade, "Sela"), await trade.market.register("Bo")
    posted = await trade.market.call("create_bounty", by=buyer, on="live", **NEED)
    return await refused_proposal(trade, seller, posted, on="live", payment="upfront")


@refusal
@covers("error.code.first_party_self_dealing", "invariant.8.self_dealing")
async def test_propose_on_bounty_first_party_self_dealing(trade: Trade) -> Any:
    seller, buyer = await live_agent(trade, "Sela"), await trade.market.register("Bo")
    for agent in (seller, buyer):
        await change_row(trade, AgentRow, (agent.id,), first_party=True)
    posted = await trade.market.call("create_bounty", by=buyer, on="live", **NEED)
    return await refused_proposal(trade, seller, posted, on="live")


@refusal
@covers("error.code.content_rejected")
async def test_propose_on_bounty_content_rejected(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    return await refused_proposal(trade, seller, await bounty(trade, buyer), message=EVIL)


@refusal
@covers("error.decided.proposal_final")
async def test_withdraw_proposal_proposal_final(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, made = await offered(trade, seller, buyer)
    await award(trade, buyer, posted, made)
    return await trade.market.refusal("withdraw_proposal", by=seller, bounty_id=posted["id"])


@refusal
async def test_award_bounty_bounty_closed(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, made = await offered(trade, seller, buyer)
    await trade.market.call("close_bounty", by=buyer, bounty_id=posted["id"])
    return await refused_award(trade, buyer, posted, made)


@refusal
async def test_award_bounty_proposal_not_pending(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, made = await offered(trade, seller, buyer)
    await trade.market.call("withdraw_proposal", by=seller, bounty_id=posted["id"])
    return await refused_award(trade, buyer, posted, made)


@refusal
async def test_award_bounty_proposal_changed(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, read = await offered(trade, seller, buyer)
    await propose(trade, seller, posted, payment="upfront")
    named = {"bounty_id": posted["id"], "proposal_id": read["id"], "payment": read["payment"]}
    return await trade.market.refusal("award_bounty", by=buyer, **named)


@refusal
async def test_award_bounty_seller_unavailable(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, made = await offered(trade, seller, buyer)
    await change_row(trade, AgentRow, (seller.id,), status=AgentStatus.SUSPENDED)
    return await refused_award(trade, buyer, posted, made)


@refusal
async def test_award_bounty_seller_has_no_wallet_address(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted, made = await offered(trade, seller, buyer)
    await forget_wallet(trade, seller)
    return await refused_award(trade, buyer, posted, made)


@refusal
@covers("error.code.first_party_self_dealing", "invariant.8.self_dealing")
async def test_award_bounty_first_party_self_dealing(trade: Trade) -> Any:
    seller, buyer = await live_agent(trade, "Sela"), await trade.market.register("Bo")
    posted = await trade.market.call("create_bounty", by=buyer, on="live", **NEED)
    named = {"bounty_id": posted["id"], "price": 1}
    made = await trade.market.call("propose_on_bounty", by=seller, on="live", **named)
    for agent in (seller, buyer):
        await change_row(trade, AgentRow, (agent.id,), first_party=True)
    return await refused_award(trade, buyer, posted, made, on="live")


@refusal
@covers("error.more.job_limit")
async def test_award_bounty_job_limit(trade: Trade) -> Any:
    seller, buyer = await limited(trade, unfinished_jobs=1).parties()
    await trade.order(buyer, await trade.listing(seller))
    return await refused_award(trade, buyer, *await offered(trade, seller, buyer))


@refusal
async def test_get_bounty_not_found(trade: Trade) -> Any:
    return await refused_nowhere(trade, "get_bounty", {})


@refusal
async def test_propose_on_bounty_not_found(trade: Trade) -> Any:
    return await refused_nowhere(trade, "propose_on_bounty", {"price": 1})


@refusal
async def test_list_proposals_not_found(trade: Trade) -> Any:
    return await refused_nowhere(trade, "list_proposals", {})


@refusal
async def test_withdraw_proposal_not_found(trade: Trade) -> Any:
    return await refused_nowhere(trade, "withdraw_proposal", {})


@refusal
async def test_award_bounty_not_found(trade: Trade) -> Any:
    return await refused_nowhere(trade, "award_bounty", {"proposal_id": "prp_1"})


@refusal
async def test_close_bounty_not_found(trade: Trade) -> Any:
    return await refused_nowhere(trade, "close_bounty", {})


@refusal
@covers("error.more.invalid_cursor")
async def test_search_bounties_invalid_cursor(trade: Trade) -> Any:
    return await refused_cursor(trade, "search_bounties")


@refusal
@covers("error.more.invalid_cursor")
async def test_list_my_bounties_invalid_cursor(trade: Trade) -> Any:
    return await refused_cursor(trade, "list_my_bounties")


@refusal
@covers("error.more.invalid_cursor")
async def test_list_proposals_invalid_cursor(trade: Trade) -> Any:
    return await refused_cursor(trade, "list_proposals")


@refusal
async def test_create_bounty_storage_full(trade: Trade) -> Any:
    buyer = await trade.market.register()
    await fill(trade, buyer)
    return await trade.market.refusal("create_bounty", by=buyer, **NEED)


@refusal
async def test_propose_on_bounty_storage_full(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    await fill(trade, seller)
    return await trade.market.refusal("propose_on_bounty", by=seller, bounty_id=posted["id"], price=1, message="Me.")


@refusal
async def test_award_bounty_storage_full(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    made = await propose(trade, seller, posted)
    named = {"bounty_id": posted["id"], "proposal_id": made["id"]}
    await fill(trade, seller)
    assert (await trade.market.refusal("award_bounty", by=buyer, **named))["code"] == "seller_unavailable"
    await trade.market.store.write(lambda tx: tx.count_bytes(seller.id, "test", -(2**20)))
    await fill(trade, buyer)
    return await trade.market.refusal("award_bounty", by=buyer, **named)
