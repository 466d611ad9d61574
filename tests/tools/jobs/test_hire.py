"""hire: it orders, waits for the buyer's turn and returns payment terms; the order remains if the wait ends."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from tests.support.trade import Trade
from tests.tools.engine.test_long_polling import answered, waiting

ORDER: Any = {"input": {"text": "guten Tag"}}


async def hired(trade: Trade, **offer: Any) -> tuple[Any, Any, Any]:
    """Return the seller, the buyer, and the arguments that hire the seller's listing."""
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, **offer)
    return seller, buyer, ORDER | {"listing_id": listing["id"]}


async def jobs_of(trade: Trade, seller: Any) -> list[Any]:
    return list((await trade.market.call("list_jobs", by=seller))["data"])


async def test_hiring_orders_and_answers_at_once_where_no_wait_is_asked(trade: Trade) -> None:
    seller, buyer, order = await hired(trade)
    await trade.known(buyer)
    made = await trade.market.call("hire", by=buyer, **order, wait_seconds=0)
    assert (made["object"], made["terms"], made["job"]["status"]) == ("hire", None, "open")
    ordered = await trade.market.call("create_job", by=buyer, **order)
    assert made["job"].keys() == ordered.keys()
    seen = await trade.market.call("get_job", by=buyer, job_id=made["job"]["id"])
    assert (made["next_steps"], made["job"]["next_steps"]) == (seen["next_steps"], [])
    assert [one["status"] for one in await jobs_of(trade, seller)] == ["open", "open"]


async def test_the_first_step_is_to_wait_while_it_is_the_other_partys_turn_and_only_then(trade: Trade) -> None:
    seller, buyer, order = await hired(trade)
    made = await trade.market.call("hire", by=buyer, **order, wait_seconds=0)
    job_id = made["job"]["id"]
    first = made["next_steps"][0]
    assert (first["tool"], first["arguments"]) == ("get_job", {"job_id": job_id, "wait_seconds": 20})
    taken = await trade.market.call("accept_job", by=seller, job_id=job_id)
    assert [one["tool"] for one in taken["next_steps"]] == ["deliver_job", "cancel_job", "post_message"]
    sealed = await trade.deliver(seller, made["job"])
    assert [one["tool"] for one in sealed["next_steps"]] == ["get_job", "post_message"]
    due = await trade.market.call("get_job", by=buyer, job_id=job_id)
    assert due["next_steps"][0]["tool"] == "pay_job"


async def test_an_upfront_job_is_answered_with_its_terms_once_it_is_accepted(trade: Trade) -> None:
    seller, buyer, order = await hired(trade, payment="upfront")
    async with waiting(trade, "hire", buyer, **order) as task:
        (job,) = await jobs_of(trade, seller)
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        made = await answered(task)
    assert (made["job"]["id"], made["job"]["status"]) == (job["id"], "awaiting_payment")
    told = await trade.market.answer("pay_job", {"job_id": job["id"]}, key=buyer.keys["test"])
    terms = orjson.loads(told.body)
    assert made["terms"] == terms | {"next_steps": []}
    assert (made["next_steps"], made["job"]["next_steps"]) == (terms["next_steps"], [])


async def test_sealed_work_is_answered_with_its_terms_once_it_is_delivered_not_before(trade: Trade) -> None:
    seller, buyer, order = await hired(trade)
    async with waiting(trade, "hire", buyer, **order) as task:
        (job,) = await jobs_of(trade, seller)
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        assert not task.done()
        await trade.deliver(seller, job)
        made = await answered(task)
    assert (made["job"]["status"], made["job"]["output"]) == ("delivered", None)
    assert made["terms"]["amount"] == made["job"]["price"]
    assert made["terms"]["pay_to"] == seller.wallet.address


async def test_free_work_is_answered_with_its_output(trade: Trade) -> None:
    seller, buyer, order = await hired(trade, price=0)
    async with waiting(trade, "hire", buyer, **order) as task:
        (job,) = await jobs_of(trade, seller)
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        await trade.deliver(seller, job)
        made = await answered(task)
    assert (made["terms"], made["job"]["output"]) == (None, {"english": "good day"})


async def test_a_declined_job_ends_the_wait(trade: Trade) -> None:
    seller, buyer, order = await hired(trade, pricing_model="quote", price=None)
    async with waiting(trade, "hire", buyer, **order) as task:
        (job,) = await jobs_of(trade, seller)
        await trade.market.call("decline_job", by=seller, job_id=job["id"], reason="No time.")
        made = await answered(task)
    assert (made["job"]["status"], made["terms"]) == ("declined", None)


async def test_a_repeated_hire_is_the_same_job_as_it_then_stands(trade: Trade) -> None:
    seller, buyer, order = await hired(trade, payment="upfront")
    key = buyer.keys["test"]
    first = orjson.loads((await trade.market.answer("hire", order | {"wait_seconds": 0}, key=key, repeat="again")).body)
    await trade.market.call("accept_job", by=seller, job_id=first["job"]["id"])
    kept = await trade.market.answer("hire", order | {"wait_seconds": 0}, key=key, repeat="again")
    assert (kept.replayed, orjson.loads(kept.body)) == (True, first)
    later = await trade.market.answer("hire", order | {"wait_seconds": 1}, key=key, repeat="again")
    told = orjson.loads(later.body)
    assert (later.replayed, later.status, told["job"]["id"]) == (True, 201, first["job"]["id"])
    assert (told["job"]["status"], told["terms"]["amount"]) == ("awaiting_payment", first["job"]["price"])
    assert len(await jobs_of(trade, seller)) == 1


async def test_where_no_place_to_wait_is_left_the_order_stands_and_is_answered_as_it_was_made(trade: Trade) -> None:
    seller, buyer, order = await hired(trade)
    house = trade.market.market.config
    trade.market.market.config = replace(house, limits=replace(house.limits, streams_per_key=0))
    made = await trade.market.call("hire", by=buyer, **order, wait_seconds=55)
    assert [one["id"] for one in await jobs_of(trade, seller)] == [made["job"]["id"]]


async def test_a_key_revoked_while_it_waits_hears_what_was_ordered(trade: Trade) -> None:
    seller, buyer, order = await hired(trade)
    second = await trade.market.call("create_api_key", by=buyer, env="test", scopes=["buy", "read"])
    buyer.keys["second"] = second["key"]
    notifier = trade.market.market.notifier
    waiter = replace(buyer, keys={"test": second["key"]})
    async with waiting(trade, "hire", waiter, **order) as task:
        assert notifier.ears
        await trade.market.call("revoke_api_key", by=buyer, key_id=second["id"])
        (job,) = await jobs_of(trade, seller)
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        made = await answered(task)
    assert (made["job"]["id"], made["job"]["status"]) == (job["id"], "open")


@pytest.mark.parametrize("seconds", [-1, 56, "5", 1.5])
async def test_a_wait_has_bounds(trade: Trade, seconds: Any) -> None:
    seller, buyer, order = await hired(trade)
    refused = await trade.market.refusal("hire", by=buyer, **order, wait_seconds=seconds)
    assert (refused["code"], refused["param"]) == ("invalid_request", "wait_seconds")
    assert await jobs_of(trade, seller) == []


async def test_a_rehearsed_hire_neither_orders_nor_waits(trade: Trade) -> None:
    seller, buyer, order = await hired(trade)
    shown = await trade.market.answer("hire", order | {"wait_seconds": 55}, key=buyer.keys["test"], dry_run=True)
    assert (shown.dry_run, orjson.loads(shown.body)["job"]["status"]) == (True, "open")
    assert await jobs_of(trade, seller) == []
