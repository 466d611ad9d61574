"""Queries of schedules: an agent's schedules, and those that are due."""

from functools import cache

from sqlalchemy import bindparam, delete, func, literal, or_, select

from storage.query import Query
from storage.tables import ScheduleRow

_MINE = ScheduleRow.agent_id == bindparam("agent_id"), ScheduleRow.env == bindparam("env")
_ACTIVE = ScheduleRow.status == literal("active")

active_schedules = Query(select(func.count()).select_from(ScheduleRow.__table__).where(*_MINE, _ACTIVE))
forget_schedule = Query(delete(ScheduleRow.__table__).where(ScheduleRow.id == bindparam("id")))
due_schedules = Query(
    select(ScheduleRow)
    .where(
        _ACTIVE,
        ScheduleRow.next_at >= bindparam("since"),
        ScheduleRow.next_at <= bindparam("until"),
        or_(ScheduleRow.next_at > bindparam("since"), ScheduleRow.id > bindparam("after")),
    )
    .order_by(ScheduleRow.next_at, ScheduleRow.id)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)


@cache
def schedules_of(filtered: bool) -> Query[ScheduleRow]:
    """Build the query of a page of an agent's schedules, newest first.

    With `filtered`, only those of one status.
    """
    conditions = [*_MINE, ScheduleRow.id < bindparam("before")]
    if filtered:
        conditions.append(ScheduleRow.status == bindparam("status"))
    return Query(select(ScheduleRow).where(*conditions).order_by(ScheduleRow.id.desc()).limit(bindparam("limit")))
