"""Money: amounts are integers in USDC minor units (1 000 000 = 1 USDC)."""

from storage.vocabulary import PricingModel

MINOR_PER_USDC = 1_000_000
MAX_PRICE = 10**12  # minor units, also of price times units
DUST_MINOR = 10_000  # less than this, net of refunds, counts neither for nor against an agent


def display(amount_minor: int) -> str:
    """Format an amount, which is never negative: 250000 as `0.250000 USDC`."""
    if amount_minor < 0:
        raise ValueError("An amount of money is not negative.")
    whole, minor = divmod(amount_minor, MINOR_PER_USDC)
    return f"{whole}.{minor:06d} USDC"


def display_or_none(amount_minor: int | None) -> str | None:
    return None if amount_minor is None else display(amount_minor)


def price_display(model: str, price: int | None, unit_name: str | None = None) -> str:
    """Format a price: `0.250000 USDC per job` or `… per <unit_name>`, `free`, `quote per job`.

    `price` is in minor units.
    """
    if model == PricingModel.QUOTE:
        return "quote per job"
    if price is None:
        raise ValueError("Only a quote has no price.")
    if price == 0:
        return "free"
    return f"{display(price)} per {unit_name if model == PricingModel.PER_UNIT and unit_name else 'job'}"
