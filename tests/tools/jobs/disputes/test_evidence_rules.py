"""Evidence, computed by hand: when votes begin to count, and which messages of a party are kept in the case file."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.requirements import covers
from tools.jobs.panel_rules import MAX_BYTES, MAX_MESSAGES, Statement, kept, votes_count_from

SEATED = datetime(2026, 11, 23, tzinfo=UTC)
HOUR = timedelta(hours=1)


def said(*sizes: int) -> list[Statement]:
    return [Statement(f"msg_{number:04}", size) for number, size in enumerate(sizes)]


def shown(statements: list[Statement], pinned: Statement | None = None) -> set[str]:
    return kept(statements[: MAX_MESSAGES + 1], statements[::-1][: MAX_MESSAGES + 1], pinned)


@covers("second.evidence.window")
@pytest.mark.parametrize(
    ("done", "live", "hours"),
    [([], True, 2.4), ([1], True, 2.4), ([1, 2], True, 2), ([1, 9], True, 2.4), ([0, 0], True, 0), ([], False, 0)],
)
def test_votes_count_after_a_tenth_of_the_time_or_once_both_are_done(done: list[int], live: bool, hours: float) -> None:
    found = votes_count_from(SEATED, SEATED + 24 * HOUR, [SEATED + one * HOUR for one in done], live=live)
    assert found == SEATED + hours * HOUR


def test_the_bounds_of_a_case_file_are_those_decided() -> None:
    assert (MAX_MESSAGES, MAX_BYTES) == (100, 131_072)


@covers("second.evidence.bounds")
def test_a_hundred_messages_are_a_quarter_of_the_oldest_and_the_rest_of_the_newest() -> None:
    statements = said(*[1] * 130)
    ids = [one.id for one in statements]
    assert shown(statements) == {*ids[:25], *ids[55:]}
    assert shown(statements, statements[40]) == {*ids[:25], ids[40], *ids[56:]}, "the pinned one counts too"
    assert shown(statements[:100]) == {*ids[:100]}


@covers("second.evidence.bounds")
def test_large_messages_are_cut_by_their_bytes_and_the_pinned_one_stays() -> None:
    statements = said(*[50_000] * 8)
    ids = [one.id for one in statements]
    assert shown(statements) == {ids[7], ids[6]}, "none of the oldest fits a quarter"
    assert shown(statements, statements[0]) == {ids[0], ids[7]}
    exact = said(MAX_BYTES // 4, *[MAX_BYTES // 4] * 3)
    assert shown(exact) == {one.id for one in exact}
    assert shown(said(MAX_BYTES // 4 + 1, *[MAX_BYTES // 4] * 3)) == {"msg_0001", "msg_0002", "msg_0003"}


@covers("second.evidence.bounds")
@given(st.lists(st.integers(0, 60_000), max_size=150), st.integers(0, 149))
def test_what_is_kept_is_within_both_bounds_and_whole_if_all_fits(sizes: list[int], at: int) -> None:
    statements = said(*sizes)
    pinned = statements[at] if at < len(statements) else None
    found = shown(statements, pinned)
    size = {one.id: one.size for one in statements}
    assert len(found) <= MAX_MESSAGES
    assert sum(size[one] for one in found) <= MAX_BYTES
    assert pinned is None or pinned.id in found
    if len(sizes) <= MAX_MESSAGES and sum(sizes) <= MAX_BYTES:
        assert found == {*size}
