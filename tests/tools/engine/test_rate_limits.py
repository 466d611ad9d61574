"""Rate limits: calls per window, when a window restarts, the error beyond the limit, and which callers share one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.tables import RateWindowRow
from tools.engine.errors import RateLimited
from tools.engine.rate_limits import (
    ALLOWANCES,
    CLOCKS_APART,
    KEYS_OF_AN_AGENT,
    MAX_BUCKETS,
    FixedWindowCounter,
    Rate,
    RateLimit,
    RateLimitStatus,
    Share,
    bare_address,
    bucket_of,
    exceeded_error,
    give_back_shared,
    judged,
    raise_if_exceeded,
    take_shared,
    take_shares,
    used_of,
)

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND, TICK = timedelta(seconds=1), timedelta(microseconds=1)
TWO = RateLimit(2, 60)
MINUTE, HOUR, DAY = 60, 3600, 86_400
DECIDED = {
    "reads": (600, MINUTE), "writes": (120, MINUTE), "register": (20, HOUR), "claims": (20, HOUR), "verify": (60, MINUTE),
    "pay": (60, MINUTE), "bindings": (60, MINUTE), "support": (10, HOUR), "faucet": (3, DAY), "export": (1, DAY),
    "recover": (5, HOUR), "oauth": (60, MINUTE), "messages": (120, MINUTE), "domains": (20, HOUR), "identities": (30, HOUR),
    "quotes": (600, HOUR), "purchases": (120, HOUR), "anonymous_failures": (600, MINUTE),
    "protocol_requests": (600, MINUTE),
}  # fmt: skip
IN_THE_DATABASE = {"register", "claims", "faucet", "export", "recover", "oauth", "domains", "quotes", "purchases"}
OF_THE_AGENT = {"export", "recover", "messages", "domains", "identities"}


class Rows:
    """The rows of shared windows, with the interface of a unit of work."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.locked: list[bool] = []

    def get(self, kind: type, name: str, *, lock: bool = False) -> Any:
        assert kind is RateWindowRow
        self.locked.append(lock)
        return self.kept.get(name)

    def add(self, row: Any) -> None:
        self.kept[row.bucket] = row

    def change(self, row: Any, **values: Any) -> None:
        self.kept[row.bucket] = RateWindowRow(
            **{"bucket": row.bucket, "began_at": row.began_at, "count": row.count} | values
        )


def test_the_allowances_are_those_decided() -> None:
    assert {rate.value: (one.calls, one.seconds) for rate, one in ALLOWANCES.items()} == DECIDED
    assert {rate.value for rate, one in ALLOWANCES.items() if one.shared} == IN_THE_DATABASE
    assert {rate.value for rate, one in ALLOWANCES.items() if one.per_agent} == OF_THE_AGENT
    assert {rate.value for rate, one in ALLOWANCES.items() if one.agents_shared} == {"pay", "bindings"}
    assert {rate.value for rate, one in ALLOWANCES.items() if one.per_address} == {"claims"}
    assert (TWO.shared, TWO.per_agent, TWO.agents_shared, TWO.per_address) == (False,) * 4
    assert (MAX_BUCKETS, KEYS_OF_AN_AGENT) == (50_000, 3)


def test_all_keys_of_an_agent_share_three_times_the_window_of_one() -> None:
    wide = RateLimit(60, 60, agents_shared=True).of_agent
    assert (wide.calls, wide.seconds, wide.shared) == (180, 60, True)
    assert ALLOWANCES[Rate.READS].of_agent == replace(ALLOWANCES[Rate.READS], calls=1800)


def test_a_window_takes_its_calls_and_begins_again_when_it_has_ended() -> None:
    windows = FixedWindowCounter()

    def take(at: float) -> tuple[int, int]:
        quota = windows.count(Rate.PAY, TWO, "a", at)
        return quota.remaining, quota.reset_seconds

    assert [take(at) for at in (100.0, 100.5, 159.0)] == [(1, 60), (0, 60), (-1, 1)]
    assert take(159.999) == (-2, 1)
    assert take(160.0) == (1, 60)
    assert windows.count(Rate.PAY, TWO, "b", 160.0).remaining == 1
    assert windows.count(Rate.READS, TWO, "a", 160.0).remaining == 1


def test_asking_whether_a_window_is_used_up_counts_nothing() -> None:
    windows = FixedWindowCounter()
    used = [windows.is_used_up(Rate.PAY, TWO, "a", 100.0)]
    for _ in range(2):
        windows.count(Rate.PAY, TWO, "a", 100.0)
        used.append(windows.is_used_up(Rate.PAY, TWO, "a", 100.0))
    assert used == [False, False, True]
    assert windows.is_used_up(Rate.PAY, TWO, "a", 159.9) is True
    assert windows.is_used_up(Rate.PAY, TWO, "a", 160.0) is False
    assert windows.is_used_up(Rate.READS, TWO, "a", 100.0) is False
    assert list(windows.counts) == ["pay:a"]
    assert windows.is_used_up(Rate.PAY, RateLimit(1, 60), "unseen", 100.0) is False
    assert windows.is_used_up(Rate.PAY, RateLimit(0, 60), "unseen", 100.0) is True


def test_windows_that_have_ended_make_room_and_then_the_oldest_do() -> None:
    windows = FixedWindowCounter()
    windows.counts = {f"pay:{n}": (0.0, 2) for n in range(49_999)} | {"pay:late": (50.0, 2)}
    assert windows.count(Rate.PAY, TWO, "late", 100.0).remaining == -1, "known windows are kept"
    assert len(windows.counts) == 50_000
    longest = max(one.seconds for one in ALLOWANCES.values() if not one.shared)
    assert longest == 3600
    windows.count(Rate.PAY, TWO, "new", 3600.0)
    assert set(windows.counts) == {"pay:late", "pay:new"}, "what began an hour ago is forgotten"
    windows.counts = {f"pay:{n}": (0.0, 2) for n in range(50_000)}
    windows.count(Rate.PAY, TWO, "new", 100.0)
    assert len(windows.counts) == 40_001, "otherwise the oldest fifth is"
    assert ("pay:9999" in windows.counts, "pay:10000" in windows.counts) == (False, True)
    windows.counts = {f"pay:{n}": (0.0, 2) for n in range(49_999)}
    windows.count(Rate.PAY, TWO, "new", 3599.0)
    assert len(windows.counts) == 50_000, "there is room for the last"


def test_a_shared_window_is_one_row_for_every_process() -> None:
    rows: Any = Rows()

    def take(after: timedelta) -> tuple[int, int]:
        quota = take_shared(rows, Rate.RECOVER, TWO, "a", NOW + after)
        return quota.remaining, quota.reset_seconds

    assert [take(SECOND * at) for at in (0, 0.5, 59)] == [(1, 60), (0, 60), (-1, 1)]
    assert take(60 * SECOND - TICK) == (-2, 1)
    assert take(60 * SECOND) == (1, 60)
    assert take(60 * SECOND) == (0, 60)
    assert take(60 * SECOND - TICK) == (-1, 60), "a call that was begun earlier and is counted later belongs to it"
    assert take(60 * SECOND - CLOCKS_APART + TICK) == (-2, 60), "the clock of another process is behind"
    assert take(60 * SECOND - CLOCKS_APART) == (1, 60), "a clock that was far ahead was set right"
    assert (list(rows.kept), set(rows.locked)) == (["recover:a"], {True})


@pytest.mark.parametrize("apart", [59, 61, 180, 299])
def test_processes_whose_clocks_differ_take_at_most_two_windows(apart: int) -> None:
    rows: Any = Rows()
    taken = 0
    for call in range(200):
        ahead = call % 3 == 1
        quota = take_shared(rows, Rate.RECOVER, TWO, "a", NOW + SECOND * (call / 10 + ahead * apart))
        taken += quota.remaining >= 0
        assert quota.reset_seconds <= 60
    assert taken <= 2 * TWO.calls


def test_a_call_that_was_counted_is_given_back_and_never_below_nothing() -> None:
    rows: Any = Rows()
    give_back_shared(rows, Rate.RECOVER, "a")
    assert rows.kept == {}
    for _ in range(2):
        take_shared(rows, Rate.RECOVER, TWO, "a", NOW)
    counts = []
    for _ in range(3):
        give_back_shared(rows, Rate.RECOVER, "a")
        counts.append(rows.kept["recover:a"].count)
    assert (counts, set(rows.locked)) == ([1, 0, 0], {True})


def test_shares_are_taken_in_all_windows_or_in_none() -> None:
    rows: Any = Rows()
    posts, size = Share("posts", TWO), Share("bytes", RateLimit(100, 30), 60)

    def used(after: timedelta) -> list[int]:
        return [used_of(rows, share, NOW + after) for share in (posts, size)]

    assert (Share("posts", TWO).by, used(timedelta())) == (1, [0, 0])
    rows.locked.clear()
    assert take_shares(rows, [posts, size], NOW) is None
    assert (used(timedelta()), rows.locked[:2]) == ([1, 60], [True, True])
    assert take_shares(rows, [posts, replace(size, by=41)], NOW + SECOND) == 29, "one byte too many"
    assert used(SECOND) == [1, 60], "nothing was counted"
    assert take_shares(rows, [posts, replace(size, by=40)], NOW + SECOND) is None
    assert used(SECOND) == [2, 100]
    assert take_shares(rows, [posts, size], NOW + SECOND) == 59, "the longer wait of two"
    assert used(30 * SECOND) == [2, 0]
    assert take_shares(rows, [size], NOW + 30 * SECOND) is None
    assert used(30 * SECOND) == [2, 60]
    assert rows.kept["bytes"].began_at == NOW + 30 * SECOND
    assert take_shares(rows, [posts], NOW + 60 * SECOND - TICK) == 1
    assert take_shares(rows, [posts], NOW + 60 * SECOND) is None


def test_an_empty_window_takes_a_share_of_any_size() -> None:
    rows: Any = Rows()
    huge = Share("bytes", RateLimit(100, 30), 500)
    assert take_shares(rows, [huge], NOW) is None
    assert take_shares(rows, [huge], NOW + SECOND) == 29
    assert take_shares(rows, [huge], NOW + 30 * SECOND) is None


def test_one_too_many_is_told_how_long_to_wait() -> None:
    last, beyond = judged(Rate.PAY, TWO, 2, 17), judged(Rate.PAY, TWO, 3, 17)
    assert last == RateLimitStatus(Rate.PAY, 2, 0, 17, 60)
    assert (exceeded_error(last), beyond.remaining) == (None, -1)
    refusal = exceeded_error(beyond)
    assert isinstance(refusal, RateLimited)
    assert refusal.details["retry_after_seconds"] == 17
    assert refusal.message == "more than 2 calls in 60 seconds (pay)"
    raise_if_exceeded(None)
    raise_if_exceeded(last)
    with pytest.raises(RateLimited):
        raise_if_exceeded(beyond)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("9.9.9.9", "9.9.9.9"),
        ("9.9.9.9:443", "9.9.9.9"),
        ("9.9.9.9:", "9.9.9.9:"),
        ("9.9.9.9:x", "9.9.9.9:x"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("host", "host"),
        ("", ""),
    ],
)
def test_ports_and_brackets_are_cut_from_an_address(given: str, address: str) -> None:
    assert bare_address(given) == address


@pytest.mark.parametrize(
    ("given", "bucket"),
    [
        ("9.9.9.9", "9.9.9.9"),
        ("9.9.9.9:443", "9.9.9.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]:80", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::9", "2001:db8:1:3::/64"),
        ("::ffff:9.9.9.9", "9.9.9.9"),
        ("x" * 70, "x" * 64),
        ("unix", "unix"),
    ],
)
def test_a_network_of_ipv6_is_one_caller(given: str, bucket: str) -> None:
    assert bucket_of(given) == bucket
