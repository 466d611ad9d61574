"""max_price: an order and a quote above it are refused, and the seller never learns it."""

from typing import Any

import orjson
import pytest

from tests.requirements import covers
from tests.support.trade import PRICE, Trade

QUOTED = {"pricing_model": "quote", "price": None}
PER_UNIT = {"pricing_model": "per_unit", "unit_name": "page"}


async def refused(trade: Trade, operation: str, buyer: Any, listing: Any, **given: Any) -> Any:
    order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}} | given
    return await trade.market.refusal(operation, by=buyer, **order)


@pytest.mark.parametrize("operation", ["create_job", "hire"])
@covers("clients.max_price.order")
async def test_an_order_above_the_most_is_refused_with_its_price(trade: Trade, operation: str) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    error = await refused(trade, operation, buyer, listing, max_price=PRICE - 1)
    assert (error["code"], error["param"]) == ("price_above_max", "max_price")
    assert error["details"] == {"price": PRICE, "price_display": "0.250000 USDC", "max_price": PRICE - 1}
    assert (await trade.market.call("list_jobs", by=buyer))["data"] == []
    job = await trade.order(buyer, listing, max_price=PRICE)
    assert (job["price"], job["max_price"]) == (PRICE, PRICE)


@covers("clients.max_price.units")
async def test_the_price_of_all_units_counts(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, **PER_UNIT)
    error = await refused(trade, "create_job", buyer, listing, units=3, max_price=3 * PRICE - 1)
    assert (error["code"], error["details"]["price"]) == ("price_above_max", 3 * PRICE)
    assert (await trade.order(buyer, listing, units=3, max_price=3 * PRICE))["price"] == 3 * PRICE


async def test_a_price_raised_after_it_was_read_is_not_ordered(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    await trade.market.call("update_listing", by=seller, listing_id=listing["id"], price=PRICE + 1)
    error = await refused(trade, "create_job", buyer, listing, max_price=PRICE)
    assert error["code"] == "price_above_max"


async def test_a_refusal_for_another_reason_names_the_price_too(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    error = await refused(trade, "create_job", buyer, await trade.listing(seller), input={"text": 5}, max_price=1)
    assert [one["code"] for one in error["details"]["failing"]] == ["input_schema_mismatch", "price_above_max"]


@covers("clients.max_price.quote")
async def test_a_quote_above_the_most_is_not_accepted_and_a_lower_one_is(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.order(buyer, await trade.listing(seller, **QUOTED), max_price=100)
    await trade.market.call("quote_job", by=seller, job_id=job["id"], price=101)
    seen = await trade.seen(buyer, job)
    assert "accept_quote" not in [one["tool"] for one in seen["next_steps"]]
    for price in (None, 101):
        error = await trade.market.refusal("accept_quote", by=buyer, job_id=job["id"], price=price)
        assert (error["code"], error["details"]["price"], error["details"]["max_price"]) == (
            "price_above_max",
            101,
            100,
        )
    assert (await trade.seen(buyer, job))["status"] == "quoted"
    await trade.market.call("quote_job", by=seller, job_id=job["id"], price=100)
    assert "accept_quote" in [one["tool"] for one in (await trade.seen(buyer, job))["next_steps"]]
    agreed = await trade.market.call("accept_quote", by=buyer, job_id=job["id"])
    assert (agreed["status"], agreed["price"]) == ("in_progress", 100)
    repeated = await trade.market.call("accept_quote", by=buyer, job_id=job["id"])
    assert repeated["status"] == "in_progress"


@covers("clients.max_price.private")
async def test_nothing_tells_the_seller_the_most(trade: Trade) -> None:
    """The seller sees the same, whether its quote is above or below."""
    seller, buyer = await trade.parties()
    await trade.known(buyer)
    listing = await trade.listing(seller, **QUOTED)
    shown = []
    for most in (99, 101, None):
        job = await trade.order(buyer, listing, max_price=most)
        await trade.market.call("quote_job", by=seller, job_id=job["id"], price=100)
        await trade.market.answer("accept_quote", {"job_id": job["id"], "price": 99}, key=buyer.keys["test"])
        seen = await trade.seen(seller, job)
        assert (seen["max_price"], seen["max_price_display"]) == (None, None)
        shown.append(
            (seen["available_actions"], seen["waiting_on"]["who"], [one["tool"] for one in seen["next_steps"]])
        )
    assert shown[0] == shown[1] == shown[2]
    events = await trade.market.call("list_events", by=seller, limit=100)
    assert b"max_price" not in orjson.dumps(events)


@pytest.mark.parametrize("wrong", [-1, 10**12 + 1, 1.5, "5"])
async def test_the_most_is_an_amount(trade: Trade, wrong: Any) -> None:
    seller, buyer = await trade.parties()
    error = await refused(trade, "hire", buyer, await trade.listing(seller), max_price=wrong)
    assert (error["code"], error["param"]) == ("invalid_request", "max_price")


async def test_a_free_order_passes_any_most(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.order(buyer, await trade.listing(seller, price=0), max_price=0)
    assert (job["status"], job["price"], job["max_price"]) == ("open", 0, 0)
