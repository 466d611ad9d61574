"""When a payment that was handed over is looked for again."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from tools.rules.purchases import AFTERMATH, has_ended, is_over, look_for_it_at

BEGAN = datetime(2026, 11, 23, tzinfo=UTC)


def looks(seconds: int) -> list[datetime]:
    """Every look for a payment of an authorization that holds so long and that nobody takes."""
    valid_before, found = int(BEGAN.timestamp()) + seconds, [BEGAN + timedelta(seconds=1)]
    while not has_ended(valid_before, found[-1]):
        found.append(look_for_it_at(BEGAN, valid_before, found[-1]))
    return found


def test_a_payment_is_looked_for_soon_at_first_and_then_ever_less_often() -> None:
    found = looks(3600)
    pauses = [(later - one).total_seconds() for one, later in pairwise(found)]
    assert pauses[:-1] == sorted(pauses[:-1])
    assert (pauses[0], max(pauses), len(found) < 80) == (10, 60, True)


def test_it_is_looked_for_the_moment_it_is_over_and_then_until_it_is_closed() -> None:
    for seconds in (60, 300, 900, 3600):
        over = BEGAN + timedelta(seconds=seconds) + AFTERMATH
        assert looks(seconds)[-1] == over
        assert look_for_it_at(BEGAN, int(BEGAN.timestamp()) + seconds, over) > over


def test_it_is_over_once_the_chain_is_past_it_or_has_stood_still_for_an_hour() -> None:
    until = int(BEGAN.timestamp())
    late = BEGAN + AFTERMATH
    assert not is_over(until, until, late - timedelta(seconds=1))
    assert is_over(until, until, late)
    assert not is_over(until, until - 1, late)
    assert is_over(until, 0, late + timedelta(minutes=59))
