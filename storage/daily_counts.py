"""Queries of the counts by day: their sums, and the same counts made again from jobs, settlements and disputes."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    literal,
    or_,
    select,
    type_coerce,
)

from storage.query import Query
from storage.statements import in_json_list, is_one_of, matching
from storage.tables.daily import DailyCountRow
from storage.tables.disputes import DisputeRow
from storage.tables.jobs import JobRow
from storage.tables.payments import SettlementRow
from storage.vocabulary import Counted

MICROSECONDS, DAY_MICROSECONDS = 1_000_000, 86_400_000_000
EXACT_BITS, LONGEST_BITS = 4, 32  # durations keep their first EXACT_BITS binary digits

_total = cast(func.sum(DailyCountRow.number), BigInteger)
_asked = *matching(DailyCountRow.env), in_json_list(DailyCountRow.name, "names")
totals: Query[Any] = Query(select(DailyCountRow.name, _total).where(*_asked).group_by(DailyCountRow.name))
counts_since: Query[Any] = Query(
    select(DailyCountRow.day, DailyCountRow.name, DailyCountRow.at, DailyCountRow.number)
    .where(*_asked, DailyCountRow.day >= bindparam("since"))
    .order_by(DailyCountRow.day, DailyCountRow.name, DailyCountRow.at)
)
of_status: Query[Any] = Query(
    select(DailyCountRow.env, DailyCountRow.name, _total)
    .where(DailyCountRow.name >= literal(f"{Counted.STATUS}."), DailyCountRow.name < literal(f"{Counted.STATUS}/"))
    .group_by(DailyCountRow.env, DailyCountRow.name)
    .order_by(DailyCountRow.env, DailyCountRow.name)
)

# The same counts, from the rows that they count.

kept_counts: Query[DailyCountRow] = Query(select(DailyCountRow))


def _micros(column: Any) -> ColumnElement[int]:
    return type_coerce(column, BigInteger)


def _rounded_seconds(since: Any, until: Any) -> ColumnElement[int]:
    """Build the duration in seconds, rounded down to EXACT_BITS binary digits."""
    seconds = (_micros(until) - _micros(since)) // literal(MICROSECONDS, BigInteger)
    steps = [1 << bits for bits in range(1, LONGEST_BITS - EXACT_BITS)]
    rounded = [
        (seconds < literal(step << EXACT_BITS, BigInteger), seconds // literal(step, BigInteger) * step)
        for step in steps
    ]
    longest = literal(1 << LONGEST_BITS - EXACT_BITS, BigInteger)
    return case((seconds < 0, 0), (seconds < 1 << EXACT_BITS, seconds), *rounded, else_=seconds // longest * longest)


def _sums(kind: Any, name: Any, moment: Any, *conditions: Any, at: Any = None, number: Any = None) -> Select[Any]:
    """Select the sums of one count by environment, name, day of `moment` and `at`."""
    rows = (
        select(
            kind.env.label("env"),
            (literal(name.value) if isinstance(name, Counted) else name).label("name"),
            (_micros(moment) // literal(DAY_MICROSECONDS, BigInteger)).label("day"),
            (literal(0, BigInteger) if at is None else at).label("at"),
            (literal(1, BigInteger) if number is None else number).label("number"),
        )
        .where(*conditions)
        .subquery()
    )
    keys = rows.c.env, rows.c.name, rows.c.day, rows.c.at
    return select(*keys, cast(func.sum(rows.c.number), BigInteger)).group_by(*keys)


def _paid(*kinds: Any) -> ColumnElement[int]:
    """Sum the transfers of a job that are of one of these kinds."""
    found = select(func.sum(SettlementRow.amount)).where(SettlementRow.job_id == JobRow.id, or_(*kinds))
    return cast(func.coalesce(found.scalar_subquery(), 0), BigInteger)


_payment, _settled = SettlementRow.kind == literal("payment"), SettlementRow.status == literal("settled")
_applied = _paid(and_(_payment, _settled))
_back = _paid(SettlementRow.kind == literal("refund")) - _paid(and_(_payment, ~_settled))
# A refund first gives back the payments that were not applied.
_net = case((_back <= 0, _applied), (_back <= _applied, _applied - _back), else_=0)
_is_paid = exists().where(SettlementRow.job_id == JobRow.id, _payment, _settled)
_never_paid = or_(
    and_(JobRow.status == literal("expired"), JobRow.closed_as == literal("payment_timeout")),
    JobRow.closed_as == literal("buyer_walked_away"),
)
_done = (
    is_one_of(JobRow.status, ("completed", "resolved")),
    or_(JobRow.outcome.is_(None), JobRow.outcome != literal("buyer")),
    JobRow.completed_at.is_not(None),
)
_delivered = JobRow.delivered_at.is_not(None)
_result = case(
    (DisputeRow.status != literal("resolved"), literal("open")), else_=func.coalesce(DisputeRow.outcome, "withdrawn")
)
_was_accepted = JobRow.accepted_at.is_not(None)
_accepted_later = JobRow.accepted_at > JobRow.created_at
_to_accept = _rounded_seconds(JobRow.created_at, JobRow.accepted_at)
_to_deliver = _rounded_seconds(JobRow.accepted_at, JobRow.delivered_at)
_decided = DisputeRow.outcome.is_not(None), DisputeRow.resolved_at.is_not(None)
_to_verdict = _rounded_seconds(DisputeRow.created_at, DisputeRow.resolved_at)


def _of_completed(name: Counted, *conditions: Any, number: Any = None) -> Select[Any]:
    return _sums(JobRow, name, JobRow.completed_at, *_done, *conditions, number=number)


made_counts: dict[Counted, Query[Any]] = {
    word: Query(sums)
    for word, sums in {
        Counted.CREATED: _sums(JobRow, Counted.CREATED, JobRow.created_at),
        Counted.STATUS: _sums(JobRow, literal(f"{Counted.STATUS}.") + JobRow.status, JobRow.created_at),
        Counted.TO_ACCEPT: _sums(JobRow, Counted.TO_ACCEPT, JobRow.accepted_at, _accepted_later, at=_to_accept),
        Counted.TO_DELIVER: _sums(
            JobRow, Counted.TO_DELIVER, JobRow.delivered_at, _delivered, _was_accepted, at=_to_deliver
        ),
        Counted.PAID: _sums(JobRow, Counted.PAID, JobRow.delivered_at, _delivered, _is_paid),
        Counted.UNPAID: _sums(JobRow, Counted.UNPAID, JobRow.delivered_at, _delivered, _never_paid),
        Counted.COMPLETED: _of_completed(Counted.COMPLETED),
        Counted.VOLUME: _of_completed(Counted.VOLUME, number=_net),
        Counted.OWN_COMPLETED: _of_completed(Counted.OWN_COMPLETED, JobRow.first_party),
        Counted.OWN_VOLUME: _of_completed(Counted.OWN_VOLUME, JobRow.first_party, number=_net),
        Counted.PAYMENTS: _sums(SettlementRow, Counted.PAYMENTS, SettlementRow.created_at, _payment),
        Counted.DISPUTE: _sums(DisputeRow, literal(f"{Counted.DISPUTE}.") + _result, DisputeRow.created_at),
        Counted.TO_VERDICT: _sums(DisputeRow, Counted.TO_VERDICT, DisputeRow.created_at, *_decided, at=_to_verdict),
    }.items()
}
"""Each answers (env, name, day, at, sum); a name is the word or begins with it and a dot."""
