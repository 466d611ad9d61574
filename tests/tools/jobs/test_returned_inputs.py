"""A seller returns an input that it cannot work with: soon, unpaid, and not too often."""

from typing import Any

import pytest

from tests.requirements import covers
from tests.support.market import Agent
from tests.support.trade import Trade

pytestmark = pytest.mark.both_databases


async def give_back(trade: Trade, seller: Agent, job: Any) -> Any:
    return await trade.market.call("cancel_job", by=seller, job_id=job["id"], fault="input", reason="It is empty.")


async def not_allowed(trade: Trade, agent: Agent, job: Any) -> bool:
    refused = await trade.market.refusal("cancel_job", by=agent, job_id=job["id"], fault="input")
    return bool(refused["code"] == "fault_not_allowed" and refused["param"] == "fault")


async def sold(trade: Trade, agent: Agent, on: str = "test") -> Any:
    return (await trade.market.call("get_reputation", agent_id=agent.id, env=on))[on]["as_seller"]


@covers("second.returned.kind", "second.returned.counted")
async def test_an_input_soon_returned_is_no_failure(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    trade.market.pass_seconds(60)
    returned = await give_back(trade, seller, job)
    assert (returned["status"], returned["cancel_kind"]) == ("cancelled", "returned")
    assert (returned["cancel_reason"], returned["refund_due"]) == ("It is empty.", False)
    assert (await trade.seen(buyer, job))["cancel_kind"] == "returned"
    events = (await trade.market.call("list_events", by=buyer, types=["job.cancelled"]))["data"]
    assert events[-1]["data"]["cancel_kind"] == "returned"
    assert (await give_back(trade, seller, job))["updated_at"] == returned["updated_at"], "a repeat changes nothing"
    figures = await sold(trade, seller)
    assert (figures["jobs_returned"], figures["jobs_failed"], figures["jobs_cancelled"]) == (1, 0, 0)
    listing = await trade.market.call("get_listing", listing_id=job["listing_id"], env="test")
    assert listing["stats"]["jobs_failed"] == 0


@covers("second.returned.refused")
async def test_a_fault_is_refused_late_paid_delivered_and_to_the_buyer(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    late = await trade.job_at("in_progress", seller, buyer)
    assert await not_allowed(trade, buyer, late)
    trade.market.pass_seconds(61)
    assert await not_allowed(trade, seller, late)
    assert (await trade.market.call("cancel_job", by=seller, job_id=late["id"]))["cancel_kind"] is None
    assert await not_allowed(trade, seller, late), "it was given up"
    upfront = await trade.job_at("awaiting_payment", seller, buyer, payment="upfront")
    assert await not_allowed(trade, seller, upfront), "it is not in progress"
    await trade.pay(buyer, upfront)
    assert await not_allowed(trade, seller, upfront), "it is paid"
    for status in ("open", "delivered", "revealed"):
        assert await not_allowed(trade, seller, await trade.job_at(status, seller, buyer)), status
    assert (await sold(trade, seller))["jobs_returned"] == 0


@covers("second.returned.too_often")
async def test_the_third_return_of_few_jobs_is_a_failure(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    for counted in ((1, 0), (2, 0), (3, 1)):
        job = await trade.job_at("in_progress", seller, buyer, price=0)
        assert (await give_back(trade, seller, job))["cancel_kind"] == "returned"
        figures = await sold(trade, seller)
        assert (figures["jobs_returned"], figures["jobs_failed"]) == counted
    listing = await trade.market.call("get_listing", listing_id=job["listing_id"], env="test")
    assert listing["stats"]["jobs_failed"] == 1
    assert (await give_back(trade, seller, job))["cancel_kind"] == "returned", "its repeat too"


@covers("second.returned.refused")
async def test_a_revision_under_way_is_not_returned(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer, price=0)
    await trade.market.call("request_revision", by=buyer, job_id=job["id"], message="Shorter.")
    assert await not_allowed(trade, seller, job)
