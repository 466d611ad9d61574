"""Workers of one seller: each takes a job by its name, and no other one works it meanwhile."""

from typing import Any

import pytest

from tests.requirements import covers
from tests.support.market import Agent
from tests.support.trade import Trade
from tools.kernel.records import stamp


async def accept(trade: Trade, seller: Agent, job: Any, worker: str | None = None) -> Any:
    return await trade.market.call("accept_job", by=seller, job_id=job["id"], worker=worker)


@covers("second.worker.lease", "second.worker.renewed")
async def test_a_worker_takes_a_lease_and_renews_it(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    begun = trade.market.clock.now()
    taken = await accept(trade, seller, job, "w-1")
    assert (taken["status"], taken["worker"], taken["accepted_at"]) == ("in_progress", "w-1", stamp(begun))
    trade.market.pass_seconds(100)
    renewed = await accept(trade, seller, job, "w-1")
    assert (renewed["lease_until"] > taken["lease_until"], renewed["updated_at"]) == (True, taken["updated_at"])
    trade.market.pass_seconds(119)
    assert (await taken_by(trade, seller, job, "w-2"))["details"]["lease_until"] == renewed["lease_until"]


async def taken_by(trade: Trade, seller: Agent, job: Any, worker: str) -> Any:
    return await trade.market.refusal("accept_job", by=seller, job_id=job["id"], worker=worker)


@covers("second.worker.taken", "second.worker.taken_over")
async def test_another_worker_hears_taken_until_the_lease_has_ended(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    taken = await accept(trade, seller, job, "w-1")
    trade.market.pass_seconds(119)
    refused = await taken_by(trade, seller, job, "w-2")
    assert refused["code"] == "taken"
    assert refused["details"] == {"worker": "w-1", "lease_until": taken["lease_until"]}
    work = {"job_id": job["id"], "output": {"english": "good day"}}
    assert (await trade.market.refusal("deliver_job", by=seller, worker="w-2", **work))["code"] == "taken"
    trade.market.pass_seconds(1)
    assert (await accept(trade, seller, job, "w-2"))["worker"] == "w-2"
    assert (await taken_by(trade, seller, job, "w-1"))["code"] == "taken"
    done = await trade.market.call("deliver_job", by=seller, worker="w-2", **work)
    assert (done["status"], done["worker"]) == ("delivered", "w-2")


@covers("second.worker.private")
async def test_the_buyer_sees_no_worker(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    assert (await accept(trade, seller, job, "w-1"))["worker"] == "w-1"
    seen = await trade.seen(buyer, job)
    assert (seen["worker"], seen["lease_until"]) == (None, None)
    told = (await trade.market.call("list_events", by=buyer, limit=100))["data"]
    assert "w-1" not in str(told)


@covers("second.worker.without")
async def test_without_a_worker_nothing_is_held(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    for _ in range(2):
        assert (await accept(trade, seller, job))["worker"] is None
    held = await accept(trade, seller, job, "w-1")
    assert (await accept(trade, seller, job))["lease_until"] == held["lease_until"], (
        "a call without a name renews nothing"
    )
    assert (await trade.deliver(seller, job))["status"] == "delivered"


@covers("second.worker.lease")
async def test_a_delivery_of_an_open_order_names_its_worker(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    work = {"job_id": job["id"], "output": {"english": "good day"}, "worker": "w-1"}
    done = await trade.market.call("deliver_job", by=seller, **work)
    assert (done["status"], done["worker"]) == ("delivered", "w-1")
    assert (await trade.market.call("deliver_job", by=seller, **work | {"worker": "w-2"}))["worker"] == "w-1"


@pytest.mark.parametrize("worker", ["", "w 1", "w" * 65, "w/1", "ü"])
async def test_a_worker_has_a_plain_name(trade: Trade, worker: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    refused = await taken_by(trade, seller, job, worker)
    assert (refused["code"], refused["param"]) == ("invalid_request", "worker")


async def test_a_buyer_has_no_worker(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer)
    refused = await taken_by(trade, buyer, job, "w-1")
    assert (refused["code"], refused["param"]) == ("invalid_request", "worker")
