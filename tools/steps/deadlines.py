"""The clock's moves, swept: every deadline that passed is written, whoever asked or not."""

from dataclasses import replace

import structlog

from storage.jobs import due_jobs
from tools.context import Context
from tools.ports import Env
from tools.rules.lifecycle import JobMove, sweep
from tools.steps.jobs import run_clock, see

log = structlog.get_logger("emporion.deadlines")
BATCH = 50


def expire_due_jobs(ctx: Context, move: JobMove, after: str) -> tuple[int, str | None]:
    """One bounded batch of one row of the table: how many moved, and where the next batch begins (None: no more).

    A row that cannot be moved is undone alone and logged; the rest go on.
    """
    wanted = sweep(move)
    query = due_jobs(wanted.status.value, wanted.deadline)
    until = ctx.now - move.grace
    rows = ctx.tx.all(query, until=until, after=after, limit=BATCH)
    moved = 0
    for row in rows:
        here = replace(ctx, env=Env(row.env))
        with ctx.tx.alone() as kept:
            moved += run_clock(here, see(ctx.tx, row)).row is not row
        if kept.error is not None:
            log.error("a due job could not be moved", job_id=row.id, error=repr(kept.error))
    return moved, rows[-1].id if len(rows) == BATCH else None
