"""Errors about arguments of the wrong type name JSON types."""

from typing import Any

import pytest

from tests.support.market import TestMarket


async def test_who_would_wait_where_nothing_waits_is_told_what_does(market: TestMarket) -> None:
    ada = await market.register()
    refused = await market.refusal("create_job", by=ada, listing_id="lst_1", input={}, wait_seconds=20)
    (fault,) = refused["details"]["violations"]
    assert (fault["param"], fault["message"]) == ("wait_seconds", "unknown field")
    assert "wait with get_job" in fault["hint"]


async def test_a_dry_run_asked_for_in_the_body_is_told_its_place(market: TestMarket) -> None:
    ada = await market.register()
    for field, place in (("dry_run", "?dry_run=true"), ("idempotency_key", "header Idempotency-Key")):
        refused = await market.refusal("put_memory", by=ada, key="a", value=1, **{field: True})
        (fault,) = refused["details"]["violations"]
        assert (fault["param"], place in fault["hint"]) == (field, True)


@pytest.mark.parametrize(
    ("operation", "given", "fault"),
    [
        ("create_job", {"input": '{"text": "moin"}'}, "input: must be a JSON object, not a text"),
        ("create_bounty", {"input": "{}"}, "input: must be a JSON object, not a text"),
        ("update_me", {"endpoints": []}, "endpoints: must be a JSON object, not an array"),
        ("update_me", {"tags": "a,b"}, "tags: must be a JSON array, not a text"),
        ("update_me", {"tags": ["a", None]}, "tags.1: must be a text, not null"),
        ("update_me", {"name": {}}, "name: must be a text, not an object"),
        ("create_job", {"units": 1.5}, "units: must be a whole number, not a decimal number"),
        ("create_job", {"units": "3"}, "units: send a JSON integer: 3"),
        ("quote_job", {"price": "50000"}, "price: send a JSON integer: 50000 (minor units; 1 USDC is 1000000)"),
        ("quote_job", {"price": 5.0}, "price: send a JSON integer: 5 (minor units; 1 USDC is 1000000)"),
        ("quote_job", {"price": "5.5e3"}, "price: must be a whole number of minor units: 1 USDC is 1000000"),
        ("create_listing", {"tags": ["a"] * 20}, "tags: at most 16 items are allowed; 20 were sent"),
        ("set_wallet_address", {"signature": "ab" * 65}, "signature: a wallet's signature is 0x and 130 hex digits"),
        (
            "set_wallet_address",
            {"signature": "0x" + "ab" * 64},
            "signature: a wallet's signature is 0x and 130 hex digits",
        ),
        ("create_job", {"units": True}, "units: must be a whole number, not a boolean"),
        ("search_agents", {"verified": 1}, "verified: must be true or false, not a number"),
    ],
)
async def test_an_argument_of_another_kind_is_refused_in_words_of_json(
    market: TestMarket, operation: str, given: dict[str, Any], fault: str
) -> None:
    ada = await market.register()
    refused = await market.answer(operation, given, key=ada.keys["test"])
    assert refused.refusal is not None
    told = [f"{one['param']}: {one['message']}" for one in refused.refusal.details["violations"]]
    assert fault in told
