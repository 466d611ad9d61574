"""The times at which a schedule fires, and those that it skips."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tools.events.schedules.rules import ScheduleRun, fired, next_after, next_due

NOW = datetime(2026, 11, 21, 4, tzinfo=UTC)
LATE = st.integers(0, 10**9)
INTERVAL = st.integers(60, 31_536_000)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_a_single_one_ends_with_its_firing() -> None:
    assert fired(NOW, None, None, 0, after(5)) == ScheduleRun(1, None)


def test_a_recurring_one_ends_with_max_runs() -> None:
    assert fired(NOW, 60, 2, 0, NOW) == ScheduleRun(1, after(60))
    assert fired(NOW, 60, 2, 1, NOW) == ScheduleRun(2, None)
    assert fired(NOW, 60, None, 99, NOW) == ScheduleRun(100, after(60))


@given(LATE, INTERVAL)
def test_the_next_time_is_the_first_of_its_own_that_lies_ahead(late_seconds: int, interval_seconds: int) -> None:
    now = after(late_seconds)
    following = next_after(NOW, interval_seconds, now)
    step = timedelta(seconds=interval_seconds)
    assert now < following <= now + step
    assert (following - NOW) % step == timedelta()


def test_fired_before_its_time_by_a_clock_that_jumped_it_still_moves_on() -> None:
    assert next_after(NOW, 60, after(-5)) == after(60)


def test_what_was_paused_goes_on_ahead_and_a_single_one_at_once() -> None:
    assert next_due(NOW, None, after(500)) == NOW
    assert next_due(after(900), 60, after(500)) == after(900)
    assert next_due(NOW, 60, after(500)) == after(540)
