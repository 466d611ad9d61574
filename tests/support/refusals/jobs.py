"""Errors of jobs, work and reviews."""

from typing import Any

from storage.tables import AgentRow
from tests.support.refusals import (
    Scenario,
    change_row,
    forget_wallet,
    limited,
    live_agent,
    orders,
    produces,
    refused_order,
)
from tests.support.trade import OFFER, Trade


@orders("not_found")
async def _(trade: Trade, operation: str) -> Any:
    return await trade.market.refusal(operation, by=await trade.market.register(), listing_id="lst_1", input={})


@orders("listing_unavailable")
async def _(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    await trade.market.call("update_listing", by=seller, listing_id=listing["id"], status="paused")
    return await refused_order(trade, operation, buyer, listing)


@orders("input_schema_mismatch")
async def _(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    error = await refused_order(trade, operation, buyer, await trade.listing(seller), input={"text": 5, "x": "y" * 10})
    assert [one["param"] for one in error["details"]["violations"]] == ["input/text"]
    return error


@orders("payload_too_large")
async def _(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, input_schema=None, example_input=None)
    return await refused_order(trade, operation, buyer, listing, input={"text": "x" * 524_288})


@orders("content_rejected")
async def _(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    return await refused_order(trade, operation, buyer, await trade.listing(seller), input={"text": buyer.keys["test"]})


@orders("seller_busy")
async def _(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, max_open_jobs=1)
    await trade.order(buyer, listing)
    return await refused_order(trade, operation, await trade.agent("Cy"), listing)


@orders("job_limit")
async def _(trade: Trade, operation: str) -> Any:
    seller, buyer = await limited(trade, unfinished_jobs=1).parties()
    await trade.known(buyer)
    listing = await trade.listing(seller)
    await trade.order(buyer, listing)
    return await refused_order(trade, operation, buyer, listing)


@orders("first_party_self_dealing")
async def _(trade: Trade, operation: str) -> Any:
    seller, buyer = await live_agent(trade, "Sela"), await live_agent(trade, "Bo")
    for agent in (seller, buyer):
        await change_row(trade, AgentRow, (agent.id,), first_party=True)
    listing = await trade.market.call("create_listing", by=seller, on="live", **OFFER)
    order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
    return await trade.market.refusal(operation, by=buyer, on="live", **order)


@produces("list_jobs", "invalid_cursor")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("list_jobs", by=await trade.market.register(), cursor="AAAA")


@produces("accept_job", "wallet_address_required")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer, payment="upfront")
    await forget_wallet(trade, seller)
    return await trade.market.refusal("accept_job", by=seller, job_id=job["id"])


@produces("accept_job", "invalid_transition")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    error = await trade.market.refusal("accept_job", by=buyer, job_id=job["id"])
    assert error["details"] == {"status": "open", "available_actions": ["cancel", "message"]}
    return error


@produces("deliver_job", "invalid_transition")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    return await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output={"english": "other"})


@produces("deliver_job", "output_schema_mismatch")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    error = await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output={})
    assert error["details"]["code"] == "output_schema_mismatch"
    return error


@produces("deliver_job", "acceptance_failed")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    rule = {"name": "long", "kind": "min_length", "path": "/english", "value": 99}
    job = await trade.job_at("in_progress", seller, buyer, acceptance=[rule], example_output=None)
    return await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output={"english": "short"})


@produces("deliver_job", "payload_too_large")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    given = {"job_id": job["id"], "output": {"english": "x"}, "preview": "p" * 4095}
    return await trade.market.refusal("deliver_job", by=seller, **given)


@produces("deliver_job", "content_rejected")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    return await trade.market.refusal(
        "deliver_job", by=seller, job_id=job["id"], output={"english": "ok"}, message=seller.keys["test"]
    )


@produces("deliver_job", "wallet_address_required")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    await forget_wallet(trade, seller)
    return await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output={"english": "ok"})


@produces("review_job", "job_not_settled")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    error = await trade.market.refusal("review_job", by=buyer, job_id=job["id"], rating=5)
    assert error["hint"].startswith("You can review once the job is completed or resolved")
    return error


@produces("review_job", "already_reviewed")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer, price=0)
    await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=5)
    return await trade.market.refusal("review_job", by=buyer, job_id=job["id"], rating=4)


@produces("review_job", "content_rejected")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer, price=0)
    return await trade.market.refusal("review_job", by=buyer, job_id=job["id"], rating=5, comment=buyer.keys["live"])


def _not_yours(operation: str, **given: Any) -> Scenario:
    async def scenario(trade: Trade) -> Any:
        seller, buyer = await trade.parties()
        job = await trade.job_at("open", seller, buyer)
        stranger = await trade.market.register("Cy")
        missing = await trade.market.refusal(operation, by=stranger, job_id="job_1", **given)
        foreign = await trade.market.refusal(operation, by=stranger, job_id=job["id"], **given)
        assert foreign == missing, "nothing leaks"
        return foreign

    return scenario


for _name, _given in {
    "get_job": {},
    "accept_job": {},
    "deliver_job": {"output": {}},
    "pay_job": {},
    "review_job": {"rating": 5},
    "get_receipt": {},
    "decline_job": {},
    "quote_job": {"price": 5},
    "accept_quote": {},
    "request_revision": {"message": "Shorter."},
    "cancel_job": {},
    "dispute_job": {"reason": "Empty."},
    "refund_job": {"transaction": "0x" + "ab" * 32},
    "list_job_events": {},
    "get_delivery": {"revision": 0},
}.items():
    produces(_name, "not_found")(_not_yours(_name, **_given))
