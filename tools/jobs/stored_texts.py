"""The input and outputs of a job as stored texts, and whether they count as their buyer's storage."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from storage.jobs import texts_of_jobs
from storage.quotas import forget_input, forget_outputs, forgettable_jobs, said_in, texts_of_job
from storage.tables import JobRow, JobTextRow, ThreadRow
from storage.transaction import Tx
from tools.engine.archives import archived_among
from tools.engine.context import TxContext
from tools.engine.documents import READ_AHEAD, Document, TextsAhead, texts_ahead
from tools.jobs.facts import JobFacts, kept_minor
from tools.jobs.snapshot import JobSnapshot

STANDS_FOR_ROOM = 10_000  # minor units; a job counts unless its seller keeps at least this much of its payments


BATCH = 100


INPUT = "input"


def output_part(revision: int) -> str:
    return f"output/{revision}"


def keep_text(tx: Tx, job_id: str, part: str, made: Document) -> None:
    """Store an input or output of one job."""
    tx.add(JobTextRow(job_id=job_id, part=part, text=made.text.decode()))


class JobTexts(TextsAhead[tuple[str, str]]):
    """The inputs, outputs and previews of jobs; the first two by the job's id and their part.

    `archived` names the jobs that have no texts, because they were archived, and when that was.
    """

    def __init__(self, tx: Tx, archived: Mapping[str, datetime] | None = None) -> None:
        super().__init__(partial(_text, tx))
        self.tx, self.archived, self.previews = tx, archived or {}, texts_ahead(tx, ())

    def input_of(self, job: JobRow) -> str | None:
        """Return the input of a job; None if it was deleted or archived."""
        return None if job.id in self.archived else self.get((job.id, INPUT))

    def output_of(self, job: JobRow) -> str | None:
        """Return the last output of a job; None if there is none or it was deleted or archived.

        It belongs to the present revision or, while that is under way, to the one before.
        """
        if job.id in self.archived:
            return None
        found = (self.get((job.id, part)) for part in _output_parts(job))
        return next((text for text in found if text is not None), None)

    @property
    def is_whole(self) -> bool:
        """True if all texts are read, so that no transaction is needed to get them."""
        return all(one.complete and None not in one.known.values() for one in (self, self.previews))

    def read_ahead(self, jobs: Sequence[JobRow], parts: Iterable[str]) -> bool:
        """Read these parts of the jobs in one statement; return whether all are read."""
        wanted = {"job_ids": [job.id for job in jobs], "parts": parts}
        rows, complete = self.tx.all_within(texts_of_jobs, READ_AHEAD, **wanted)
        self.known.update({(job_id, part): text for job_id, part, text in rows})
        return complete


def read_texts(tx: Tx, jobs: Sequence[JobSnapshot], now: datetime) -> JobTexts:
    """Read the inputs and previews of these jobs, and their outputs that are not sealed.

    It takes at most three statements, and one more if some jobs are so old that they may be archived.
    """
    rows = [seen.row for seen in jobs]
    texts = JobTexts(tx, archived_among(tx, rows, now))
    here = [seen for seen in jobs if seen.row.id not in texts.archived]
    shown = [seen.row for seen in here if not seen.facts.is_sealed]
    parts = {part for row in shown for part in _output_parts(row)}
    whole = not here or texts.read_ahead([seen.row for seen in here], [INPUT])
    texts.complete = (not parts or texts.read_ahead(shown, parts)) and whole
    texts.previews = texts_ahead(tx, (row.output_preview for row in rows))
    texts.previews.complete |= all(row.output_preview is None for row in rows)
    return texts


def _output_parts(job: JobRow) -> list[str]:
    if job.output is None:
        return []
    latest = job.revision_count
    return [output_part(latest), *([output_part(latest - 1)] if latest else [])]


def output_at(tx: Tx, job_id: str, revision: int) -> str | None:
    """Return the output of one delivery; None if it was deleted."""
    return _text(tx, (job_id, output_part(revision)))


def is_counted(facts: JobFacts) -> bool:
    """Check whether the texts of a job count toward its parties' storage quotas.

    They do while payments less refunds are under 0.01 USDC, so that free jobs are no free storage.
    """
    return kept_minor(facts) < STANDS_FOR_ROOM


def count_as_paid(ctx: TxContext, job: JobRow, facts: JobFacts) -> JobRow:
    """Add a job to the counters or subtract it after a change of its payments and refunds.

    The job's row must be locked.
    """
    counted = is_counted(facts)
    if counted == job.counted:
        return job
    move_texts(ctx.tx, job, counted=counted)
    return ctx.tx.change(job, counted=counted)


def move_texts(tx: Tx, job: JobRow, *, counted: bool) -> None:
    """Add the texts and messages of a job to the counters, or subtract them.

    Its row must be locked; the caller changes `counted`.
    """
    tx.get(ThreadRow, job.thread_id, lock=True)  # so that no message is posted meanwhile and counted wrongly
    sign = 1 if counted else -1
    for _, size in tx.all(texts_of_job, job_id=job.id):
        tx.count_bytes(job.buyer_id, job.env, sign * size)
    for sender_id, size in tx.all(said_in, thread_id=job.thread_id):
        tx.count_bytes(sender_id, job.env, sign * size)


def forget_unpaid(ctx: TxContext) -> int:
    """Delete a batch of inputs of jobs that never began and of unpaid outputs; return its size.

    They are deleted 30 days after the end of the job.
    """
    rows = ctx.tx.all(forgettable_jobs, now=ctx.now, limit=BATCH)
    for row in rows:
        _free_texts(ctx.tx, row)
        ctx.tx.run(forget_input if row.output is None else forget_outputs, job_id=row.id)
        ctx.tx.change(row, forget_at=None, forgotten_at=ctx.now)
    return len(rows)


def _free_texts(tx: Tx, row: JobRow) -> None:
    """Subtract the texts that are deleted from the buyer's storage, if they count."""
    for part, size in tx.all(texts_of_job, job_id=row.id) if row.counted else ():
        if (part == INPUT) is (row.output is None):
            tx.count_bytes(row.buyer_id, row.env, -size)


def _text(tx: Tx, key: tuple[str, str]) -> str | None:
    row = tx.get(JobTextRow, *key)
    return None if row is None else row.text
