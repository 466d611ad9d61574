"""Operations that order a listing, also with a wait for the buyer's turn, and read and list jobs."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from storage.jobs import jobs_of
from storage.tables import JobRow
from storage.transaction import Tx
from storage.vocabulary import FINAL, Actor
from tools.engine.arguments import MAX_WAITED, Listed, LongPoll
from tools.engine.context import ReadContext, TxContext
from tools.engine.documents import Document
from tools.engine.errors import Archived, InvalidCursor, NotFound
from tools.engine.paging import PageRows, page_in_turns, place_of
from tools.engine.registry import internal_operation, operation
from tools.jobs.errors import PriceAboveMax, ReferenceReused
from tools.jobs.lifecycle import payment_due, waiting_on
from tools.jobs.logic import LAST_JOB, JobRef, projected
from tools.jobs.payments.searches import begin_search
from tools.jobs.payments.terms import payment_terms
from tools.jobs.place_order import ORDER_ERRORS, REFERENCE, JudgedOrder, Order, Ordered, hurdles
from tools.jobs.records import STATUSES, Hired, HireTask, Job, JobCreated, JobPage
from tools.jobs.references import job_ordered_as, judge_once, order_once
from tools.jobs.snapshot import find_mine
from tools.jobs.views import created_record, job_record, job_records
from tools.jobs.waiting_rules import TaskStatus, has_output, task_status
from tools.kernel.records import Existing, Json

HIRE_ERRORS = (*ORDER_ERRORS, Archived, ReferenceReused, PriceAboveMax)
USUALLY_WAITED = 20  # seconds; clients without a timeout of their own give up at 30 or later


class Hire(Order):
    wait_seconds: int = Field(
        USUALLY_WAITED, ge=0, le=MAX_WAITED, description="how long to wait for your turn, 0-55; 0: not at all"
    )


def is_buyers_turn(asked: Hire, hired: Hired) -> bool:
    return _is_turn_of("buyer", hired.job)


def _is_turn_of(who: str, job: Job) -> bool:
    """Tell whether a job waits for this party or for no one, or has ended.

    A job that has ended may still wait for a refund.
    """
    return job.status in FINAL or job.waiting_on is None or job.waiting_on.who == who


def look_again(ctx: TxContext, _order: Hire, *, answered: Json) -> Hired:
    """Read the ordered job again, for a call of `hire` that waits until the job changes.

    `answered` is the record that the order itself returned.
    """
    job = answered["job"]
    return _hired(ctx, Ordered(find_mine(ctx.tx, job["id"], ctx.agent, ctx.env), job["warnings"], new=False))


async def remember_terms(read_ctx: ReadContext, hired: Hired) -> None:
    """Begin the search for the payment of gas-free terms that came while the call waited."""
    if hired.terms is not None and hired.terms.gasless is not None:
        await read_ctx.store.write(lambda tx: begin_search(read_ctx.within(tx), hired.terms), "begin_search")


@operation(
    "POST /v1/hire",
    scope="buy",
    gather=judge_once,
    preconditions=hurdles,
    is_ready=is_buyers_turn,
    poll=look_again,
    before_answer=remember_terms,
    errors=HIRE_ERRORS,
    status=201,
    toolset="buying",
)
def hire(ctx: TxContext, order: Hire, judged: JudgedOrder | Document) -> Hired | Existing[Hired]:
    """Order a listing and wait for your turn: the job and the payment terms in one call.

    Nothing is charged now. Needs a listing_id of search_listings and an input that fits its input_schema; get_listing
    shows an example. It answers when payment is due (`terms` is then what to send, and pay_job proves it), when you can
    read the work, when the job has ended, or after wait_seconds: then wait with get_job. An order not accepted in time
    expires; nothing is owed. Repeated with its reference or its Idempotency-Key, the call returns the same job in its
    present state.
    """
    ordered = order_once(ctx, order, judged)
    hired = _hired(ctx, ordered)
    begin_search(ctx, hired.terms)
    return hired if ordered.new else Existing(hired)


@internal_operation("GET /v1/jobs/{job_id}", errors=(NotFound,), toolset="buying")
def read_hire(ctx: TxContext, ref: JobRef) -> HireTask:
    """Read an ordered job as its buyer: the MCP task, and what hire would answer now."""
    seen = find_mine(ctx.tx, ref.job_id, ctx.agent, ctx.env)
    if seen.role_of(ctx.agent) is not Actor.BUYER:
        raise NotFound("you have ordered no such job", param="job_id")
    facts = projected(seen, ctx.now).facts
    status, waits = task_status(facts, ctx.now), waiting_on(facts, ctx.now)
    return HireTask(
        status=status.value,
        in_vain=status is TaskStatus.COMPLETED and not has_output(facts),
        your_turn=waits.action if waits is not None and status is TaskStatus.INPUT_REQUIRED else None,
        hired=_hired(ctx, Ordered(seen, [], new=False)),
    )


def _hired(ctx: TxContext, ordered: Ordered) -> Hired:
    seen = ordered.seen
    job = created_record(ctx, seen, ordered.warned, named=ordered.named)
    is_payable = payment_due(seen.facts, ctx.now) and ctx.env in ctx.world.chains
    terms = payment_terms(ctx, seen) if is_payable else None
    return Hired(
        job=replace(job, next_steps=[]),
        terms=terms and replace(terms, next_steps=[]),
        next_steps=(terms or job).next_steps,
    )


@operation(
    "POST /v1/jobs",
    scope="buy",
    gather=judge_once,
    preconditions=hurdles,
    errors=HIRE_ERRORS,
    status=201,
    toolset="buying",
)
def create_job(ctx: TxContext, order: Order, judged: JudgedOrder | Document) -> JobCreated | Existing[JobCreated]:
    """Order a listing. Nothing is charged now.

    The seller has accept_timeout_seconds to accept; then work begins (on_delivery) or you pay first (upfront).
    If it does not answer in time, the job expires and nothing is owed. Then wait with get_job and wait_seconds.
    """
    ordered = order_once(ctx, order, judged)
    given = judged.input if ordered.new and isinstance(judged, JudgedOrder) else None
    job = created_record(ctx, ordered.seen, ordered.warned, given=given, named=ordered.named)
    return job if ordered.new else Existing(job)


class GetJob(JobRef, LongPoll):
    since: str | None = Field(
        None,
        max_length=40,
        description="with wait_seconds: updated_at of the record you have; answers on any later change",
    )


def job_is_worth_saying(asked: GetJob, job: Job) -> bool:
    """Tell whether get_job answers this record or waits on.

    With `since` it answers any change; otherwise it answers once it is the caller's turn or the job has ended.
    """
    if asked.since is not None:
        return job.updated_at != asked.since
    return _is_turn_of(job.role, job)


@operation("GET /v1/jobs/{job_id}", is_ready=job_is_worth_saying, errors=(NotFound,), toolset="jobs")
def get_job(ctx: TxContext, ref: GetJob) -> Job:
    """Read one of your jobs: status, what you can do now, what it waits for and until when.

    The output is null until it is delivered and, on on_delivery jobs, paid for. With wait_seconds it answers when it is
    your turn or the job has ended: a buyer waits here after hire.
    """
    return job_record(ctx, find_mine(ctx.tx, ref.job_id, ctx.agent, ctx.env))


def _ordered(ctx: TxContext, asked: "ListJobs", before: str) -> Sequence[JobRow]:
    """Return the row of the buyer's one job with a reference."""
    row = job_ordered_as(ctx.tx, asked.reference, ctx.agent, ctx.env)
    return [row] if row and row.id < before and asked.role != "seller" else []


def _split(given: Json) -> Json:
    """Split a text with commas, as HTTP sends a list; earlier clients send one status as a text."""
    return given.split(",") if isinstance(given, str) else given


Statuses = Annotated[list[STATUSES], BeforeValidator(_split), Field(min_length=1, max_length=12)]


class ListJobs(Listed):
    role: Literal["buyer", "seller"] | None = Field(None, description="only what you ordered, or only what you sell")
    status: Statuses | None = Field(None, description="only jobs in one of these states; over HTTP with commas")
    reference: str | None = Field(None, pattern=REFERENCE, description="only the job you ordered with this reference")


@operation("GET /v1/jobs", errors=(InvalidCursor,), toolset="jobs")
async def list_jobs(read_ctx: ReadContext, asked: ListJobs) -> JobPage:
    """List your jobs, newest first, as buyer, seller or both; of some statuses if you name them.

    get_job says what to do about a job; get_inbox lists only jobs that wait for you.
    """
    wanted = dict.fromkeys(asked.status or ())
    before = place_of(read_ctx, asked, read_ctx.caller.agent) or LAST_JOB

    def is_wanted(job: Job) -> bool:
        return not wanted or job.status in wanted  # a row may lag behind its deadline

    def look(tx: Tx) -> PageRows[Job]:
        ctx = read_ctx.within(tx)
        rows = _ordered(ctx, asked, before) if asked.reference is not None else _listed(ctx, asked, wanted, before)
        records = (job for _, job in job_records(ctx, rows[: asked.limit]))
        return PageRows([row.id for row in rows], records, is_wanted)

    return JobPage(**await page_in_turns(read_ctx, asked, look))


def _listed(ctx: TxContext, asked: ListJobs, wanted: Iterable[str], before: str) -> Sequence[JobRow]:
    """Return the rows of a page of jobs, and one more if there is one."""
    named = {f"status_{number}": status for number, status in enumerate(wanted)}
    query = jobs_of(asked.role or "both", len(named))
    return ctx.tx.all(query, agent_id=ctx.agent, env=ctx.env, before=before, limit=asked.limit + 1, **named)
