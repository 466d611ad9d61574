"""Storage limits: what counts towards an agent's limit, what stops counting, and what is never refused."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from storage.tables import AgentRow, JobRow
from tests.requirements import covers
from tests.support.bounties import bounty, propose
from tests.support.market import Agent
from tests.support.refusals import change_row, fill
from tests.support.trade import OFFER, PRICE, Trade
from tools.jobs.sealing_rules import rounded_size
from tools.operator.recompute import recompute

pytestmark = pytest.mark.both_databases

BIG = {"text": "guten Tag " * 9}


async def used(trade: Trade, agent: Agent, on: str = "test") -> int:
    return int((await trade.market.call("get_me", by=agent, on=on))["storage"]["used"])


async def drift(trade: Trade) -> list[str]:
    return [str(one) async for one in recompute(trade.market.store) if one.keys]


def size(value: Any) -> int:
    return len(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


def block(output: Any) -> int:
    """Return what an output counts: whole kilobytes."""
    return rounded_size(size(output))


@covers("second.room.counted", "second.room.shown", "second.room.recomputed", "second.room.settled")
async def test_inputs_outputs_and_messages_count_until_a_payment_stands_for_them(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    sold = await used(trade, seller)
    assert sold > size(OFFER["input_schema"])
    job = await trade.order(buyer, listing, input=BIG)
    assert await used(trade, buyer) == size(BIG)
    await trade.market.call("post_message", by=buyer, thread_id=job["thread_id"], body="Ü", data={"a": 1})
    assert await used(trade, buyer) == size(BIG) + 2 + size({"a": 1})
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    await trade.deliver(seller, job, {"english": "Good day."})
    said = 2 + size({"a": 1})
    assert await used(trade, buyer) == size(BIG) + said + block({"english": "Good day."}), "it ordered the output"
    assert await used(trade, seller) == sold
    assert await used(trade, buyer, "live") == 0, "each environment has its own"
    assert await drift(trade) == []
    await trade.pay(buyer, job)
    await trade.market.call("post_message", by=buyer, thread_id=job["thread_id"], body="Thanks.")
    assert (await used(trade, buyer), await used(trade, seller)) == (0, sold)
    assert await drift(trade) == []


@covers("second.room.frees")
async def test_memory_schedules_bounties_and_proposals_count_and_what_is_deleted_is_freed(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.market.call("put_memory", by=buyer, key="a", value="x" * 100)
    await trade.market.call("put_memory", by=buyer, key="a", value="x", ttl_seconds=60)
    made = await trade.market.call("create_schedule", by=buyer, in_seconds=60, payload="y" * 98)
    assert await used(trade, buyer) == 3 + 100
    trade.market.clock.pass_seconds(61)
    await trade.market.workers.fire_schedules()
    fired = await used(trade, buyer) - 103
    assert fired > 98, "the event of the schedule"
    await trade.market.workers.purge_old()
    await trade.market.call("delete_schedule", by=buyer, schedule_id=made["id"])
    assert await used(trade, buyer) == fired
    posted = await bounty(trade, buyer)
    assert await used(trade, buyer) > fired + 50
    await propose(trade, seller, posted, message="1234567")
    await propose(trade, seller, posted, message="12345")
    assert await used(trade, seller) == 5
    trade.market.clock.at += timedelta(days=91)
    await trade.market.workers.purge_old()
    assert await drift(trade) == []


async def test_a_kept_answer_that_is_large_counts_for_a_day(trade: Trade) -> None:
    ada = await trade.market.register()
    await trade.market.answer("put_memory", {"key": "a", "value": "x" * 5_000}, key=ada.keys["test"], repeat="k" * 22)
    kept = await used(trade, ada) - 5_002
    assert kept > 5_000
    assert await drift(trade) == []
    trade.market.clock.at += timedelta(hours=25)
    await trade.market.workers.purge_old()
    assert await used(trade, ada) == 5_002


@covers("second.room.exempt")
async def test_what_ends_work_is_never_refused(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    listing = await trade.listing(seller)
    for one in (seller, buyer):
        await fill(trade, one)
    await trade.deliver(seller, job, {"english": "Good day."})
    await trade.pay(buyer, job)
    disputed = await trade.market.call("dispute_job", by=buyer, job_id=job["id"], reason="It is empty.")
    for one in (seller, buyer):
        await trade.market.call("post_message", by=one, thread_id=job["thread_id"], body="Evidence.")
    await trade.market.call("withdraw_dispute", by=buyer, dispute_id=disputed["dispute_id"])
    await trade.market.call("delete_memory", by=buyer, key="nothing")
    text = {"text": "longer than the input that has left the count"}
    error = await trade.market.refusal("create_job", by=buyer, listing_id=listing["id"], input=text)
    assert error["code"] == "storage_full"


@covers("second.room.accept")
async def test_work_is_accepted_only_with_room_for_its_output(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await fill(trade, seller, left=2**20 - 1)
    assert (await trade.market.refusal("accept_job", by=seller, job_id=job["id"]))["code"] == "storage_full"
    await trade.market.store.write(lambda tx: tx.count_bytes(seller.id, "test", -1))
    assert (await trade.market.call("accept_job", by=seller, job_id=job["id"]))["status"] == "in_progress"


@covers("second.room.first_party")
async def test_the_operators_agents_have_no_limit(trade: Trade) -> None:
    ada = await trade.market.register()
    await fill(trade, ada)
    await change_row(trade, AgentRow, (ada.id,), first_party=True)
    await trade.market.call("put_memory", by=ada, key="a", value=1)
    assert (await trade.market.call("get_me", by=ada))["storage"]["limit"] is None


@covers("second.room.schedules")
async def test_a_schedule_that_no_longer_fits_is_paused_with_an_event(trade: Trade) -> None:
    ada = await trade.market.register()
    made = await trade.market.call("create_schedule", by=ada, in_seconds=60, interval_seconds=60, payload="x" * 1_000)
    limit = await fill(trade, ada, left=1_100)
    trade.market.clock.pass_seconds(61)
    await trade.market.workers.fire_schedules()
    assert await used(trade, ada) == limit - 1_100
    page = await trade.market.call("list_events", by=ada, types=["schedule.*"])
    (event,) = page["data"]
    assert (event["type"], event["data"]["schedule_id"]) == ("schedule.paused", made["id"])
    assert (await trade.market.call("get_schedule", by=ada, schedule_id=made["id"]))["status"] == "paused"


@covers("second.room.schedules")
async def test_schedules_that_are_due_together_fire_only_as_far_as_there_is_room(trade: Trade) -> None:
    ada = await trade.market.register()
    for _ in range(4):
        await trade.market.call("create_schedule", by=ada, in_seconds=60, payload="x" * 1_000)
    limit = await fill(trade, ada, left=3_000)
    trade.market.clock.pass_seconds(61)
    await trade.market.workers.fire_schedules()
    assert limit - 1_000 < await used(trade, ada) <= limit
    page = await trade.market.call("list_events", by=ada, types=["schedule.*"])
    assert sorted(one["type"] for one in page["data"]) == ["schedule.fired"] * 2 + ["schedule.paused"] * 2


@covers("second.room.forgotten")
async def test_what_nobody_paid_for_is_deleted_30_days_after_the_end(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    never = await trade.order(buyer, listing, input=BIG)
    await trade.market.call("cancel_job", by=buyer, job_id=never["id"])
    sealed = await trade.job_at("delivered", seller, buyer)
    sold = await used(trade, seller)
    await trade.market.call("cancel_job", by=buyer, job_id=sealed["id"])
    left = await used(trade, buyer)
    twin = await trade.order(buyer, listing, input=BIG)
    for days, there in ((29, True), (2, False)):
        trade.market.clock.at += timedelta(days=days)
        await trade.market.workers.purge_old()
        shown = [await trade.seen(one, job) for one, job in ((buyer, never), (buyer, twin), (seller, sealed))]
        assert [one["input"] is not None for one in shown] == [there, True, True]
        assert await drift(trade) == []
    assert shown[2]["output_hash"] == (await trade.seen(seller, sealed))["output_hash"] is not None
    assert await used(trade, seller) == sold
    assert await used(trade, buyer) == left - block({"english": "good day"}), "its twin's input takes the freed place"


@covers("second.room.counted")
@pytest.mark.parametrize("end", ["waits", "walks away", "does not pay", "has it for nothing"])
async def test_no_output_fills_the_room_of_its_seller(trade: Trade, end: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer, price=0 if end == "has it for nothing" else PRICE)
    sold = await used(trade, seller)
    if end == "walks away":
        await trade.market.call("cancel_job", by=buyer, job_id=job["id"])
    elif end != "waits":
        trade.market.clock.at += timedelta(days=15)
        await trade.market.workers.sweep()
    shown = await trade.seen(seller, job)
    assert shown["status"] == {"waits": "delivered", "walks away": "cancelled", "does not pay": "expired"}.get(
        end, "completed"
    )
    assert await used(trade, buyer) == size({"text": "guten Tag"}) + block({"english": "good day"})
    await trade.listing(seller)
    assert await used(trade, seller) == sold * 2, "listings alone"
    assert await drift(trade) == []


async def test_an_order_leaves_room_for_its_output(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    await fill(trade, buyer, left=2**20 + size({"text": "guten Tag"}) - 1)
    ordered = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
    assert (await trade.market.refusal("create_job", by=buyer, **ordered))["code"] == "storage_full"
    await trade.market.store.write(lambda tx: tx.count_bytes(buyer.id, "test", -1))
    assert (await trade.market.call("create_job", by=buyer, **ordered))["status"] == "open"


@covers("second.room.settled")
async def test_a_payment_that_was_given_back_stands_for_no_room(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    sold = await used(trade, seller)
    job = await trade.job_at("completed", seller, buyer)
    await trade.market.call("post_message", by=seller, thread_id=job["thread_id"], body="1234567")
    listed = await used(trade, seller) - sold
    texts = size({"text": "guten Tag"}) + block({"english": "good day"})
    steps = ((PRICE - 10_000, 0, 0), (1, texts, 7), (9_999, texts, 7))
    for amount, bought, said in steps:
        await trade.give_back(seller, buyer, job, amount)
        assert (await used(trade, buyer), await used(trade, seller)) == (bought, sold + listed + said)
        assert await drift(trade) == []


async def test_a_refund_of_a_stray_transfer_leaves_the_payment_standing(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer, price=10_000)
    texts = size({"text": "guten Tag"}) + block({"english": "good day"})
    for returned, amount, left in (("stray", 10_000, 0), ("price", 10_000, texts)):
        if returned == "stray":
            await stray(trade, buyer, job)
        await trade.give_back(seller, buyer, job, amount)
        assert await used(trade, buyer) == left
        assert await drift(trade) == []
    await stray(trade, buyer, job)
    assert (await used(trade, buyer), await drift(trade)) == (0, [])
    await trade.give_back(seller, buyer, job, 10_000)
    assert (await used(trade, buyer), await drift(trade)) == (texts, [])


async def stray(trade: Trade, buyer: Agent, job: Any) -> None:
    """Send 0.01 USDC for a job that is already paid."""
    sent = trade.evm.transfer(buyer.wallet, job["payment"]["pay_to"], 10_000)
    await trade.market.answer("pay_job", {"job_id": job["id"], "transaction": sent}, key=buyer.keys["test"])


@covers("second.room.recomputed")
async def test_the_doctor_sees_a_refunded_job_that_does_not_count(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    await trade.give_back(seller, buyer, job)
    assert await drift(trade) == []
    await change_row(trade, JobRow, (job["id"],), counted=False)
    assert sorted(one.split()[0] for one in await drift(trade)) == ["agent_storage", "jobs"]


@covers("second.room.disk")
@pytest.mark.parametrize(("bytes_", "operation", "refused"), [
    (4_096, "put_memory", False), (4_097, "put_memory", True),
    (65_536, "post_message", False), (65_537, "post_message", True), (200_000, "get_me", False),
])  # fmt: skip
async def test_a_nearly_full_disk_takes_small_bodies_only(
    trade: Trade, bytes_: int, operation: str, refused: bool
) -> None:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    thread = (await trade.market.call("start_thread", by=ada, to=bo.id, body="Hello."))["thread"]["id"]
    given = {"put_memory": {"key": "a", "value": 1}, "post_message": {"thread_id": thread, "body": "x"}, "get_me": {}}
    trade.market.workers.disk_is_low = lambda: True
    await trade.market.workers.check_health()
    answer = await trade.market.answer(operation, given[operation], key=ada.keys["test"], body_bytes=bytes_)
    assert (answer.status == 503) is refused, answer.body


async def test_a_payment_that_is_shown_after_the_output_was_deleted_is_owed_back(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    sent = await trade.send(buyer, job)
    trade.market.clock.at += timedelta(days=34)
    await trade.market.workers.sweep()
    trade.market.clock.at += timedelta(days=31)
    await trade.market.workers.purge_old()
    error = await trade.market.refusal("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    assert (error["code"], error["details"]["settlement"]["status"]) == ("job_not_payable", "orphaned")
    assert (await trade.seen(seller, job))["refund_expected"] == PRICE
