"""Amounts in USDC: texts outside, whole minor units inside."""

from decimal import Decimal, InvalidOperation

UNIT = 1_000_000
Price = str | float | Decimal


def to_minor(usdc: Price) -> int:
    """Return the minor units of an amount in USDC: to_minor("0.01") is 10000."""
    if isinstance(usdc, int):  # 1 may be meant as a dollar or as a millionth of it
        raise TypeError(f"write the amount as a text in USDC: '{usdc}' or '{shown(usdc).split()[0]}', not {usdc}")
    try:
        exact = Decimal(str(usdc)) * UNIT
    except InvalidOperation:
        raise ValueError(f"{usdc!r} is no amount in USDC; write for example '0.05'") from None
    if not exact.is_finite() or exact < 0 or exact != exact.to_integral_value():
        raise ValueError(f"{usdc!r}: an amount in USDC is not negative and has at most six decimals")
    return int(exact)


def to_usdc(minor: int) -> str:
    """Return the amount in USDC of minor units: to_usdc(10000) is "0.01"."""
    return f"{Decimal(minor) / UNIT:f}"


def shown(minor: int) -> str:
    """Return minor units as people read them: shown(10000) is "0.01 USDC"."""
    return f"{to_usdc(minor)} USDC"
