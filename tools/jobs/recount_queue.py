"""Jobs that are queued to be counted again by the current rules, in listing figures and in reputations."""

from datetime import datetime

import structlog

from storage.reputation import marked_again, unmarked
from storage.tables import JobRow
from storage.transaction import Tx
from tools.jobs.contributions import count_job
from tools.jobs.snapshot import load
from tools.listings.stats import recount

BATCH = 50
log = structlog.get_logger("emporion.steps")


def count_waiting(tx: Tx, now: datetime) -> bool:
    """Count a batch of the queued jobs; return False if there were none.

    If a job fails, the error is logged and the job's figures stay as they were.
    """
    waiting = tx.all(unmarked, limit=BATCH)
    for one in waiting:
        with tx.alone() as kept:
            row = tx.get(JobRow, one.job_id, lock=True)
            if row is not None:
                seen = load(tx, row)
                recount(tx, row, seen.settlements)
                count_job(tx, seen, now)
        if kept.error is not None:
            log.error("a row failed", step="count_waiting", id=one.job_id, error=repr(kept.error))
        tx.run(marked_again, job_id=one.job_id)
    return bool(waiting)
