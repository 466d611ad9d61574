"""The desk's listings match the contract's table, and units are counted from the input."""

from typing import Any

import pytest

from emporion_client import Decline
from server.desk.catalogue import SERVICES
from server.desk.service import Kit, Order
from tests.requirements import covers
from tests.support.http_receiver import Receiver, hang_up
from tools.kernel.json_schema import Validator, validate_schema
from tools.listings.pricing import UnitCount, units_of

TABLE = {
    "validate-json": ("fixed", 10_000, {"schema", "data", "documents"}),
    "extract-web": ("fixed", 10_000, {"url", "max_chars"}),
    "classify": ("per_unit", 20_000, {"labels", "text", "items", "multi_label", "instructions"}),
    "translate": (
        "per_unit",
        20_000,
        {"text", "target_language", "source_language", "tone", "format", "glossary"},
    ),
    "extract-structured": ("per_unit", 30_000, {"text", "schema", "instructions"}),
    "summarize": ("per_unit", 40_000, {"text", "url", "max_words", "style", "focus", "language"}),
}
LONG, ITEM = "x" * 4000, ["x"]


@covers(
    "service.operator.schema_validation",
    "service.operator.extraction",
    "service.operator.classification",
    "service.operator.translation",
    "service.operator.structured_extraction",
    "service.operator.summarization",
    "service.operator.on_delivery",
)
def test_the_listings_are_those_of_the_contract() -> None:
    offers = {name: one.offer for name, one in SERVICES.items()}
    assert {
        name: (one["pricing_model"], one["price"], set(one["input_schema"]["properties"]))
        for name, one in offers.items()
    } == TABLE
    assert {one["payment"] for one in offers.values()} == {"on_delivery"}
    assert all(name in one["tags"] for name, one in offers.items())
    assert [name for name, one in SERVICES.items() if one.needs_model] == list(TABLE)[2:]


@pytest.mark.parametrize("name", TABLE)
def test_an_offer_is_one_the_market_takes(name: str) -> None:
    offer = SERVICES[name].offer
    for side in ("input", "output"):
        validate_schema(offer[f"{side}_schema"])
        assert Validator(offer[f"{side}_schema"]).violations(offer[f"example_{side}"]) == []


@pytest.mark.parametrize(
    ("name", "given", "good"),
    [
        ("validate-json", {"schema": {}, "data": None}, True),
        ("validate-json", {"schema": {}, "documents": [1] * 100}, True),
        ("validate-json", {"schema": {}, "documents": [1] * 101}, False),
        ("validate-json", {"schema": {}}, False),
        ("validate-json", {"schema": {}, "data": 1, "documents": [1]}, False),
        ("validate-json", {"schema": True, "data": 1}, False),
        ("extract-web", {"url": "https://a.example", "max_chars": 100}, True),
        ("extract-web", {"url": "https://a.example", "max_chars": 200_000}, True),
        ("extract-web", {"url": "https://a.example", "max_chars": 99}, False),
        ("extract-web", {"url": "https://a.example", "max_chars": 200_001}, False),
        ("extract-web", {"url": "ftp://a.example"}, False),
        ("classify", {"labels": ["a", "b"], "items": [LONG] * 100}, True),
        ("classify", {"labels": ["a", "b"], "items": ITEM * 101}, False),
        ("classify", {"labels": ["a", "b"], "text": LONG + "x"}, False),
        ("classify", {"labels": ["a"], "text": "x"}, False),
        ("classify", {"labels": ["a"] * 51, "text": "x"}, False),
        ("classify", {"labels": ["a", "b"], "text": "x", "items": ITEM}, False),
        ("classify", {"labels": ["a", "b"], "text": "x", "instructions": "x" * 1001}, False),
        ("translate", {"text": "x" * 50_000, "target_language": "de"}, True),
        ("translate", {"text": "x" * 50_001, "target_language": "de"}, False),
        ("translate", {"text": " ", "target_language": "de"}, False),
        ("translate", {"text": "x"}, False),
        ("translate", {"text": "x", "target_language": "de", "tone": "rude"}, False),
        ("translate", {"text": "x", "target_language": "de", "format": "markdown", "tone": "formal"}, True),
        ("translate", {"text": "x", "target_language": "de", "glossary": {str(n): "x" for n in range(51)}}, False),
        ("extract-structured", {"text": "x" * 50_000, "schema": {}}, True),
        ("extract-structured", {"text": "x" * 50_001, "schema": {}}, False),
        ("extract-structured", {"text": "x"}, False),
        ("summarize", {"text": "x" * 100_000, "max_words": 600, "style": "bullets"}, True),
        ("summarize", {"text": "x" * 100_001}, False),
        ("summarize", {"url": "https://a.example", "max_words": 20, "focus": "x" * 300}, True),
        ("summarize", {"text": "x", "max_words": 19}, False),
        ("summarize", {"text": "x", "max_words": 601}, False),
        ("summarize", {"text": "x", "focus": "x" * 301}, False),
        ("summarize", {"text": "x", "url": "https://a.example"}, False),
        ("summarize", {}, False),
    ],
)
def test_an_input_keeps_the_contracts_bounds(name: str, given: Any, good: bool) -> None:
    assert Validator(SERVICES[name].offer["input_schema"]).is_valid(given) is good


@covers("service.operator.units")
@pytest.mark.parametrize(
    ("name", "given", "units"),
    [
        ("classify", {"labels": ["a", "b"], "items": ITEM * 10}, 1),
        ("classify", {"labels": ["a", "b"], "items": ITEM * 11}, 2),
        ("classify", {"labels": ["a", "b"], "items": ITEM * 100}, 10),
        ("classify", {"labels": ["a", "b"], "text": LONG}, 1),
        ("translate", {"text": "x" * 1000, "target_language": "de"}, 1),
        ("translate", {"text": "ü" * 1001, "target_language": "de"}, 2),
        ("translate", {"text": "x" * 50_000, "target_language": "de"}, 50),
        ("extract-structured", {"text": "x" * 10_000, "schema": {"type": "object"}}, 1),
        ("extract-structured", {"text": "x" * 10_001, "schema": {"type": "object"}}, 2),
        ("summarize", {"text": "x" * 10_000}, 1),
        ("summarize", {"text": "x" * 100_000}, 10),
    ],
)
async def test_units_are_the_size_by_the_unit_rounded_up_for_the_market_and_for_the_desk(
    kit: Kit, endpoint: Receiver, name: str, given: Any, units: int
) -> None:
    basis = SERVICES[name].offer["unit_basis"]
    rules = [UnitCount(**one) for one in basis["rules"]]
    assert units_of(rules, given) == units <= basis["max"]
    endpoint.always = hang_up
    with pytest.raises(Decline, match="cannot be reached"):  # the units are right, so the model is asked
        await SERVICES[name].work(kit, Order(given, units))
    for other in (units - 1, units + 1):
        with pytest.raises(Decline, match=f"units: {units}, "):
            await SERVICES[name].work(kit, Order(given, other))


async def test_what_the_schema_cannot_say_is_declined(kit: Kit) -> None:
    work = SERVICES["classify"].work
    with pytest.raises(Decline, match="120000 characters together"):
        await work(kit, Order({"labels": ["a", "b"], "items": [LONG] * 31}, 4))
    with pytest.raises(Decline, match="same name"):
        await work(kit, Order({"labels": ["a", {"name": "a"}], "text": "x"}))
