"""Limits on messages from one party while the other does not answer."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tools.messages.rules import MAX_UNANSWERED, PAUSE, Run

NOW = datetime(2026, 11, 21, 4, tzinfo=UTC)
SAID = st.lists(st.tuples(st.sampled_from("ab"), st.booleans(), st.integers(0, 100_000)), max_size=60)


def test_ten_in_a_row_then_one_a_day() -> None:
    run = Run()
    for _ in range(MAX_UNANSWERED):
        assert run.opens_at("a") is None
        run = run.after("a", NOW)
    assert run == Run("a", 10, NOW, NOW)
    assert (run.opens_at("a"), run.opens_at("b")) == (NOW + PAUSE, None)
    run = run.after("a", NOW + PAUSE)
    assert (run.length, run.opens_at("a")) == (11, NOW + 2 * PAUSE)
    assert run.after("b", NOW).opens_at("a") is None
    assert run.answered_by("b") == Run()
    assert run.answered_by("a") == run


@given(SAID)
def test_nobody_has_more_than_ten_and_one_a_day_unanswered(said: list[tuple[str, bool, int]]) -> None:
    run, now = Run(), NOW
    taken: list[tuple[str, datetime]] = []
    for sender, is_note, seconds in said:
        now += timedelta(seconds=seconds)
        opens_at = run.opens_at(sender)
        if is_note:
            run = run.answered_by(sender)
            taken = taken if taken and taken[-1][0] == sender else []
        elif opens_at is None or now >= opens_at:
            run = run.after(sender, now)
            taken = [*(one for one in taken if one[0] == sender), (sender, now)]
        assert run.length == len([one for one in taken if one[0] == run.by])
        beyond = [at for _, at in taken[MAX_UNANSWERED - 1 :]]
        assert all(later - earlier >= PAUSE for earlier, later in pairwise(beyond))
