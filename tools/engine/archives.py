"""Jobs whose texts are in an archive: when they were archived, and the refusal of what needs the texts."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from storage.archives import archived_times
from storage.tables import ArchivedJobRow, JobRow
from storage.transaction import Tx
from tools.engine.context import TxContext
from tools.engine.errors import Archived
from tools.kernel.records import stamp

ARCHIVED_AFTER = timedelta(days=180)  # from the end of a job on; its texts are hot at least as long


def archived_at(tx: Tx, job_id: str, created_at: datetime, now: datetime) -> datetime | None:
    """Return when the job was archived, or None; a young job needs no statement."""
    row = tx.get(ArchivedJobRow, job_id) if now - created_at >= ARCHIVED_AFTER else None
    return None if row is None else row.archived_at


def archived_among(tx: Tx, jobs: Iterable[JobRow], now: datetime) -> dict[str, datetime]:
    """Return when these jobs were archived, by id; it takes no statement if all are young."""
    old = [job.id for job in jobs if now - job.created_at >= ARCHIVED_AFTER]
    return dict(tx.all(archived_times, ids=old)) if old else {}


def refuse_archived(ctx: TxContext, job_id: str | None, created_at: datetime) -> None:
    """Raise Archived if the texts of this job are in an archive; None: there is no job."""
    at = None if job_id is None else archived_at(ctx.tx, job_id, created_at, ctx.now)
    if job_id is not None and at is not None:
        raise archived_error(job_id, stamp(at))


def archived_error(job_id: str, at: str) -> Archived:
    """Return the refusal of what needs the texts of a job that was archived at this time."""
    return Archived("this job was archived: its texts and messages are no longer here", job_id=job_id, archived_at=at)
