"""Every amount argument refuses USDC decimals, and the error names the amount in minor units."""

import re
from typing import Any

import httpx
import pytest

from tests.requirements import covers
from tests.support.market import TestMarket
from tests.support.protocols import served
from tools.catalogue import CATALOGUE
from tools.kernel.amount_hints import PRICES, UNIT, in_minor_units

TAKEN = [(op.name, name) for op in CATALOGUE.values() for name in op.input.model_fields if name in PRICES]


def test_every_amount_that_an_operation_takes_is_known() -> None:
    like = re.compile("price|budget|amount|cost|fee")
    named = {(op.name, name) for op in CATALOGUE.values() for name in op.input.model_fields if like.search(name)}
    assert {*TAKEN} == {(op, name) for op, name in named if name != "pricing_model"}
    assert {name for _, name in TAKEN} == PRICES


@covers("second.amounts")
@pytest.mark.parametrize(("operation", "name"), TAKEN)
@pytest.mark.parametrize("given", [0.05, "0.05 USDC", "0.05", "$0.05"])
async def test_an_amount_in_usdc_is_told_in_minor_units(
    market: TestMarket, operation: str, name: str, given: Any
) -> None:
    ada = await market.register()
    refused = await market.answer(operation, {name: given}, key=ada.keys["test"])
    assert refused.refusal is not None
    said = {one["param"]: one["message"] for one in refused.refusal.details["violations"]}
    assert said[name] == "must be a whole number of minor units: 0.05 USDC is 50000"


async def test_an_amount_in_a_query_is_told_so_too(market: TestMarket) -> None:
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        answer = await http.get("/v1/listings", params={"max_price": "0.05"})
        assert (answer.status_code, "0.05 USDC is 50000" in answer.json()["error"]["message"]) == (400, True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (0.05, "0.05 USDC is 50000"),
        (0.1, "0.1 USDC is 100000"),
        (0.000001, "0.000001 USDC is 1"),
        (1.1, "1.1 USDC is 1100000"),
        (1e-7, "0.0000001 USDC is no whole number of them: the least is 0.000001 USDC, which is 1"),
        ("5 USDC", "5 USDC is 5000000"),
        ("5usd", "5 USDC is 5000000"),
        (" $12.50 ", "12.5 USDC is 12500000"),
        ("1000000.5 USDC", "1000000.5 USDC is more than the most, 1000000000000"),
        ("1000000 USDC", "1000000 USDC is 1000000000000"),
        (5.0, UNIT),
        ("50000", UNIT),
        (1e300, UNIT),
        (-0.05, UNIT),
        ("-0.05 USDC", UNIT),
        ("five", UNIT),
        ("٠.٠٥ USDC", UNIT),
        ("9" * 13 + ".5", "9999999999999.5 USDC is more than the most, 1000000000000"),
        ("9" * 10_000 + ".5", UNIT),
        ("0." + "0" * 100_000 + "5", UNIT),
        (" " * 100_000 + "0.05", UNIT),
        (True, UNIT),
        (None, UNIT),
        ([0.05], UNIT),
    ],
)
def test_what_an_amount_is_in_minor_units_is_exact(given: object, said: str) -> None:
    assert in_minor_units(given) == said
