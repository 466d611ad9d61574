"""Schedules that are due: each fires once per due time, however many processes look for them."""

import orjson

from storage.schedules import due_schedules
from storage.tables import AgentRow, AgentStatus, ScheduleRow, ScheduleStatus
from tools.context import Context
from tools.records.base import stamp
from tools.records.eventdata import ScheduleFired
from tools.rules.wakeups import fired
from tools.steps.batches import BATCH, Place, each_alone


def fire_due_schedules(ctx: Context, after: Place) -> tuple[int, Place | None]:
    """One bounded batch: how many fired, and where the next batch begins (None: no more are due).

    Rows that another process holds are left to it.
    """
    rows = ctx.tx.all(due_schedules, since=after[0], after=after[1], until=ctx.now, limit=BATCH)
    return each_alone(ctx, rows, _fire, lambda row: row.next_at)


def _fire(ctx: Context, row: ScheduleRow) -> int:
    owner = ctx.tx.get(AgentRow, row.agent_id)
    if owner is None or owner.status is AgentStatus.DELETED:
        ctx.tx.change(row, status=ScheduleStatus.DONE, next_at=None)
        return 0
    assert row.next_at is not None
    after = fired(row.next_at, row.interval_seconds, row.max_runs, row.run_count, ctx.now)
    done = after.next_at is None
    ctx.tx.change(
        row,
        status=ScheduleStatus.DONE if done else ScheduleStatus.ACTIVE,
        next_at=after.next_at,
        run_count=after.run_count,
        last_run_at=ctx.now,
    )
    told: ScheduleFired = {
        "schedule_id": row.id,
        "name": row.name,
        "run_count": after.run_count,
        "scheduled_for": stamp(row.next_at),
        "payload": orjson.Fragment(row.payload),
    }
    ctx.tx.say(row.agent_id, row.env, "schedule.fired", orjson.dumps(told).decode(), ctx.now)
    return 1
