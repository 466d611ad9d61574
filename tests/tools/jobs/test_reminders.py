"""Clauses of the contract about reminders: a deadline is near, or paid work is late."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import TypeAdapter

from storage.jobs import due_notices
from storage.tables import JobRow
from storage.transaction import Tx
from tests.requirements import covers
from tests.requirements.probes import write_row
from tests.shape.test_gates import statements
from tests.support.market import Agent, TestMarket
from tests.support.trade import Trade
from tools.events.payloads import PAYLOADS
from tools.kernel.records import EPOCH, stamp, stamp_or_none

SOON, OVERDUE = "job.deadline_soon", "job.delivery_overdue"


async def heard(trade: Trade, agent: Agent, kind: str) -> list[Any]:
    page = await trade.market.call("list_events", by=agent, types=[kind], limit=100)
    return [one["data"] for one in page["data"]]


async def tick(trade: Trade, seconds: float) -> int:
    """Let this much time pass and run the workers once; return the number of notices."""
    trade.market.pass_seconds(seconds)
    await trade.market.workers.sweep()
    return await trade.market.workers.send_reminders()


async def until_soon(trade: Trade, whose: Agent, seconds: float, job: Any, action: str, deadline: str) -> None:
    """Check that one notice comes after exactly this time, only for this party."""
    seen = await trade.seen(whose, job)
    known = len(await heard(trade, whose, SOON))
    others = [party["id"] for party in (seen["buyer"], seen["seller"]) if party["id"] != whose.id]
    assert len(others) == 1
    assert await tick(trade, seconds - 0.001) == 0
    assert await tick(trade, 0.001) == 1
    assert await tick(trade, 1) == 0
    data = (await heard(trade, whose, SOON))[known:]
    assert [(one["job_id"], one["action_needed"], one["deadline_at"]) for one in data] == [
        (job["id"], action, seen["deadlines"][deadline])
    ]
    assert data[0]["then"] == seen["waiting_on"]["then"]
    TypeAdapter(PAYLOADS[SOON]).validate_python(data[0], strict=True, extra="forbid")
    trade.market.pass_seconds(-1)


@covers("event.kind.job.deadline_soon")
async def test_each_deadline_is_announced_once_to_whoever_must_act(trade: Trade) -> None:
    """A notice comes when a tenth of the window is left, but at least 60 s before its end.

    The windows are 700 s to accept, 3600 s to deliver, 900 s to pay and 900 s to review.
    """
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, accept_timeout_seconds=700, turnaround_seconds=3600)
    job = await trade.order(buyer, listing)
    await until_soon(trade, seller, 630, job, "accept", "accept_by")
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    await until_soon(trade, seller, 3240, job, "deliver", "deliver_by")
    await trade.deliver(seller, job)
    await until_soon(trade, buyer, 810, job, "pay", "pay_by")
    await trade.pay(buyer, job)
    await until_soon(trade, buyer, 810, job, "accept", "review_by")
    assert [len(await heard(trade, one, SOON)) for one in (seller, buyer)] == [2, 2]
    assert await tick(trade, 90) == 0
    assert (await trade.seen(buyer, job))["status"] == "completed"


async def test_a_long_window_is_announced_an_hour_before_its_end_and_a_short_one_not_at_all(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    week, minute = 604_800, 60
    long = await trade.order(buyer, await trade.listing(seller, accept_timeout_seconds=week))
    await trade.order(buyer, await trade.listing(seller, accept_timeout_seconds=minute))
    assert await tick(trade, minute) == 0
    await until_soon(trade, seller, week - 3600 - minute, long, "accept", "accept_by")


async def test_a_deadline_that_passed_unannounced_is_not_announced_any_more(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.order(buyer, await trade.listing(seller))
    trade.market.pass_seconds(601)
    assert await trade.market.workers.send_reminders() == 0
    told = await trade.market.call("list_events", by=seller, types=["job.*"])
    assert [one["type"] for one in told["data"]] == ["job.created", "job.expired"], "the clock's move comes first"


@covers("state.job.decided.in_progress.overdue_paid", "event.kind.job.delivery_overdue")
async def test_m10_a_paid_buyer_is_told_once_that_the_work_is_late_and_may_leave(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("awaiting_payment", seller, buyer, payment="upfront", turnaround_seconds=600)
    job = await trade.pay(buyer, job)
    assert await tick(trade, 540) == 1
    assert await tick(trade, 60 + 3599) == 0
    for seconds, said in ((1, 1), (1, 0), (86_400, 0)):
        assert await tick(trade, seconds) == said
    for party in (seller, buyer):
        (data,) = await heard(trade, party, OVERDUE)
        assert (data["job_id"], data["status"], data["deliver_by"]) == (
            job["id"], "in_progress", job["deadlines"]["deliver_by"],
        )  # fmt: skip
        TypeAdapter(PAYLOADS[OVERDUE]).validate_python(data, strict=True, extra="forbid")
    assert (await trade.seen(buyer, job))["status"] == "in_progress", "nothing else happens by itself"
    await trade.deliver(seller, job)
    assert (await trade.seen(buyer, job))["status"] == "delivered"


async def test_m10_a_new_deadline_is_announced_and_overdue_again(trade: Trade) -> None:
    """A revision puts the job back in progress with a new deliver_by."""
    seller, buyer = await trade.parties()
    job = await trade.job_at("awaiting_payment", seller, buyer, payment="upfront", turnaround_seconds=600)
    await trade.pay(buyer, job)
    await tick(trade, 540)
    assert await tick(trade, 3660) == 1
    now = trade.market.clock.now()
    fresh = {"deliver_by": now + timedelta(hours=2), "act_by": now + timedelta(hours=2), "notice_at": now}
    await write_row(trade.market, JobRow, job["id"], **fresh)
    assert await tick(trade, 0) == 1
    assert await tick(trade, 3 * 3600) == 1
    assert [len(await heard(trade, buyer, OVERDUE)), len(await heard(trade, seller, SOON))] == [2, 2]


async def test_m11_a_job_of_which_nothing_can_be_said_does_not_stop_the_rest(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, price=0, max_open_jobs=1000)
    jobs = [await trade.order(buyer, listing) for _ in range(55)]
    await write_row(trade.market, JobRow, jobs[5]["id"], payment="nonsense")
    trade.market.pass_seconds(545)
    assert await trade.market.workers.send_reminders() == 54
    assert await trade.market.workers.send_reminders() == 0
    told = [one["job_id"] for one in await heard(trade, seller, SOON)]
    assert sorted(told) == sorted(job["id"] for job in jobs if job["id"] != jobs[5]["id"])


async def test_looking_for_notices_reads_only_those_that_are_due(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, price=0, max_open_jobs=1000)
    for _ in range(5):
        await trade.order(buyer, listing)
    count = statements(trade.market.store)
    before = next(count)
    assert await trade.market.workers.send_reminders() == 0
    assert next(count) - before == 1
    trade.market.pass_seconds(545)
    await trade.market.workers.send_reminders()
    due = {"since": EPOCH, "after": "", "until": trade.market.clock.now() + timedelta(days=30), "limit": 99}

    def read(tx: Tx) -> list[JobRow]:
        return tx.all(due_notices, **due)

    assert await trade.market.store.write(read) == [], "what was said is not looked at again"


@pytest.mark.parametrize("seconds", [0, 10])
async def test_the_columns_of_a_job_say_whom_it_waits_for(trade: Trade, seconds: int) -> None:
    seller, buyer = await trade.parties()

    async def columns(job: Any) -> tuple[str | None, str | None, float | None]:
        row = await trade.market.store.read(lambda tx: tx.get(JobRow, job["id"]))
        assert row is not None
        lead = row.act_by and row.notice_at and (row.act_by - row.notice_at).total_seconds()
        return row.waits_for, row.act_by and stamp(row.act_by), lead

    job = await trade.order(buyer, await trade.listing(seller, turnaround_seconds=7200))
    assert await columns(job) == (seller.id, job["deadlines"]["accept_by"], 60)
    trade.market.pass_seconds(seconds)
    job = await trade.market.call("accept_job", by=seller, job_id=job["id"])
    assert await columns(job) == (seller.id, job["deadlines"]["deliver_by"], 720)
    await trade.deliver(seller, job)
    job = await trade.seen(buyer, job)
    assert await columns(job) == (buyer.id, job["deadlines"]["pay_by"], 90)
    job = await trade.pay(buyer, job)
    assert await columns(job) == (buyer.id, job["deadlines"]["review_by"], 90)
    await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    assert await columns(job) == (None, None, None)


async def test_the_sweep_reads_only_jobs_whose_clock_is_due_and_corrects_a_time_too_early(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.order(buyer, await trade.listing(seller, turnaround_seconds=7200))

    async def row() -> JobRow:
        return await trade.market.store.read(lambda tx: tx.need(JobRow, job["id"]))

    assert stamp_or_none((await row()).clock_at) == job["deadlines"]["accept_by"]
    job = await trade.market.call("accept_job", by=seller, job_id=job["id"])
    late = (await row()).clock_at
    assert late is not None
    assert stamp(late - timedelta(hours=1)) == job["deadlines"]["deliver_by"], "a delivery may be an hour late"
    now = trade.market.clock.now()
    await trade.market.store.write(lambda tx: tx.change(tx.need(JobRow, job["id"]), clock_at=now))
    assert await trade.market.workers.sweep() == 0
    assert (await row()).clock_at == late
    count = statements(trade.market.store)
    before = next(count)
    assert await trade.market.workers.sweep() == 0
    assert next(count) - before == 1
    trade.market.pass_seconds(7200 + 3600)
    assert await trade.market.workers.sweep() == 1
    assert ((await row()).status, (await row()).clock_at) == ("cancelled", None)


async def test_the_loop_of_the_workers_tells_and_fires(market: TestMarket) -> None:
    named = {step.run.__name__ for step in market.workers.steps}
    assert {"sweep", "send_reminders", "fire_schedules", "purge_old"} <= named
