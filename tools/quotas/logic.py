"""Storage limits: which data of an agent counts, and the errors for too much of it.

A unit of work adds up the bytes that it writes or deletes, and writes one counter for each agent at its end. Bytes that
were counted with `take` or `take_order` may be refused; a call that must not fail uses `Tx.count_bytes` instead.

The input and outputs of a job count as the buyer's, because the order caused them; a message counts as its writer's.
So a buyer that does not pay, or orders free work, uses its own storage and not the seller's.
"""

from storage.quotas import (
    forget_input,
    forget_outputs,
    forgettable_jobs,
    said_in,
    texts_of_job,
)
from storage.tables import AgentRow, JobRow, JobTextRow, RoomRow, ThreadRow
from storage.transaction import Tx
from tools.engine.context import Approach, Context
from tools.engine.errors import TooBusy
from tools.engine.health import Pulse
from tools.engine.registry import Operation
from tools.engine.stored_documents import Document
from tools.jobs.facts import Forgets, JobFacts, kept_minor
from tools.quotas.errors import StorageFull

NEEDED_FOR_OUTPUT = 2**20  # bytes that must be left at an order and at its acceptance
STANDS_FOR_ROOM = 10_000  # minor units; a job counts unless its seller keeps at least this much of its payments
BATCH = 100
INPUT = "input"
MOST_ON_LOW_DISK = {False: 4_096, True: 65_536}  # bytes of a request


def output_part(revision: int) -> str:
    return f"output/{revision}"


def size_of(*texts: str | bytes | None) -> int:
    """Return the number of bytes of these texts together."""
    return sum(len(text.encode() if isinstance(text, str) else text) for text in texts if text)


def take(ctx: Context, by: int) -> None:
    """Count bytes as the caller's; at its end, the call is refused if they exceed the limit."""
    ctx.tx.count_bytes(ctx.agent, ctx.env, by, asks=True)


def take_order(ctx: Context, by: int) -> None:
    """Count the input of an order; it may also be refused if too little is left for the output."""
    ctx.tx.count_bytes(ctx.agent, ctx.env, by, asks=True, leaving=NEEDED_FOR_OUTPUT)


def refuse_overfull(ctx: Context) -> None:
    """Write the counters; raise StorageFull if an agent took more than its limit."""
    for (agent_id, env), taken in ctx.tx.write_room().items():
        limit = ctx.house.limits.storage_bytes
        if taken.used + taken.leaving > limit and not _is_first_party(ctx.tx, agent_id):
            raise StorageFull(
                f"this needs {taken.by + taken.leaving} bytes more; you use {taken.used - taken.by} of {limit} on {env}",
                used=taken.used - taken.by,
                limit=limit,
            )


def has_room_to_accept(ctx: Context, seller_id: str) -> bool:
    """Check whether an agent has enough storage left to accept work."""
    left = ctx.house.limits.storage_bytes - used_by(ctx.tx, seller_id, ctx.env)
    return left >= NEEDED_FOR_OUTPUT or _is_first_party(ctx.tx, seller_id)


def refuse_on_low_disk(op: Operation, approach: Approach, pulse: Pulse) -> None:
    """Refuse large writes while the disk is nearly full; calls that end work may be larger."""
    most = MOST_ON_LOW_DISK[op.ends_work]
    if pulse.disk_low and not op.safe and approach.body_bytes > most:
        raise TooBusy(
            f"the disk of this market is nearly full: until there is room a call that writes may bring {most} bytes",
            hint="Send less, or the same call again later.",
            retry_after_seconds=60,
        )


def need_room_to_accept(ctx: Context) -> None:
    """Raise StorageFull if the caller has too little storage left to accept work."""
    if not has_room_to_accept(ctx, ctx.agent):
        used, limit = used_by(ctx.tx, ctx.agent, ctx.env), ctx.house.limits.storage_bytes
        raise StorageFull(
            f"less than {NEEDED_FOR_OUTPUT} bytes are left: {used} of {limit} are used",
            used=used,
            limit=limit,
        )


def used_by(tx: Tx, agent_id: str, env: str) -> int:
    row = tx.get(RoomRow, agent_id, env)
    return 0 if row is None else row.used


def keep_text(tx: Tx, job_id: str, part: str, made: Document) -> None:
    """Store an input or output of one job."""
    tx.add(JobTextRow(job_id=job_id, part=part, text=made.text.decode()))


def input_of(tx: Tx, job: JobRow) -> str | None:
    """Return the input of a job; None if it was deleted."""
    return _text(tx, job.id, INPUT)


def output_of(tx: Tx, job: JobRow) -> str | None:
    """Return the last output of a job; None if there is none or it was deleted."""
    return None if job.output is None else _last_output(tx, job)


def output_at(tx: Tx, job_id: str, revision: int) -> str | None:
    """Return the output of one delivery; None if it was deleted."""
    return _text(tx, job_id, output_part(revision))


def is_counted(facts: JobFacts) -> bool:
    """Check whether a job counts as storage, because its seller keeps less than 0.01 USDC."""
    return kept_minor(facts) < STANDS_FOR_ROOM


def count_as_paid(ctx: Context, job: JobRow, facts: JobFacts) -> JobRow:
    """Add a job to the counters or subtract it after a change of its payments and refunds.

    The job's row must be locked.
    """
    counted = is_counted(facts)
    if counted == job.counted:
        return job
    move_texts(ctx, job, counted=counted)
    return ctx.tx.change(job, counted=counted)


def move_texts(ctx: Context, job: JobRow, *, counted: bool) -> None:
    """Add the texts and messages of a job to the counters, or subtract them.

    Its row must be locked; the caller changes `counted`.
    """
    ctx.tx.get(ThreadRow, job.thread_id, lock=True)  # so that no message is posted meanwhile and counted wrongly
    sign = 1 if counted else -1
    for _, size in ctx.tx.all(texts_of_job, job_id=job.id):
        ctx.tx.count_bytes(job.buyer_id, job.env, sign * size)
    for sender_id, size in ctx.tx.all(said_in, thread_id=job.thread_id):
        ctx.tx.count_bytes(sender_id, job.env, sign * size)


def forget_unpaid(ctx: Context) -> int:
    """Delete a batch of inputs of jobs that never began and of unpaid outputs; return its size.

    They are deleted 30 days after the end of the job.
    """
    rows = ctx.tx.all(forgettable_jobs, now=ctx.now, limit=BATCH)
    for row in rows:
        forgets = Forgets.OUTPUTS if row.output is not None else Forgets.INPUT
        _free_texts(ctx.tx, row, forgets)
        ctx.tx.run(forget_outputs if forgets is Forgets.OUTPUTS else forget_input, job_id=row.id)
        ctx.tx.change(row, forget_at=None, forgotten_at=ctx.now)
    return len(rows)


def _free_texts(tx: Tx, row: JobRow, forgets: Forgets) -> None:
    if not row.counted:
        return
    for part, size in tx.all(texts_of_job, job_id=row.id):
        if (part == INPUT) is (forgets is Forgets.INPUT):
            tx.count_bytes(row.buyer_id, row.env, -size)


def _last_output(tx: Tx, job: JobRow) -> str | None:
    """Return the output of the last delivery.

    It belongs to the present revision or, while that is under way, to the one before.
    """
    found = _text(tx, job.id, output_part(job.revision_count))
    return (
        found if found is not None or not job.revision_count else _text(tx, job.id, output_part(job.revision_count - 1))
    )


def _text(tx: Tx, job_id: str, part: str) -> str | None:
    row = tx.get(JobTextRow, job_id, part)
    return None if row is None else row.text


def _is_first_party(tx: Tx, agent_id: str) -> bool:
    row = tx.get(AgentRow, agent_id)
    return row is not None and row.first_party
