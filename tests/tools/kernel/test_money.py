"""Amounts of money as words, and amounts split in half."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.kernel.money import DUST_MINOR, display, display_or_none, half_up, price_display


@pytest.mark.parametrize(
    "amount_minor, text",
    [
        (0, "0.000000 USDC"),
        (1, "0.000001 USDC"),
        (250_000, "0.250000 USDC"),
        (1_000_000, "1.000000 USDC"),
        (10**12 + 7, "1000000.000007 USDC"),
        (2**256 - 1, f"{(2**256 - 1) // 10**6}.639935 USDC"),
    ],
)
def test_an_amount_shows_six_decimals_and_the_unit(amount_minor: int, text: str) -> None:
    assert display(amount_minor) == text


def test_a_negative_amount_is_refused() -> None:
    with pytest.raises(ValueError, match="not negative"):
        display(-1)


@pytest.mark.parametrize(
    "model, price, unit_name, text",
    [
        ("fixed", 250_000, None, "0.250000 USDC per job"),
        ("fixed", 250_000, "page", "0.250000 USDC per job"),
        ("per_unit", 20_000, "1000 characters", "0.020000 USDC per 1000 characters"),
        ("fixed", 0, None, "free"),
        ("per_unit", 0, "page", "free"),
        ("quote", None, None, "quote per job"),
    ],
)
def test_a_price_is_shown_with_what_it_is_for(model: str, price: int | None, unit_name: str | None, text: str) -> None:
    assert price_display(model, price, unit_name) == text


def test_an_amount_that_is_not_known_shows_nothing() -> None:
    assert (display_or_none(None), display_or_none(0), display_or_none(7)) == (None, "0.000000 USDC", "0.000007 USDC")


def test_less_than_a_cent_is_dust() -> None:
    assert DUST_MINOR == 10_000


def test_a_missing_price_is_refused() -> None:
    with pytest.raises(ValueError, match="Only a quote"):
        price_display("fixed", None)


@settings(deadline=None)
@given(st.integers(0, 10**18))
def test_half_of_an_amount_rounds_an_odd_unit_up(amount_minor: int) -> None:
    assert half_up(amount_minor) + amount_minor // 2 == amount_minor
    assert half_up(amount_minor) - amount_minor // 2 in (0, 1)
