"""The sweep of job deadlines: writes the clock's move for every job whose deadline has passed."""

from dataclasses import replace

import structlog

from storage.jobs import due_jobs
from storage.vocabulary import Env
from tools.engine.context import TxContext
from tools.jobs.lifecycle import JobMove, sweep
from tools.jobs.logic import run_clock
from tools.jobs.snapshot import load

log = structlog.get_logger("emporion.deadlines")
BATCH = 50


def expire_due_jobs(ctx: TxContext, move: JobMove, after: str) -> tuple[int, str | None]:
    """Make one move for a batch of due jobs; return how many moved and the next batch's start.

    The second value is None if no more jobs are due. If a job cannot be moved, only its changes are undone and the
    error is logged.
    """
    wanted = sweep(move)
    query = due_jobs(wanted.status.value, wanted.deadline)
    until = ctx.now - move.grace
    rows = ctx.tx.all(query, until=until, after=after, limit=BATCH)
    moved = 0
    for row in rows:
        here = replace(ctx, env=Env(row.env))
        with ctx.tx.alone() as kept:
            moved += run_clock(here, load(ctx.tx, row)).row is not row
        if kept.error is not None:
            log.error("a due job could not be moved", job_id=row.id, error=repr(kept.error))
    return moved, rows[-1].id if len(rows) == BATCH else None
