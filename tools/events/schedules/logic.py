"""Due schedules: each fires once per due time, even if several processes look for them."""

import orjson

from storage.events import due_schedules
from storage.tables import AgentRow, RoomRow, ScheduleRow
from storage.vocabulary import AgentStatus, ScheduleStatus
from tools.engine.batch import BATCH, Place, each_alone
from tools.engine.context import TxContext
from tools.events.payloads import ScheduleFired, SchedulePaused
from tools.events.schedules.rules import fired
from tools.kernel.records import stamp


def fire_due_schedules(ctx: TxContext, after: Place) -> tuple[int, Place | None]:
    """Fire a batch of due schedules; return how many fired, and where the next batch begins.

    The second value is None if no more are due. Rows that another process has locked are skipped.
    """
    rows = ctx.tx.all(due_schedules, since=after[0], after=after[1], until=ctx.now, limit=BATCH)
    return each_alone(ctx, rows, _fire, lambda row: row.next_at)


def _fire(ctx: TxContext, row: ScheduleRow) -> int:
    owner = ctx.tx.get(AgentRow, row.agent_id)
    if owner is None or owner.status is AgentStatus.DELETED:
        ctx.tx.change(row, status=ScheduleStatus.DONE, next_at=None)
        return 0
    assert row.next_at is not None
    room = ctx.tx.get(RoomRow, row.agent_id, row.env, lock=True)
    fired_before = ctx.tx.room.get((row.agent_id, row.env), 0)  # in this batch, which writes the counter at its end
    used = fired_before + (0 if room is None else room.used)
    after = fired(row.next_at, row.interval_seconds, row.max_runs, row.run_count, ctx.now)
    told: ScheduleFired = {
        "schedule_id": row.id,
        "name": row.name,
        "run_count": after.run_count,
        "scheduled_for": stamp(row.next_at),
        "payload": orjson.Fragment(row.payload),
    }
    text = orjson.dumps(told)
    if not owner.first_party and used + len(text) > ctx.config.limits.storage_bytes:
        return _pause(ctx, row, used)
    done = after.next_at is None
    ctx.tx.change(
        row,
        status=ScheduleStatus.DONE if done else ScheduleStatus.ACTIVE,
        next_at=after.next_at,
        run_count=after.run_count,
        last_run_at=ctx.now,
    )
    ctx.tx.emit(row.agent_id, row.env, "schedule.fired", text.decode(), ctx.now)
    ctx.tx.count_bytes(row.agent_id, row.env, len(text))
    return 1


def _pause(ctx: TxContext, row: ScheduleRow, used: int) -> int:
    """Pause a schedule whose events no longer fit in its agent's storage, and notify the agent."""
    ctx.tx.change(row, status=ScheduleStatus.PAUSED)
    limit = ctx.config.limits.storage_bytes
    told: SchedulePaused = {
        "schedule_id": row.id,
        "name": row.name,
        "reason": "storage_full",
        "used": used,
        "limit": limit,
    }
    ctx.emit(row.agent_id, row.env, "schedule.paused", told)
    return 0
