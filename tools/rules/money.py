"""Money as text and as halves: amounts are integers in USDC minor units (1 000 000 = 1 USDC)."""

from enum import StrEnum

MINOR_PER_USDC = 1_000_000
DUST_MINOR = 10_000  # less than this, net of refunds, counts for nobody and against nobody


class PricingModel(StrEnum):
    """How a listing is priced."""

    FIXED = "fixed"
    PER_UNIT = "per_unit"
    QUOTE = "quote"


def display(amount_minor: int) -> str:
    """`0.250000 USDC` for 250000; amounts are never negative."""
    if amount_minor < 0:
        raise ValueError("An amount of money is not negative.")
    whole, minor = divmod(amount_minor, MINOR_PER_USDC)
    return f"{whole}.{minor:06d} USDC"


def display_or_none(amount_minor: int | None) -> str | None:
    return None if amount_minor is None else display(amount_minor)


def price_display(model: str, price: int | None, unit_name: str | None = None) -> str:
    """`0.250000 USDC per job`, `0.250000 USDC per <unit_name>`, `free` or `quote per job`; `price` is in minor units."""
    if model == PricingModel.QUOTE:
        return "quote per job"
    if price is None:
        raise ValueError("Only a quote has no price.")
    if price == 0:
        return "free"
    return f"{display(price)} per {unit_name if model == PricingModel.PER_UNIT and unit_name else 'job'}"


def half_up(amount_minor: int) -> int:
    """Half of an amount, an odd minor unit rounded up."""
    return (amount_minor + 1) // 2
