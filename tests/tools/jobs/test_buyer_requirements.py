"""hire, create_job, create_listing and pay_job report all obstacles at once, each with its remedy."""

from typing import Any

import pytest

from tests.support.refusals import EVIL, limited, live_agent
from tests.support.trade import OFFER, Trade
from tools.engine.errors import InvalidRequest, NotFound
from tools.jobs.errors import JobLimit
from tools.kernel.errors import ErrorCollector


def failing(error: Any) -> list[str]:
    told = error["details"]["failing"]
    assert (told[0]["code"], told[0]["message"]) == (error["code"], error["message"])
    assert all(one["message"] and one["hint"] for one in told if one["code"] != "invalid_request"), told
    return [f"{one['code']} {one.get('param', '')}".strip() for one in told]


@pytest.mark.parametrize("operation", ["create_job", "hire"])
async def test_an_order_hears_of_its_input_the_listing_and_the_places_at_once(trade: Trade, operation: str) -> None:
    seller, buyer = await limited(trade, unfinished_jobs=1).parties()
    await trade.order(buyer, await trade.listing(seller))
    listing = await trade.listing(seller)
    await trade.market.call("update_listing", by=seller, listing_id=listing["id"], status="paused")
    order = {"listing_id": listing["id"], "units": 2, "title": buyer.keys["test"], "input": {"text": 5}}
    error = await trade.market.refusal(operation, by=buyer, **order)
    assert failing(error) == [
        "content_rejected title",
        "input_schema_mismatch input",
        "listing_unavailable",
        "invalid_request units",
        "job_limit",
    ]
    assert len((await trade.market.call("list_jobs", by=buyer))["data"]) == 1


async def test_a_new_listing_hears_of_its_words_its_schemas_its_price_and_its_seller_at_once(trade: Trade) -> None:
    seller = await limited(trade, active_listings=0).market.register("Sela")
    wrong = OFFER | {
        "description": EVIL,
        "price": None,
        "payment": "upfront",
        "input_schema": {"type": "array"},
        "example_output": {"english": 5},
    }
    error = await trade.market.refusal("create_listing", by=seller, on="live", **wrong)
    found = failing(error)
    assert {"wallet_address_required", "upfront_requires_trust payment", "listing_limit"} <= {*found}
    assert (
        sum(one.startswith("invalid_request") for one in found) == 3
    )  # price, input_schema, example_output, acceptance
    assert "content_rejected description" in found


async def test_a_payment_hears_of_the_hash_the_job_and_the_wallet_at_once(trade: Trade) -> None:
    seller, buyer = await trade.agent("Sela"), await trade.market.register("Bo")
    job = await trade.order(buyer, await trade.listing(seller))
    error = await trade.market.refusal("pay_job", by=buyer, job_id=job["id"], transaction="0x12")
    assert failing(error) == ["invalid_request transaction", "job_not_payable", "wallet_address_required"]


async def test_where_no_chain_is_the_terms_hear_that_it_is_too_early_as_well(trade: Trade) -> None:
    seller, buyer = await live_agent(trade, "Sela"), await live_agent(trade, "Bo")
    listing = await trade.market.call("create_listing", by=seller, on="live", **OFFER)
    order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
    job = await trade.market.call("create_job", by=buyer, on="live", **order)
    error = await trade.market.refusal("pay_job", by=buyer, on="live", job_id=job["id"])
    assert failing(error) == ["invalid_transition", "chain_unavailable"]


async def test_one_fault_alone_is_told_as_ever(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    mine = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
    for by, given in ((buyer, mine | {"input": {"text": 5}}), (seller, mine), (buyer, mine | {"listing_id": "lst_1"})):
        error = await trade.market.refusal("create_job", by=by, **given)
        assert "failing" not in error.get("details", {}), error


async def test_of_what_is_not_ones_own_nothing_more_is_told(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.order(buyer, await trade.listing(seller))
    stranger = await trade.market.register("Eve")
    error = await trade.market.refusal("pay_job", by=stranger, job_id=job["id"], transaction="0x12")
    assert (error["code"], error.get("details")) == ("not_found", None)
    told = await trade.market.refusal("pay_job", by=seller, job_id=job["id"], transaction="0x12")
    assert "wallet" not in str(told)


def test_faults_are_raised_together_the_first_in_front() -> None:
    faults = ErrorCollector()
    faults.raise_all()
    for kind in (InvalidRequest, JobLimit, NotFound):
        with faults.catch():
            raise kind(kind.code)
    with pytest.raises(InvalidRequest) as raised:
        faults.raise_all()
    record = raised.value.record("req_1", "docs")
    assert [one["code"] for one in record["details"]["failing"]] == ["invalid_request", "job_limit", "not_found"]
