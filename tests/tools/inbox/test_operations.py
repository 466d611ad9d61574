"""Clauses of the contract about the inbox: it lists what the caller has to do and by when, and nothing else."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from storage.jobs import owing_refunds
from storage.tables import JobRow
from tests.requirements import covers
from tests.requirements.probes import write_row
from tests.shape.test_gates import statements
from tests.support.market import Agent, TestMarket
from tests.support.trade import PRICE, Trade
from tools.inbox.operations import SHOWN
from tools.kernel.records import stamp

WAITING = ("jobs_awaiting_my_action", "refunds_due", "unread_threads")


async def inbox(trade: Trade, agent: Agent, **on: Any) -> Any:
    return await trade.market.call("get_inbox", by=agent, **on)


async def waits(trade: Trade, agent: Agent) -> list[tuple[str, str, str | None]]:
    found = (await inbox(trade, agent))["jobs_awaiting_my_action"]
    return [(one["status"], one["action_needed"], one["deadline_at"]) for one in found]


@covers("service.5.inbox", "route.inbox", "open.inbox")
async def test_an_empty_inbox_says_so_and_what_to_do(market: TestMarket) -> None:
    ada = await market.register()
    found = await market.call("get_inbox", by=ada)
    (step,) = found.pop("next_steps")
    assert (step["tool"], step["arguments"]) == ("get_inbox", {"since": found["next_since"], "wait_seconds": 20})
    assert found == {
        "object": "inbox",
        "unread_total": 0,
        "unread_threads": [],
        "jobs_awaiting_my_action": [],
        "disputes_awaiting_my_verdict": [],
        "proposals_awaiting_my_decision": [],
        "refunds_due": [],
        "truncated": [],
        "env": "test",
        "next_since": "evt_" + "0" * 26,
        "hint": "Nothing waits for you. To wait, call get_inbox with since and wait_seconds; search_listings shows what is for sale.",
    }


@covers("route.inbox.jobs_awaiting_my_action", "route.inbox")
@pytest.mark.parametrize("timing", ["on_delivery", "upfront"])
async def test_each_step_of_a_trade_stands_in_the_inbox_of_whoever_must_take_it(trade: Trade, timing: str) -> None:
    seller, buyer = await trade.parties()

    async def check(job: Any, whose: Agent, action: str, deadline: str) -> None:
        seen = await trade.seen(whose, job)
        other = buyer if whose is seller else seller
        assert (await inbox(trade, whose))["jobs_awaiting_my_action"] == [
            {
                "id": job["id"],
                "status": seen["status"],
                "title": seen["title"],
                "role": seen["role"],
                "counterparty_id": other.id,
                "action_needed": action,
                "deadline_at": seen["deadlines"][deadline],
                "quoted_price": None,
                "quoted_price_display": None,
            }
        ]
        assert seen["waiting_on"]["until"] == seen["deadlines"][deadline]
        assert await waits(trade, other) == []

    job = await trade.order(buyer, await trade.listing(seller, payment=timing))
    await check(job, seller, "accept", "accept_by")
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    if timing == "upfront":
        await check(job, buyer, "pay", "pay_by")
        await trade.pay(buyer, job)
    await check(job, seller, "deliver", "deliver_by")
    await trade.deliver(seller, job)
    if timing == "on_delivery":
        await check(job, buyer, "pay", "pay_by")
        await trade.pay(buyer, job)
    await check(job, buyer, "accept", "review_by")
    await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    assert (await waits(trade, seller), await waits(trade, buyer)) == ([], [])


async def test_next_steps_are_calls_that_work_as_they_stand(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await trade.market.call("start_thread", by=buyer, to=seller.id, body="Please be quick.")
    found = await inbox(trade, seller)
    act, read, _ = found["next_steps"]
    assert (act["tool"], act["arguments"], act["deadline"]) == (
        "accept_job", {"job_id": job["id"]}, job["deadlines"]["accept_by"],
    )  # fmt: skip
    assert found["hint"].startswith(f"Most urgent: accept job {job['id']} by {job['deadlines']['accept_by']};")
    await trade.market.call(act["tool"], by=seller, **act["arguments"])
    page = await trade.market.call(read["tool"], by=seller, **read["arguments"])
    assert [one["body"] for one in page["data"]] == ["Please be quick."]


async def test_the_earliest_deadline_comes_first(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    for seconds in (3000, 60, 600):
        await trade.order(buyer, await trade.listing(seller, accept_timeout_seconds=seconds))
    deadlines = [datetime.fromisoformat(one[2]) for one in await waits(trade, seller) if one[2]]
    now = trade.market.clock.now()
    assert [(at - now).total_seconds() for at in deadlines] == [60, 600, 3000]


async def test_what_the_clock_has_taken_away_waits_no_more_whether_swept_or_not(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    trade.market.pass_seconds(600)
    assert await waits(trade, seller) == []
    await trade.market.workers.sweep()
    assert await waits(trade, seller) == []
    assert (await trade.seen(seller, job))["status"] == "expired"


async def test_unpaid_work_can_be_paid_for_an_hour_after_it_expired(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    pay_by = datetime.fromisoformat(job["deadlines"]["pay_by"])
    trade.market.pass_seconds(900)
    expected = [("expired", "pay", stamp(pay_by + timedelta(hours=1)))]
    for _ in range(2):
        assert await waits(trade, buyer) == expected
        await trade.market.workers.sweep()
    trade.market.pass_seconds(3601)
    assert await waits(trade, buyer) == []
    await trade.market.workers.send_reminders()
    row = await trade.market.store.read(lambda tx: tx.get(JobRow, job["id"]))
    assert row is not None
    assert (row.waits_for, row.act_by, row.notice_at) == (None, None, None), "nothing is looked at again"


async def test_m8_what_is_owed_back_is_read_from_the_settlements(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    assert (await inbox(trade, seller))["refunds_due"] == []
    stray = trade.evm.transfer(buyer.wallet, seller.wallet, 70_000)
    await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=stray)
    found = await inbox(trade, seller)
    assert found["refunds_due"] == [
        {
            "id": job["id"],
            "status": "completed",
            "title": job["title"],
            "counterparty_id": buyer.id,
            "refund_expected": 70_000,
            "display": "0.070000 USDC",
        }
    ]
    assert await waits(trade, seller) == [("completed", "refund", None)]
    assert found["hint"].startswith(f"Most urgent: refund job {job['id']};")
    (sends,) = [one for one in found["next_steps"] if one["tool"] == "refund_job"]
    assert sends in (await trade.seen(seller, job))["next_steps"]
    assert f"Send 70000 USDC minor units to {buyer.wallet.address}" in sends["why"]
    assert (await inbox(trade, buyer))["refunds_due"] == []
    for _ in range(2):
        await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=stray)
    kept = await trade.market.store.read(lambda tx: tx.all(owing_refunds, seller_id=seller.id, env="test", limit=9))
    assert [row.id for row in kept] == [job["id"]]


async def test_parts_of_a_price_are_owed_back_until_the_rest_revives_the_job(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    for amount_minor, stays in ((PRICE - 1, True), (1, False)):
        sent = await trade.send(buyer, job, amount_minor)
        await trade.market.answer("pay_job", {"job_id": job["id"], "transaction": sent}, key=buyer.keys["test"])
        if stays:
            trade.market.pass_seconds(900)
            await trade.market.workers.sweep()
            trade.evm.warp(900)
            assert [one["refund_expected"] for one in (await inbox(trade, seller))["refunds_due"]] == [PRICE - 1]
    assert (await trade.seen(buyer, job))["status"] == "delivered"
    assert (await inbox(trade, seller))["refunds_due"] == []
    assert (
        await trade.market.store.read(lambda tx: tx.all(owing_refunds, seller_id=seller.id, env="test", limit=9)) == []
    )


async def test_each_list_is_bounded_and_says_when_there_is_more(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, price=0, max_open_jobs=1000)
    for _ in range(SHOWN + 2):
        job = await trade.order(buyer, listing)
        await trade.market.call("post_message", by=buyer, thread_id=job["thread_id"], body="Hello.")
    found = await inbox(trade, seller)
    assert [len(found[name]) for name in WAITING] == [SHOWN, 0, SHOWN]
    assert (found["truncated"], found["unread_total"]) == (["unread_threads", "jobs_awaiting_my_action"], SHOWN + 2)
    assert len(found["next_steps"]) == 11
    assert (await inbox(trade, seller, on="live"))["unread_total"] == 0


async def test_o6_the_inbox_takes_a_few_statements_whatever_is_in_it(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, price=0)
    count, taken = statements(trade.market.store), []
    for orders in (1, 4):
        for _ in range(orders):
            job = await trade.order(buyer, listing)
            await trade.market.call("post_message", by=buyer, thread_id=job["thread_id"], body="Hello.")
        await trade.market.call("get_me", by=seller)
        before = next(count)
        await inbox(trade, seller)
        taken.append(next(count) - before)
    assert taken[0] == taken[1] <= 10


async def test_a_stale_index_shows_nothing_that_is_not_so(trade: Trade) -> None:
    """The index columns only find jobs; the inbox shows what the lifecycle says now."""
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    await write_row(trade.market, JobRow, job["id"], waits_for=buyer.id)
    assert (await waits(trade, buyer), await waits(trade, seller)) == ([], [])
