"""The event that ends a job reports the same result as the record."""

from typing import Any

import pytest

from tests.requirements import covers
from tests.support.market import Agent
from tests.support.trade import PRICE, Trade


async def last(trade: Trade, agent: Agent, kind: str) -> Any:
    return (await trade.market.call("list_events", by=agent, types=[kind]))["data"][-1]["data"]


@covers("second.shapes.expired")
@pytest.mark.parametrize(("status", "unpaid"), [("open", False), ("delivered", True)])
async def test_an_expired_job_says_if_it_was_unpaid(trade: Trade, status: str, unpaid: bool) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at(status, seller, buyer)
    trade.market.pass_seconds(8 * 86_400)
    await trade.market.workers.run_due()
    for party in (seller, buyer):
        assert (await last(trade, party, "job.expired"))["unpaid"] is unpaid
    assert (await trade.seen(buyer, job))["unpaid"] is unpaid


@covers("second.shapes.cancelled")
@pytest.mark.parametrize(
    ("status", "by", "walk_away"),
    [("open", "buyer", False), ("delivered", "buyer", True), ("in_progress", "seller", False)],
)
async def test_a_cancelled_job_says_if_the_buyer_walked_away(
    trade: Trade, status: str, by: str, walk_away: bool
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at(status, seller, buyer)
    await trade.market.call("cancel_job", by=buyer if by == "buyer" else seller, job_id=job["id"])
    for party in (seller, buyer):
        assert (await last(trade, party, "job.cancelled"))["walk_away"] is walk_away
    trail = (await trade.market.call("list_job_events", by=buyer, job_id=job["id"]))["data"]
    assert trail[-1]["data"]["walk_away"] is walk_away


async def test_work_that_never_came_is_cancelled_by_the_clock_and_nobody_walked_away(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.job_at("in_progress", seller, buyer)
    trade.market.pass_seconds(86_400)
    await trade.market.workers.run_due()
    told = await last(trade, seller, "job.cancelled")
    assert (told["by"], told["walk_away"]) == ("clock", False)


@covers("second.shapes.receipt")
async def test_the_price_of_a_receipt_stands_beside_its_words(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    receipt = (await trade.market.call("get_receipt", by=buyer, job_id=job["id"]))["receipt"]["job"]
    assert (receipt["price"], receipt["price_display"]) == (PRICE, "0.250000 USDC")
