"""Clauses of the contract about deadlines: every window of a job, with and without a sweep."""

from datetime import datetime
from typing import Any

import pytest

from storage.vocabulary import Env
from tests.requirements import covers
from tests.requirements.probes import as_deployed
from tests.support.market import TestMarket
from tests.support.trade import PRICE, Trade
from tools.kernel.records import stamp

swept = pytest.mark.parametrize("sweep", [False, True], ids=["by reading", "by sweeping"])


async def seen_after(trade: Trade, agent: Any, job: Any, seconds: float, sweep: bool) -> Any:
    """Return the job after this many seconds, with or without a sweep."""
    trade.market.pass_seconds(seconds)
    if sweep:
        await trade.market.workers.sweep()
    return await trade.seen(agent, job)


@swept
@covers("state.job.open.accept_window", "state.job.open.accept_late", "job.status.expired", "job.deadlines.accept_by")
async def test_an_order_nobody_accepts_expires_with_its_accept_window(trade: Trade, sweep: bool) -> None:
    seller, buyer = await trade.parties()
    job = await trade.order(buyer, await trade.listing(seller, accept_timeout_seconds=60))
    early = await seen_after(trade, buyer, job, 59, sweep)
    late = await seen_after(trade, buyer, job, 1, sweep)
    assert (early["status"], late["status"], late["unpaid"]) == ("open", "expired", False)
    error = await trade.market.refusal("accept_job", by=seller, job_id=job["id"])
    assert (error["code"], error["details"]["status"]) == ("invalid_transition", "expired")


@swept
@covers("state.job.sealed.pay_deadline", "job.field.unpaid", "job.deadlines.pay_by", "job.payment.pay_by")
async def test_sealed_work_nobody_pays_expires_unpaid_and_stays_sealed(trade: Trade, sweep: bool) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    early = await seen_after(trade, buyer, job, 899, sweep)
    late = await seen_after(trade, buyer, job, 1, sweep)
    assert [(one["status"], one["unpaid"]) for one in (early, late)] == [("delivered", False), ("expired", True)]
    assert (late["output"], late["output_sealed"]) == (None, True)


@swept
@covers("state.job.decided.awaiting_payment.window")
async def test_an_upfront_job_nobody_pays_expires_unpaid(trade: Trade, sweep: bool) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("awaiting_payment", seller, buyer, payment="upfront")
    early = await seen_after(trade, buyer, job, 899, sweep)
    late = await seen_after(trade, buyer, job, 1, sweep)
    assert [(one["status"], one["unpaid"]) for one in (early, late)] == [("awaiting_payment", False), ("expired", True)]


@swept
@covers("state.job.revealed.review_window", "job.status.completed", "job.deadlines.review_by")
async def test_silence_through_the_review_window_completes_the_job(trade: Trade, sweep: bool) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer)
    early = await seen_after(trade, buyer, job, 899, sweep)
    late = await seen_after(trade, buyer, job, 1, sweep)
    assert (early["status"], early["completed_at"], late["status"]) == ("delivered", None, "completed")
    if sweep:
        assert late["completed_at"] == stamp(trade.market.clock.now())


@swept
@covers("state.job.decided.in_progress.overdue", "job.status.cancelled", "job.field.cancel_reason")
@covers("listing.stats.jobs_failed", "job.deadlines.deliver_by")
async def test_m10_unpaid_work_an_hour_overdue_is_cancelled_as_the_sellers_failure(trade: Trade, sweep: bool) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer, turnaround_seconds=60)
    early = await seen_after(trade, buyer, job, 3659, sweep)
    late = await seen_after(trade, buyer, job, 1, sweep)
    assert (early["status"], late["status"]) == ("in_progress", "cancelled")
    await trade.market.workers.sweep()
    assert (await trade.seen(buyer, job))["cancel_reason"]
    listing = await trade.market.call("get_listing", env="test", listing_id=job["listing_id"])
    assert (listing["stats"]["jobs_failed"], listing["stats"]["jobs_completed"]) == (1, 0)


@pytest.mark.parametrize(
    "place, offered, seconds",
    [
        ("open", {"accept_timeout_seconds": 60}, 60),
        ("awaiting_payment", {"payment": "upfront"}, 900),
        ("in_progress", {"turnaround_seconds": 60}, 3660),
        ("delivered", {}, 900),
        ("revealed", {}, 900),
    ],
)
async def test_a_sweep_that_comes_late_changes_nothing_that_was_shown_before_it(
    trade: Trade, place: str, offered: dict[str, Any], seconds: int
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at(place, seller, buyer, **offered)
    trade.market.pass_seconds(seconds + 100)
    shown = [await trade.seen(party, job) for party in (seller, buyer)]
    assert await trade.market.workers.sweep() == 1
    assert [await trade.seen(party, job) for party in (seller, buyer)] == shown
    was_due_at = datetime.fromisoformat(shown[0]["updated_at"])
    assert (trade.market.clock.now() - was_due_at).total_seconds() == 100


@covers("state.job.decided.revival")
async def test_m5_a_payment_mined_within_an_hour_after_pay_by_brings_the_job_back(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    pay_by = datetime.fromisoformat(job["deadlines"]["pay_by"])
    expired = await seen_after(trade, buyer, job, 1000, sweep=True)
    assert (expired["status"], expired["payment"]["status"], expired["available_actions"]) == (
        "expired",
        "due",
        ["pay", "message"],
    )
    trade.evm.warp(1000)
    sent = await trade.send(buyer, job)
    assert trade.evm.now() > pay_by.timestamp()
    revived = await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    assert (revived["status"], revived["unpaid"], revived["output"]) == ("delivered", False, {"english": "good day"})


async def test_a_place_is_free_and_a_status_over_from_the_deadline_on_though_no_sweep_has_run(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, max_open_jobs=1)
    job = await trade.order(buyer, listing)
    order = {"listing_id": listing["id"], "input": {"text": "x"}}
    trade.market.pass_seconds(599)
    assert (await trade.market.refusal("create_job", by=buyer, **order))["code"] == "seller_busy"
    trade.market.pass_seconds(1)
    assert (await trade.market.call("list_jobs", by=buyer, status="open"))["data"] == []
    later = await trade.order(buyer, listing)
    page = await trade.market.call("list_jobs", by=buyer)
    assert [(one["id"], one["status"]) for one in page["data"]] == [(later["id"], "open"), (job["id"], "expired")]
    assert [one["id"] for one in (await trade.market.call("list_jobs", by=buyer, status="expired"))["data"]] == [
        job["id"]
    ]
    history = await trade.market.call("list_job_events", by=seller, job_id=job["id"])
    assert [one["type"] for one in history["data"]] == ["created", "expired"], "written once"


async def test_a_part_that_comes_in_the_hour_of_grace_is_said_to_be_owed_back(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    await seen_after(trade, buyer, job, 1000, sweep=True)
    trade.evm.warp(1000)
    sent = await trade.send(buyer, job, 1000)
    error = await trade.market.refusal("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    assert (error["code"], error["details"]["remaining"]) == ("payment_invalid", PRICE - 1000)
    for party in (seller, buyer):
        page = await trade.market.call("list_events", by=party, types=["job.refund_due"])
        assert [one["data"]["refund_expected"] for one in page["data"]] == [1000]


@covers("state.settlement.orphaned.closed", "refund.due.orphaned", "error.code.job_not_payable", "job.field.refund_due")
@covers("job.field.refund_expected", "settlement.field.status")
async def test_m3_a_payment_after_the_grace_is_recorded_and_owed_back(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    await seen_after(trade, buyer, job, 900 + 3600 + 100, sweep=True)
    trade.evm.warp(900 + 3600 + 100)
    sent = trade.evm.transfer(buyer.wallet, job["payment"]["pay_to"], PRICE)
    error = await trade.market.refusal("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    settlement = error["details"]["settlement"]
    assert (error["code"], settlement["status"], settlement["transaction"]) == ("job_not_payable", "orphaned", sent)
    for party in (seller, buyer):
        owed = await trade.seen(party, job)
        assert (owed["status"], owed["refund_due"], owed["refund_expected"]) == ("expired", True, PRICE)
    assert error["message"].endswith(f"the seller owes {PRICE} minor units back")
    trade.evm.fund(seller.wallet, PRICE)
    refund = trade.evm.transfer(seller.wallet, buyer.wallet, PRICE)
    (due,) = [one for one in (await trade.seen(seller, job))["next_steps"] if one["action"] == "refund"]
    assert due["why"].startswith(f"Send {PRICE} USDC minor units to {buyer.wallet.address}")
    await trade.market.call("refund_job", by=seller, **due["arguments"] | {"transaction": refund})
    again = await trade.market.refusal("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    assert again["message"].endswith("what was owed back has come back")


@covers("limit.window.review")
async def test_the_review_window_is_three_days_on_live_and_a_quarter_of_an_hour_on_test(market: TestMarket) -> None:
    windows = as_deployed(market).windows
    assert [windows[env].review_seconds for env in (Env.LIVE, Env.TEST)] == [72 * 3600, 15 * 60]
