"""Archives of ended jobs: what a file of them holds, how its rows leave their tables, and how they come back.

The file is on the disk before its rows are deleted, in one unit of work that also marks its jobs. So a job is always in
its tables or marked, never both and never neither. No figure is derived from the rows that move.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from storage import archives as queries
from storage.quotas import said_in, texts_of_job
from storage.rows import Row, UtcMicroseconds
from storage.tables import (
    ArchivedJobRow,
    ArchiveRow,
    DisputeRow,
    JobEventRow,
    JobRow,
    JobTextRow,
    MessageRow,
    OpenRefundRow,
    ThreadRow,
)
from storage.transaction import Tx
from storage.vocabulary import FINAL, Env
from tools.engine.archives import ARCHIVED_AFTER
from tools.engine.context import TxContext
from tools.jobs.disputes.case_file import case_file, evidence_of
from tools.jobs.disputes.views import dispute_records
from tools.jobs.receipts import signed_receipt
from tools.jobs.snapshot import JobSnapshot, load, panel_of
from tools.jobs.stored_texts import move_texts

MOVED: dict[str, type[Row]] = {kind.__table__.name: kind for kind in (JobTextRow, JobEventRow, MessageRow)}
PART_JOBS, PART_BYTES = 100, 4 * 1024 * 1024  # of one file, and so of one unit of work
MAX_JOB_BYTES = 16 * 1024 * 1024  # of stored text; a larger job stays where it is
CANDIDATES = 500  # jobs that are looked at for one file


class Changed(Exception):
    """The rows of these jobs are not those of the file, or the jobs may not be archived."""


@dataclass(frozen=True, slots=True)
class Part:
    """The content of one file: its name, its hash, its jobs, and a line for each row."""

    name: str
    sha256: str
    made_at: datetime
    jobs: tuple[str, ...]
    rows: tuple[bytes, ...]  # JSON


@dataclass(frozen=True, slots=True)
class Draft:
    """The lines of a new file (none: no job is left), and where the next one begins."""

    lines: tuple[bytes, ...]
    jobs: tuple[str, ...]
    after: str | None  # the id of the last job that was looked at; None: there are no more
    too_large: tuple[str, ...]  # jobs that stay


def draft(ctx: TxContext, ended_before: datetime, after: str) -> Draft:
    """Write the next jobs as lines; each job's receipt and case come first, then its rows."""
    found = ctx.tx.all(queries.ended_jobs, ended_before=ended_before, after=after, limit=CANDIDATES)
    chosen, large, size, last = list[JobRow](), list[str](), 0, None
    for row in found:
        stored = _stored_bytes(ctx.tx, row)
        if stored > MAX_JOB_BYTES:
            large.append(row.id)
        elif may_leave(ctx, row):
            if chosen and (len(chosen) == PART_JOBS or size + stored > PART_BYTES):
                break
            chosen.append(row)
            size += stored
        last = row.id
    lines = [line for row in chosen for line in (_proof(ctx, row), *row_lines(ctx.tx, [row]))]
    whole = last == (found[-1].id if found else None) and len(found) < CANDIDATES
    return Draft(tuple(lines), tuple(row.id for row in chosen), None if whole else last, tuple(large))


def may_leave(ctx: TxContext, row: JobRow) -> bool:
    """Check that a job ended ARCHIVED_AFTER ago, owes nothing and cannot be revived."""
    facts = load(ctx.tx, row).facts
    return (
        facts.status in FINAL
        and row.forget_at is None
        and row.updated_at <= ctx.now - ARCHIVED_AFTER
        and not (facts.is_unpaid and not facts.forgotten)  # a payment that was mined in time still revives it
        and ctx.tx.get(OpenRefundRow, row.id) is None
        and ctx.tx.get(ArchivedJobRow, row.id) is None
    )


def take_out(ctx: TxContext, part: Part) -> None:
    """Delete the rows of a part that is on the disk, and mark its jobs.

    It does nothing if that was done before. Raises Changed if the tables do not have exactly the rows of the file.
    """
    jobs = _locked(ctx.tx, part.jobs)
    if ctx.tx.get(ArchiveRow, part.name) is not None:  # also by a run that was killed while it committed
        return
    if len(jobs) != len(part.jobs) or not all(may_leave(ctx, row) for row in jobs):
        raise Changed(part.name)
    if row_lines(ctx.tx, jobs) != [*part.rows]:
        raise Changed(part.name)
    for row in jobs:
        if row.counted:
            move_texts(ctx.tx, row, counted=False)
        ctx.tx.add(ArchivedJobRow(job_id=row.id, archive=part.name, archived_at=ctx.now))
    ids = [row.id for row in jobs]
    ctx.tx.run(queries.drop_texts, ids=ids)
    ctx.tx.run(queries.drop_history, ids=ids)
    ctx.tx.run(queries.drop_messages, ids=[row.thread_id for row in jobs])
    ctx.tx.add(ArchiveRow(name=part.name, sha256=part.sha256, jobs=len(ids), made_at=part.made_at))


def put_back(tx: Tx, part: Part) -> bool:
    """Insert the rows of an archived part again, and drop its marks.

    Returns False if it is not archived now. Raises Changed if the file is not the one that was archived.
    """
    kept = tx.get(ArchiveRow, part.name, lock=True)
    if kept is None:
        return False
    if kept.sha256 != part.sha256:
        raise Changed(part.name)
    jobs = _locked(tx, part.jobs)
    for line in part.rows:
        tx.add(row_of(line))
    for row in jobs:
        if row.counted:
            move_texts(tx, row, counted=True)
    if tx.run(queries.drop_marks, archive=part.name) != len(part.jobs):
        raise Changed(part.name)
    tx.run(queries.drop_archive, name=part.name)
    return True


def row_lines(tx: Tx, jobs: Sequence[JobRow]) -> list[bytes]:
    """Return the rows of these jobs that move, as JSON: job by job, sorted by their keys."""
    ids, threads = [row.id for row in jobs], [row.thread_id for row in jobs]
    texts, events = tx.all(queries.texts_to_move, ids=ids), tx.all(queries.history_to_move, ids=ids)
    messages = tx.all(queries.messages_to_move, ids=threads)
    return [
        orjson.dumps({"table": row.__table__.name, "row": row.__dict__})
        for job in jobs
        for row in (
            *sorted((one for one in texts if one.job_id == job.id), key=lambda one: one.part),
            *sorted((one for one in events if one.job_id == job.id), key=lambda one: one.id),
            *sorted((one for one in messages if one.thread_id == job.thread_id), key=lambda one: one.number),
        )
    ]


def row_of(line: bytes) -> Row:
    """Return the row of a line; raises KeyError, TypeError or ValueError if it is none."""
    told: dict[str, Any] = orjson.loads(line)
    kind = MOVED[told["table"]]
    values = dict(told["row"])
    for column in kind.__table__.columns:
        if isinstance(column.type, UtcMicroseconds) and values[column.key] is not None:
            values[column.key] = datetime.fromisoformat(values[column.key])
    return kind(**values)


def parsed(name: str, sha256: str, made_at: datetime, lines: Iterable[bytes]) -> Part:
    """Return the part with these lines; raises KeyError, TypeError or ValueError."""
    jobs, rows = list[str](), list[bytes]()
    for line in lines:
        told = orjson.loads(line)
        if "table" in told:
            rows.append(line)
        else:
            jobs.append(str(told["job_id"]))
    if jobs != sorted(set(jobs)):
        raise ValueError("its jobs are not in order")
    return Part(name, sha256, made_at, tuple(jobs), tuple(rows))


def _locked(tx: Tx, ids: Iterable[str]) -> list[JobRow]:
    """Lock these jobs, then their threads, so that no row of theirs comes or goes meanwhile."""
    found = [row for one in ids if (row := tx.get(JobRow, one, lock=True)) is not None]
    for row in found:
        tx.get(ThreadRow, row.thread_id, lock=True)
    return found


def _stored_bytes(tx: Tx, row: JobRow) -> int:
    """Return about how many bytes the rows of a job hold, without reading them."""
    texts = tx.all(texts_of_job, job_id=row.id)
    return sum(size for _, size in (*texts, *tx.all(said_in, thread_id=row.thread_id)))


def _proof(ctx: TxContext, row: JobRow) -> bytes:
    """Return the line of a job: its signed receipt, and its case as evaluators read it."""
    here, seen = replace(ctx, env=Env(row.env)), load(ctx.tx, row)
    return orjson.dumps(
        {
            "object": "archived_job",
            "job_id": row.id,
            "receipt": signed_receipt(here, seen),
            "dispute": None if row.dispute_id is None else _case(here, seen, row.dispute_id),
        }
    )


def _case(ctx: TxContext, seen: JobSnapshot, dispute_id: str) -> Any:
    panel = panel_of(ctx.tx, ctx.tx.need(DisputeRow, dispute_id))
    (record,) = dispute_records(ctx, ctx.tx, [panel], None)
    file, reason = case_file(evidence_of(ctx.tx, replace(seen, panel=panel)))
    return replace(record, case=file, reason=reason)
