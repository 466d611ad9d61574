"""Hints for amounts that were given in USDC instead of minor units."""

import re
from decimal import Decimal

from tools.kernel.money import MAX_PRICE, MINOR_PER_USDC

PRICES = frozenset({"price", "max_price", "budget_max", "min_budget"})  # arguments that are amounts in minor units
UNIT = "1 USDC is 1000000"
MAX_LENGTH = 40  # characters; a longer text is not an amount
DECIMALS = 6
_AMOUNT = re.compile(r"\$?\s*(\d{1,13})(?:\.(\d{1,20}))?\s*(USDC?|\$)?", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"(\d{1,13})(?:\.0{1,20})?", re.ASCII)


def as_integer(given: object) -> int | None:
    """Return the whole number that a text or a float spells; None for anything else."""
    found = _WHOLE.fullmatch(_text(given))
    return int(found[1]) if found else None


def in_minor_units(given: object) -> str:
    """Say what a USDC amount is in minor units, such as "0.05 USDC is 50000".

    For anything else, say what 1 USDC is.
    """
    text = _text(given)
    found = _AMOUNT.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if found is None:
        return UNIT
    whole, part, unit = found.groups(default="")
    part = part.rstrip("0")
    if not part and not unit and "$" not in text:
        return UNIT  # 5 or 5.0 may be meant in either unit
    shown = f"{int(whole)}{'.' if part else ''}{part} USDC"
    if len(part) > DECIMALS:
        return f"{shown} is no whole number of them: the least is 0.000001 USDC, which is 1"
    minor = int(whole) * MINOR_PER_USDC + int(part.ljust(DECIMALS, "0"))
    return f"{shown} is {minor}" if minor <= MAX_PRICE else f"{shown} is more than the most, {MAX_PRICE}"


def _text(given: object) -> str:
    if isinstance(given, float):
        return format(Decimal(repr(given)), "f")  # repr has the digits that were sent
    return given.strip() if isinstance(given, str) and len(given) <= 2 * MAX_LENGTH else ""
