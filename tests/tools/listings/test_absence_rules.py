"""Absent sellers: which orders show that a seller is gone."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.requirements import covers
from tools.listings.absence_rules import is_deserted

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DAY, TICK = timedelta(hours=24), timedelta(microseconds=1)
THREE = [("a", True), ("b", True), ("c", True)]


@pytest.mark.parametrize(
    ("orders", "seen", "deserted"),
    [
        (THREE, None, True),
        (THREE, NOW - DAY, True),
        (THREE, NOW - DAY + TICK, False),
        (THREE[:2], None, False),
        ([], None, False),
        ([("a", True), ("b", True), ("a", True)], None, False),
        ([("a", True), ("b", False), ("c", True)], None, False),
        ([*THREE, ("d", False)], None, True),
    ],
)
@covers("second.absent.paused")
def test_three_orders_of_three_buyers_in_a_day_without_a_call(
    orders: list[tuple[str, bool]], seen: datetime | None, deserted: bool
) -> None:
    assert is_deserted(orders, seen, NOW) is deserted
