"""Prices of listings and orders: the fields of each pricing model, and units counted from an input."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Fault = tuple[str, str]  # field, what is wrong


class UnitCount(BaseModel):
    """`per` characters of a text, or items of a list, are one unit."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    field: str = Field(min_length=1, max_length=64)
    measure: Literal["characters", "items"]
    per: int = Field(ge=1, le=1_000_000)


def pricing_faults(model: str, price: int | None, unit_name: str | None) -> list[Fault]:
    """Return what contradicts the pricing model.

    fixed and per_unit need a price, and quote has none. Only per_unit has the name of a unit, and needs one.
    """
    faults: list[Fault] = []
    if model == "quote" and price is not None:
        faults.append(("price", "a quote listing has no price: you quote each job"))
    if model != "quote" and price is None:
        faults.append(("price", "required"))
    if model == "per_unit" and unit_name is None:
        faults.append(("unit_name", "required for per_unit: what one unit is"))
    if model != "per_unit" and unit_name is not None:
        faults.append(("unit_name", "only a per_unit listing has one"))
    return faults


def units_of(rules: Sequence[UnitCount], arguments: Mapping[str, Any]) -> int | None:
    """Count the units of an input: the sum of ceil(size / per) over its fields, at least 1.

    None if the input has none of the fields of the rules.
    """
    counts = [_count(rule, arguments[rule.field]) for rule in rules if rule.field in arguments]
    found = [count for count in counts if count is not None]
    return max(1, sum(found)) if found else None


def _count(rule: UnitCount, value: Any) -> int | None:
    wanted = str if rule.measure == "characters" else list
    return -(-len(value) // rule.per) if isinstance(value, wanted) else None
