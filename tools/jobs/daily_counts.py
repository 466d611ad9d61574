"""The counts of days that a job, its settlements and its dispute add to, as a pure function of their rows.

Each change adds the difference of the counts before and after it, in the same unit of work.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from storage.daily_counts import EXACT_BITS
from storage.rows import EPOCH
from storage.tables import DisputeRow, JobRow
from storage.transaction import Tx
from storage.vocabulary import ClosedAs, Counted, DisputeStatus, JobStatus, Outcome, SettlementKind
from tools.jobs.facts import kept_minor
from tools.jobs.snapshot import JobSnapshot

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
DONE = frozenset({JobStatus.COMPLETED, JobStatus.RESOLVED})


class DailyCount(NamedTuple):
    """The place of a count: its name, its day and, of a duration, its rounded seconds."""

    name: str
    day: int
    at: int = 0


NONE = Counter[DailyCount]()


def count_job_change(tx: Tx, before: JobSnapshot | None, after: JobSnapshot) -> None:
    """Add what a change of a job or its settlements changes; `before` is None for a new job."""
    _add(tx, after.row.env, NONE if before is None else counts_of_job(before), counts_of_job(after))


def count_case_change(tx: Tx, before: DisputeRow | None, after: DisputeRow) -> None:
    """Add what a change of a dispute changes; `before` is None for a new one."""
    _add(tx, after.env, NONE if before is None else counts_of_case(before), counts_of_case(after))


def day_of(moment: datetime) -> int:
    """Return the UTC day of a time, in days since 1970."""
    return (moment - EPOCH) // DAY


def rounded_down(seconds: int) -> int:
    """Round a duration down to its first EXACT_BITS binary digits.

    So a day has few different durations.
    """
    dropped = _dropped_bits(seconds)
    return seconds >> dropped << dropped


def median_of(durations: Iterable[tuple[int, int]]) -> int | None:
    """Return the median of pairs of rounded seconds and their number; None if there are none.

    Of an even number it is the upper one. It is the middle of the durations that are rounded to the same, so that its
    error is at most 1/16.
    """
    numbers = Counter[int]()
    for at, number in durations:
        numbers[at] += number
    left = numbers.total() // 2
    for at in sorted(numbers):
        if left < numbers[at]:
            return at + ((1 << _dropped_bits(at)) - 1) // 2
        left -= numbers[at]
    return None


def counts_of_job(seen: JobSnapshot) -> Counter[DailyCount]:
    """Return the counts of a job and its settlements.

    An award, and a delivery that accepts its order, have no time to accept: they count from the order.
    """
    row, facts, ordered = seen.row, seen.facts, day_of(seen.row.created_at)
    found = Counter({DailyCount(Counted.CREATED, ordered): 1, DailyCount(f"{Counted.STATUS}.{row.status}", ordered): 1})
    for one in seen.settlements:
        if one.kind is SettlementKind.PAYMENT:
            found[DailyCount(Counted.PAYMENTS, day_of(one.created_at))] += 1
    if row.accepted_at is not None and row.accepted_at > row.created_at:
        found[_duration(Counted.TO_ACCEPT, row.accepted_at, row.created_at, row.accepted_at)] += 1
    if row.delivered_at is not None:
        delivered = day_of(row.delivered_at)
        if row.accepted_at is not None:
            found[_duration(Counted.TO_DELIVER, row.delivered_at, row.accepted_at, row.delivered_at)] += 1
        if facts.is_paid:
            found[DailyCount(Counted.PAID, delivered)] += 1
        if facts.is_unpaid or facts.closed_as is ClosedAs.BUYER_WALKED_AWAY:
            found[DailyCount(Counted.UNPAID, delivered)] += 1
    if _is_done(row) and row.completed_at is not None:
        day, volume = day_of(row.completed_at), max(0, kept_minor(facts))
        found += Counter({DailyCount(Counted.COMPLETED, day): 1, DailyCount(Counted.VOLUME, day): volume})
        if row.first_party:
            found += Counter({DailyCount(Counted.OWN_COMPLETED, day): 1, DailyCount(Counted.OWN_VOLUME, day): volume})
    return found


def counts_of_case(case: DisputeRow) -> Counter[DailyCount]:
    """Return the counts of a dispute, by the day it was opened."""
    result = case.outcome or ("withdrawn" if case.status is DisputeStatus.RESOLVED else "open")
    found = Counter({DailyCount(f"{Counted.DISPUTE}.{result}", day_of(case.created_at)): 1})
    if case.outcome is not None and case.resolved_at is not None:
        found[_duration(Counted.TO_VERDICT, case.created_at, case.created_at, case.resolved_at)] += 1
    return found


def _is_done(row: JobRow) -> bool:
    return row.status in DONE and row.outcome != Outcome.BUYER


def _duration(name: Counted, counted_at: datetime, since: datetime, until: datetime) -> DailyCount:
    return DailyCount(name, day_of(counted_at), rounded_down(max(0, (until - since) // SECOND)))


def _dropped_bits(seconds: int) -> int:
    return max(0, seconds.bit_length() - EXACT_BITS)


def _add(tx: Tx, env: str, before: Counter[DailyCount], after: Counter[DailyCount]) -> None:
    for place in {*before, *after}:
        if by := after[place] - before[place]:
            tx.count_day(env, place.name, place.day, by, at=place.at)
