"""deliver_job on an open order: it is accepted and delivered at once, and the time counts from the order."""

from datetime import datetime
from typing import Any

import orjson
import pytest

from tests.requirements import covers
from tests.support.market import Agent
from tests.support.refusals import fill
from tests.support.trade import Trade
from tools.engine.storage_quotas import NEEDED_FOR_OUTPUT

HOUR, DAY = 3_600, 86_400
WORK = {"english": "good day"}


async def events_of(trade: Trade, agent: Agent) -> list[tuple[str, str]]:
    found = await trade.market.call("list_events", by=agent, types=["job.*"], limit=100)
    return [(one["type"], one["data"]["status"]) for one in found["data"]]


async def refused(trade: Trade, seller: Agent, job: Any, output: Any = WORK) -> Any:
    return await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output=output)


@pytest.mark.both_databases
@covers("clients.deliver.one")
async def test_a_delivery_accepts_the_order(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    done = await trade.deliver(seller, job)
    assert (done["status"], done["output_sealed"], done["payment"]["status"]) == ("delivered", True, "due")
    for party in (seller, buyer):
        assert await events_of(trade, party) == [
            ("job.created", "open"),
            ("job.accepted", "in_progress"),
            ("job.delivered", "delivered"),
            ("job.payment_due", "delivered"),
        ]
    trail = await trade.market.call("list_job_events", by=buyer, job_id=job["id"])
    assert [(one["type"], one["actor_id"]) for one in trail["data"]] == [
        ("created", buyer.id), ("accepted", seller.id), ("delivered", seller.id), ("payment_due", None),
    ]  # fmt: skip
    assert (await trade.deliver(seller, job))["status"] == "delivered", "the same delivery again"
    await trade.pay(buyer, done)
    assert (await trade.market.call("accept_job", by=buyer, job_id=job["id"]))["status"] == "completed"


@covers("clients.deliver.time")
async def test_the_time_of_the_work_counts_from_the_order(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, price=0, turnaround_seconds=HOUR, accept_timeout_seconds=HOUR)
    job = await trade.order(buyer, listing)
    trade.market.pass_seconds(600)
    await trade.deliver(seller, job)
    done = await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    assert done["accepted_at"] == job["created_at"] != done["delivered_at"]
    until = datetime.fromisoformat(done["deadlines"]["deliver_by"]) - datetime.fromisoformat(job["created_at"])
    assert until.total_seconds() == HOUR
    stats = (await trade.market.call("get_listing", by=buyer, listing_id=listing["id"]))["stats"]
    assert stats["median_turnaround_seconds"] == 600


@covers("clients.deliver.late")
async def test_a_delivery_after_the_turnaround_is_late_and_still_taken(trade: Trade) -> None:
    """Not even an hour after deliver_by, when the clock would have cancelled an accepted job."""
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, turnaround_seconds=HOUR, accept_timeout_seconds=3 * DAY)
    for on_time, seconds in ((1.0, HOUR), (0.5, 2 * DAY)):
        job = await trade.order(buyer, listing)
        trade.market.pass_seconds(seconds)
        done = await trade.deliver(seller, job)
        assert done["status"] == "delivered"
        await trade.pay(buyer, done)
        await trade.market.call("accept_job", by=buyer, job_id=job["id"])
        known = await trade.market.call("get_reputation", agent_id=seller.id)
        assert known["test"]["as_seller"]["on_time_rate"] == on_time


@covers("clients.deliver.actions")
@pytest.mark.parametrize(
    ("offer", "actions"),
    [
        ({}, ["accept", "deliver", "decline", "message"]),
        ({"payment": "upfront"}, ["accept", "decline", "message"]),
        ({"payment": "upfront", "price": 0}, ["accept", "deliver", "decline", "message"]),
        ({"pricing_model": "quote", "price": None}, ["quote", "decline", "message"]),
    ],
)
async def test_only_work_that_needs_no_payment_first_is_delivered_at_once(
    trade: Trade, offer: Any, actions: list[str]
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer, **offer)
    assert (await trade.seen(seller, job))["available_actions"] == actions
    if "deliver" in actions:
        assert (await trade.deliver(seller, job))["status"] == "delivered"
    else:
        error = await refused(trade, seller, job)
        assert (error["code"], error["details"]["available_actions"]) == ("invalid_transition", actions)


async def test_a_delivery_that_is_refused_leaves_the_order_open(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    assert (await refused(trade, seller, job, {"englisch": 1}))["code"] == "output_schema_mismatch"
    await fill(trade, seller, left=NEEDED_FOR_OUTPUT - 1)
    assert (await refused(trade, seller, job))["code"] == "storage_full"
    seen = await trade.seen(buyer, job)
    assert (seen["status"], seen["accepted_at"], seen["deliveries"]) == ("open", None, [])
    assert [kind for kind, _ in await events_of(trade, buyer)] == ["job.created"]


async def test_the_buyer_delivers_nothing(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    error = await refused(trade, buyer, job)
    assert (error["code"], error["details"]["available_actions"]) == ("invalid_transition", ["cancel", "message"])
    stranger = await trade.agent("Cy")
    assert (await refused(trade, stranger, job))["code"] == "not_found"


async def test_an_order_that_was_not_answered_in_time_takes_no_delivery(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    trade.market.pass_seconds(600)
    error = await refused(trade, seller, job)
    assert (error["code"], error["details"]["status"]) == ("invalid_transition", "expired")


async def test_a_dry_run_neither_accepts_nor_delivers(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    work = {"job_id": job["id"], "output": WORK}
    shown = await trade.market.answer("deliver_job", work, key=seller.keys["test"], dry_run=True)
    assert (shown.dry_run, orjson.loads(shown.body)["status"]) == (True, "delivered")
    assert (await trade.seen(buyer, job))["status"] == "open"
