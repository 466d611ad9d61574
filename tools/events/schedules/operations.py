"""Schedules: events that wake an agent, once or repeatedly."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from storage.events import active_schedules, forget_schedule, schedules_of
from storage.tables import AgentRow, ScheduleRow
from storage.vocabulary import ScheduleStatus
from tools.engine.arguments import Arguments, Listed, OneLine
from tools.engine.context import ReadContext, TxContext
from tools.engine.documents import json_text
from tools.engine.errors import InvalidCursor, InvalidRequest, NotFound, PayloadTooLarge, StorageFull
from tools.engine.next_steps import after_schedule
from tools.engine.paging import page
from tools.engine.registry import operation
from tools.engine.storage_quotas import count_bytes, size_of
from tools.events.schedules.errors import ScheduleDone, ScheduleLimit
from tools.events.schedules.records import Schedule, ScheduleDeleted, SchedulePage
from tools.events.schedules.rules import next_due
from tools.kernel.ids import Prefix
from tools.kernel.plurals import counted
from tools.kernel.records import Json, record_from, spliced, stamp_or_none

MAX_PAYLOAD, MAX_ACTIVE = 16_384, 100
YEAR_SECONDS = 31_536_000
AFTER_ALL = "sch_8"  # sorts after every id
LATE = timedelta(seconds=60)  # a run_at at most this far in the past counts as now


def _moment(text: str) -> str:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("a time as ISO-8601, e.g. 2026-11-21T04:00:00Z") from None
    if at.tzinfo is None:
        raise ValueError("needs its offset from UTC, e.g. 2026-11-21T04:00:00Z")
    return text


Moment = Annotated[str, AfterValidator(_moment), Field(max_length=40, json_schema_extra={"format": "date-time"})]


class CreateSchedule(Arguments):
    nulls: ClassVar[frozenset[str]] = frozenset({"payload"})

    name: OneLine | None = Field(None, min_length=1, max_length=120, description="for your own use")
    in_seconds: int | None = Field(None, ge=0, le=YEAR_SECONDS, description="from now; or give run_at")
    run_at: Moment | None = Field(None, description="ISO-8601 with its offset from UTC; or give in_seconds")
    interval_seconds: int | None = Field(
        None, ge=60, le=YEAR_SECONDS, description="seconds from one firing to the next; left out: once"
    )
    max_runs: int | None = Field(None, ge=1, le=100_000, description="with interval_seconds: end after this many")
    payload: Json = Field(None, description="any JSON you want back in the event, at most 16 KB")


@dataclass(frozen=True, slots=True)
class Planned:
    """The first time a schedule fires, and its payload as JSON text."""

    first_at: datetime
    payload: str


async def plan(read_ctx: ReadContext, asked: CreateSchedule) -> Planned:
    wrong = list(_faults(asked, read_ctx.now))
    if wrong:
        param, message = wrong[0]
        listed = [{"param": param, "message": message} for param, message in wrong]
        raise InvalidRequest(f"{param}: {message}", param=param, violations=listed)
    in_seconds = timedelta(seconds=asked.in_seconds or 0)
    first_at = read_ctx.now + in_seconds if asked.run_at is None else datetime.fromisoformat(asked.run_at)
    return Planned(first_at, json_text(asked.payload, "payload", MAX_PAYLOAD))


@operation(
    "POST /v1/schedules",
    scope=("buy", "sell", "message"),
    gather=plan,
    errors=(ScheduleLimit, PayloadTooLarge, StorageFull),
    status=201,
    next_steps=after_schedule,
    toolset="schedules",
    examples=({"in_seconds": 3600, "interval_seconds": 3600, "payload": {"check": "orders"}},),
)
def create_schedule(ctx: TxContext, asked: CreateSchedule, planned: Planned) -> Schedule:
    """Create a wake-up: at its time you get the event schedule.fired with your payload.

    Give in_seconds or run_at; with interval_seconds it recurs until max_runs or until you delete it. It fires once for
    each due time; missed times are skipped. At most 100 are active in one environment.
    """
    _check_room(ctx)
    count_bytes(ctx, size_of(asked.name, planned.payload))
    return _record(
        ctx.tx.add(
            ScheduleRow(
                id=ctx.new_id(Prefix.SCHEDULE),
                agent_id=ctx.agent,
                env=ctx.env,
                name=asked.name,
                next_at=planned.first_at,
                interval_seconds=asked.interval_seconds,
                max_runs=asked.max_runs,
                payload=planned.payload,
                created_at=ctx.now,
            )
        )
    )


class ListSchedules(Listed):
    status: Literal["active", "paused", "done"] | None = Field(None, description="only schedules in this state")


@operation("GET /v1/schedules", errors=(InvalidCursor,), toolset="schedules")
def list_schedules(ctx: TxContext, asked: ListSchedules) -> SchedulePage:
    """List your schedules, newest first; only those of one status if you name it.

    update_schedule pauses one, delete_schedule ends it.
    """
    named: dict[str, object] = {} if asked.status is None else {"status": asked.status}
    query = schedules_of(asked.status is not None)
    mine = {"agent_id": ctx.agent, "env": ctx.env, **named}
    return SchedulePage(**page(ctx, asked, query, partial(map, _record), first=AFTER_ALL, where=mine))


class ScheduleRef(Arguments):
    """One schedule."""

    schedule_id: str = Field(max_length=64, description="sch_…")


@operation("GET /v1/schedules/{schedule_id}", errors=(NotFound,), toolset="schedules")
def get_schedule(ctx: TxContext, ref: ScheduleRef) -> Schedule:
    """Read a schedule: when it fires next, how often it has fired.

    Each time it fires you get the event schedule.fired with its payload.
    """
    return _record(_mine(ctx, ref.schedule_id))


class UpdateSchedule(ScheduleRef):
    status: Literal["active", "paused"] = Field(description="paused stops it, active resumes it")


@operation(
    "PATCH /v1/schedules/{schedule_id}",
    scope=("buy", "sell", "message"),
    errors=(NotFound, ScheduleDone, ScheduleLimit),
    idempotent=True,
    next_steps=after_schedule,
    toolset="schedules",
)
def update_schedule(ctx: TxContext, asked: UpdateSchedule) -> Schedule:
    """Pause or resume a schedule.

    Times that a recurring schedule missed are skipped; a schedule that fires once and is overdue fires when resumed.
    """
    row, wanted = _mine(ctx, asked.schedule_id, lock=True), ScheduleStatus(asked.status)
    if row.status is ScheduleStatus.DONE or row.next_at is None:
        raise ScheduleDone(f"this schedule is done: it fired {counted(row.run_count, 'time')}", run_count=row.run_count)
    if row.status is wanted:
        return _record(row)
    if wanted is ScheduleStatus.PAUSED:
        return _record(ctx.tx.change(row, status=wanted))
    _check_room(ctx)
    next_at = next_due(row.next_at, row.interval_seconds, ctx.now)
    return _record(ctx.tx.change(row, status=wanted, next_at=next_at))


@operation(
    "DELETE /v1/schedules/{schedule_id}",
    scope=("buy", "sell", "message"),
    errors=(NotFound,),
    destructive=True,
    ends_work=True,
    toolset="schedules",
)
def delete_schedule(ctx: TxContext, ref: ScheduleRef) -> ScheduleDeleted:
    """Delete a schedule: it no longer fires.

    Its past events stay. To stop it for a while instead, update_schedule with status paused.
    """
    row = _mine(ctx, ref.schedule_id, lock=True)
    ctx.tx.run(forget_schedule, id=row.id)
    ctx.tx.count_bytes(ctx.agent, ctx.env, -size_of(row.name, row.payload))
    return ScheduleDeleted(id=row.id)


def _faults(asked: CreateSchedule, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield the faults of the times, taken together."""
    if (asked.in_seconds is None) == (asked.run_at is None):
        yield "in_seconds" if asked.run_at is None else "run_at", "give either in_seconds or run_at"
    if asked.run_at is not None:
        ahead = datetime.fromisoformat(asked.run_at) - now
        if ahead < -LATE:
            yield "run_at", "lies in the past"
        if ahead > timedelta(seconds=YEAR_SECONDS):
            yield "run_at", "lies more than a year ahead"
    if asked.interval_seconds is None and (asked.max_runs or 1) > 1:
        yield "max_runs", "more than one run needs interval_seconds"


def _mine(ctx: TxContext, schedule_id: str, *, lock: bool = False) -> ScheduleRow:
    row = ctx.tx.get(ScheduleRow, schedule_id, lock=lock)
    if row is None or (row.agent_id, row.env) != (ctx.agent, ctx.env):
        raise NotFound("you have no such schedule", param="schedule_id")
    return row


def _check_room(ctx: TxContext) -> None:
    ctx.tx.get(AgentRow, ctx.agent, lock=True)  # the lock keeps concurrent calls within the limit
    active = ctx.tx.one(active_schedules, agent_id=ctx.agent, env=ctx.env) or 0
    if active >= MAX_ACTIVE:
        raise ScheduleLimit(f"you have {active} active schedules, at most {MAX_ACTIVE} are allowed", limit=MAX_ACTIVE)


def _record(row: ScheduleRow) -> Schedule:
    named = {"run_at": stamp_or_none(row.next_at), "last_run_at": stamp_or_none(row.last_run_at)}
    return record_from(Schedule, row, **named, payload=spliced(row.payload))
