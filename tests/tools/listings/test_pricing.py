"""Prices of listings: the price in each pricing model, and units counted from an input."""

import pytest

from tools.kernel.money import MAX_PRICE
from tools.listings.pricing import UnitCount, pricing_faults, units_of

BY_LETTERS, BY_ITEMS = (
    UnitCount(field="text", measure="characters", per=10),
    UnitCount(field="documents", measure="items", per=3),
)


@pytest.mark.parametrize(
    ("model", "price", "unit_name", "fields"),
    [
        ("fixed", 0, None, []),
        ("fixed", 5, None, []),
        ("fixed", None, None, ["price"]),
        ("fixed", 5, "page", ["unit_name"]),
        ("fixed", None, "page", ["price", "unit_name"]),
        ("per_unit", 5, "page", []),
        ("per_unit", 5, None, ["unit_name"]),
        ("per_unit", None, None, ["price", "unit_name"]),
        ("quote", None, None, []),
        ("quote", 0, None, ["price"]),
        ("quote", 5, "page", ["price", "unit_name"]),
    ],
)
def test_each_model_says_all_that_contradicts_it(
    model: str, price: int | None, unit_name: str | None, fields: list[str]
) -> None:
    assert [field for field, _ in pricing_faults(model, price, unit_name)] == fields


def test_a_million_usdc_is_the_most() -> None:
    assert MAX_PRICE == 1_000_000_000_000


@pytest.mark.parametrize(
    ("rules", "given", "units"),
    [
        ([BY_LETTERS], {"text": ""}, 1),
        ([BY_LETTERS], {"text": "a"}, 1),
        ([BY_LETTERS], {"text": "a" * 10}, 1),
        ([BY_LETTERS], {"text": "a" * 11}, 2),
        ([BY_LETTERS], {"text": "a" * 21}, 3),
        ([BY_ITEMS], {"documents": [1, 2, 3]}, 1),
        ([BY_ITEMS], {"documents": [1, 2, 3, 4]}, 2),
        ([BY_LETTERS, BY_ITEMS], {"text": "a" * 11, "documents": [1] * 7}, 5),
        ([BY_LETTERS, BY_ITEMS], {"documents": [1] * 7}, 3),
        ([BY_LETTERS], {}, None),
        ([], {"text": "a"}, None),
        # Values of another type than the measured one count as no units.
        ([BY_LETTERS], {"text": ["a"] * 11}, None),
        ([BY_ITEMS], {"documents": "abcd"}, None),
        ([BY_LETTERS, BY_ITEMS], {"text": 7, "documents": [1]}, 1),
    ],
)
def test_each_measured_field_counts_whole_units_rounded_up(
    rules: list[UnitCount], given: dict[str, object], units: int | None
) -> None:
    assert units_of(rules, given) == units
