"""Clauses of the contract about prices: per unit, by quote, and units counted from the input."""

from typing import Any

import pytest

from storage.tables import AgentRow, ListingRow
from storage.transaction import Tx
from tests.requirements import covers
from tests.support.trade import OFFER, Trade
from tools.listings.pricing import UnitCount, pricing_faults, units_of

PER_WORD = {"pricing_model": "per_unit", "price": 200, "unit_name": "word"}
QUOTE = {"pricing_model": "quote", "price": None}
BASIS = {"rules": [{"field": "text", "measure": "characters", "per": 10}], "max": 3}


async def operator(trade: Trade, agent: Any) -> None:
    """Label an agent as first-party, as the operator does."""

    def label(tx: Tx) -> None:
        row = tx.get(AgentRow, agent.id)
        assert row is not None
        tx.change(row, first_party=True)

    await trade.market.store.write(label)


@covers("pricing_model.per_unit", "listing.create.unit_name")
@covers("route.jobs.create.units")
async def test_a_per_unit_order_costs_its_units(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, **PER_WORD)
    assert listing["pricing"]["display"] == "0.000200 USDC per word"
    assert listing["how_to_order"]["body_example"]["units"] == 1
    job = await trade.order(buyer, listing, units=700)
    assert (job["units"], job["price"]) == (700, 140_000)
    fixed = await trade.listing(seller)
    error = await trade.market.refusal("create_job", by=buyer, listing_id=fixed["id"], input={"text": "x"}, units=2)
    assert (error["code"], error["param"]) == ("invalid_request", "units")


async def test_price_times_units_is_bounded(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, **PER_WORD | {"price": 10**12})
    order = {"listing_id": listing["id"], "input": {"text": "x"}}
    assert (await trade.market.call("create_job", by=buyer, **order))["price"] == 10**12
    error = await trade.market.refusal("create_job", by=buyer, **order, units=2)
    assert (error["code"], error["param"]) == ("invalid_request", "units")


@pytest.mark.parametrize(
    ("offer", "params"),
    [
        (QUOTE | {"price": 5, "unit_name": "word"}, ["price", "unit_name"]),
        ({"pricing_model": "per_unit", "price": None}, ["price", "unit_name"]),
        ({"pricing_model": "fixed", "price": None, "unit_name": "word"}, ["price", "unit_name"]),
        ({"unit_basis": BASIS, "unit_basis_note": "Ten characters."}, ["unit_basis", "unit_basis_note"]),
        ({"pricing_model": "auction"}, ["pricing_model"]),
    ],
)
async def test_all_that_contradicts_a_pricing_model_is_said_at_once(trade: Trade, offer: Any, params: Any) -> None:
    seller = await trade.agent("Sela")
    error = await trade.market.refusal("create_listing", by=seller, **OFFER | offer)
    assert [one["param"] for one in error["details"]["violations"]] == params


@covers("listing.pricing.price.quote", "listing.search.max_price.quote")
async def test_a_quote_listing_has_no_price_and_passes_every_highest_price(trade: Trade) -> None:
    seller = await trade.agent("Sela")
    quote, dear = await trade.listing(seller, **QUOTE), await trade.listing(seller, price=9_000_000)
    assert (quote["pricing"]["price"], quote["pricing"]["display"]) == (None, "quote per job")
    found = await trade.market.call("search_listings", env="test", max_price=1)
    assert [one["id"] for one in found["data"]] == [quote["id"]]
    found = await trade.market.call("search_listings", env="test", pricing_model="quote")
    assert [one["id"] for one in found["data"]] == [quote["id"]]
    assert dear["pricing"]["price"] == 9_000_000


async def test_a_listing_changes_its_pricing_model_and_jobs_keep_theirs(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, **PER_WORD)
    job = await trade.order(buyer, listing, units=5)
    ref = {"listing_id": listing["id"]}
    quote = await trade.market.call("update_listing", by=seller, **ref, pricing_model="quote")
    assert (quote["pricing"]["model"], quote["pricing"]["price"], quote["pricing"]["unit_name"]) == (
        "quote",
        None,
        None,
    )
    assert (await trade.seen(buyer, job))["price"] == 1_000
    error = await trade.market.refusal("update_listing", by=seller, **ref, pricing_model="fixed")
    assert error["param"] == "price"
    fixed = await trade.market.call("update_listing", by=seller, **ref, pricing_model="fixed", price=7)
    assert fixed["pricing"]["price"] == 7
    error = await trade.market.refusal("update_listing", by=seller, **ref, unit_name="page")
    assert error["param"] == "unit_name"


@covers("listing.pricing.unit_basis", "listing.pricing.unit_basis_note")
async def test_units_of_an_operators_listing_are_counted_from_the_input(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.known(buyer)
    offer = PER_WORD | {"unit_basis": BASIS, "unit_basis_note": "Ten characters are one unit."}
    error = await trade.market.refusal("create_listing", by=seller, **OFFER | offer)
    assert (error["code"], error["param"]) == ("invalid_request", "unit_basis")
    await operator(trade, seller)
    listing = await trade.listing(seller, **offer)
    assert (listing["pricing"]["unit_basis"], listing["pricing"]["unit_basis_note"]) == (
        BASIS, "Ten characters are one unit.",
    )  # fmt: skip
    order = {"listing_id": listing["id"], "input": {"text": "eleven char"}}
    assert (await trade.market.call("create_job", by=buyer, **order))["units"] == 2
    assert (await trade.market.call("create_job", by=buyer, **order, units=2))["price"] == 400
    error = await trade.market.refusal("create_job", by=buyer, **order, units=1)
    assert (error["param"], error["details"]["expected"]) == ("units", 2)
    long = {"listing_id": listing["id"], "input": {"text": "x" * 31}}
    assert (await trade.market.refusal("create_job", by=buyer, **long))["param"] == "units"
    cleared = await trade.market.call(
        "update_listing", by=seller, listing_id=listing["id"], unit_basis=None, unit_basis_note=None
    )
    assert cleared["pricing"]["unit_basis"] is None


async def test_a_seller_keeps_so_many_listings(trade: Trade) -> None:
    from tests.support.refusals import limited

    seller = await trade.agent("Sela")
    limited(trade, kept_listings=2)
    for _ in range(2):
        listing = await trade.listing(seller)
        await trade.market.call("update_listing", by=seller, listing_id=listing["id"], status="paused")
    error = await trade.market.refusal("create_listing", by=seller, **OFFER)
    assert (error["code"], error["details"]["limit"]) == ("listing_limit", 2)
    await trade.market.call("archive_listing", by=seller, listing_id=listing["id"])
    await trade.listing(seller)


@pytest.mark.parametrize(
    ("given", "units"),
    [
        ({}, None),
        ({"text": 5, "items": "no list"}, None),
        ({"text": ""}, 1),
        ({"text": "x" * 1000}, 1),
        ({"text": "x" * 1001}, 2),
        ({"items": [1] * 11}, 2),
        ({"text": "x" * 1001, "items": [1] * 11}, 4),
    ],
)
def test_units_are_counted_up(given: Any, units: int | None) -> None:
    rules = [UnitCount(field="text", measure="characters", per=1000), UnitCount(field="items", measure="items", per=10)]
    assert units_of(rules, given) == units


def test_a_model_and_its_price_agree() -> None:
    assert pricing_faults("fixed", 0, None) == pricing_faults("quote", None, None) == []
    assert pricing_faults("per_unit", 5, "word") == []
    assert [name for name, _ in pricing_faults("per_unit", None, None)] == ["price", "unit_name"]
    assert ListingRow.__table__.c.price.nullable
