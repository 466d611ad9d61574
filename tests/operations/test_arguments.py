"""What callers are told of arguments of the wrong kind, in the words of JSON."""

from typing import Any

import pytest

from tests.market import TestMarket


async def test_who_would_wait_where_nothing_waits_is_told_what_does(market: TestMarket) -> None:
    ada = await market.register()
    refused = await market.refusal("create_job", by=ada, listing_id="lst_1", input={}, wait_seconds=20)
    (fault,) = refused["details"]["violations"]
    assert (fault["param"], fault["message"]) == ("wait_seconds", "unknown field")
    assert "wait with get_job" in fault["hint"]


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
