"""The clock's work on jobs: moves after a deadline, and events before one or for overdue work."""

from dataclasses import replace

from storage.jobs import due_jobs, due_notices
from storage.tables import JobRow
from tools.engine.batch import BATCH, Place, each_alone
from tools.engine.context import TxContext
from tools.events.payloads import DeadlineSoon
from tools.jobs.lifecycle import PendingAction, due_at, notices_due, waiting_on
from tools.jobs.logic import common_data, move_if_due, record_event, run_clock, stored_waiting, waiting_columns
from tools.jobs.snapshot import JobSnapshot, load
from tools.kernel.records import stamp, stamp_or_none


def move_due_jobs(ctx: TxContext, after: Place) -> tuple[int, Place | None]:
    """Make the clock's moves for a batch of jobs.

    Returns how many moved, and where the next batch begins.
    """
    rows = ctx.tx.all(due_jobs, since=after[0], after=after[1], until=ctx.now, limit=BATCH)
    return each_alone(ctx, rows, _move, lambda row: row.clock_at)


def _move(ctx: TxContext, row: JobRow) -> int:
    """Make the clock's move of a job; if none is due, store when the next one is."""
    if moved := move_if_due(ctx, row):
        return moved
    ctx.tx.change(row, clock_at=due_at(load(ctx.tx, row).facts))
    return 0


def tell_due_notices(ctx: TxContext, after: Place) -> tuple[int, Place | None]:
    """Send the due notices of a batch of jobs; return how many, and where the next batch begins."""
    rows = ctx.tx.all(due_notices, since=after[0], after=after[1], until=ctx.now, limit=BATCH)
    return each_alone(ctx, rows, _tell, lambda row: row.notice_at)


def _tell(ctx: TxContext, row: JobRow) -> int:
    """Send a job's due notices, and store when to check it again; return how many were sent."""
    seen = load(ctx.tx, row)
    if run_clock(ctx, seen) is not seen:  # the clock's move has sent an event to both parties
        return 0
    before, said = stored_waiting(seen.row), 0
    changes: dict[str, object] = {}
    waiting = waiting_on(seen.facts, ctx.now)
    if waiting is not None and waiting.until == before.act_by and before.announces(ctx.now):
        _announce(ctx, seen, waiting)
        said += 1
    for notice in notices_due(seen.facts, ctx.now):
        assert notice.event is not None
        record_event(ctx, seen, notice.event, None, {"deliver_by": stamp_or_none(seen.row.deliver_by)})
        changes["overdue_told_for"] = seen.row.deliver_by
        said += 1
    told = replace(seen, row=seen.row.with_(**changes))
    ctx.tx.change(seen.row, **changes, **waiting_columns(told, before.announced(), ctx.now))
    return said


def _announce(ctx: TxContext, seen: JobSnapshot, waiting: PendingAction) -> None:
    """Send job.deadline_soon to the party that must act, and not to the other."""
    assert waiting.until is not None
    assert seen.row.waits_for is not None
    told: DeadlineSoon = {
        **common_data(seen, ctx.now),
        "action_needed": waiting.action,
        "deadline_at": stamp(waiting.until),
        "then": waiting.then,
    }
    ctx.emit(seen.row.waits_for, seen.row.env, "job.deadline_soon", told)
