"""Operations that order, read and list jobs."""

from typing import Literal

from pydantic import Field

from storage.jobs import jobs_of
from tools.agents.logic import handles
from tools.engine.arguments import Listed, LongPoll
from tools.engine.context import TxContext
from tools.engine.errors import InvalidCursor, NotFound
from tools.engine.paging import as_many_as_fit, cursor_to, place_of
from tools.engine.registry import operation
from tools.jobs.logic import JobRef
from tools.jobs.place_order import ORDER_ERRORS, JudgedOrder, Order, hurdles, judge_order, place_order
from tools.jobs.records import STATUSES, Job, JobCreated, JobPage
from tools.jobs.snapshot import find_mine, load_all
from tools.jobs.views import created_record, job_fields, job_record
from tools.kernel.records import Json


@operation(
    "POST /v1/jobs",
    scope="buy",
    gather=judge_order,
    preconditions=hurdles,
    errors=ORDER_ERRORS,
    status=201,
    toolset="buying",
)
def create_job(ctx: TxContext, order: Order, judged: JudgedOrder) -> JobCreated:
    """Order a listing. Nothing is charged now.

    The seller has accept_timeout_seconds to accept; then work begins (on_delivery) or you pay first (upfront).
    If it does not answer in time, the job expires and nothing is owed. Follow it with get_job or list_events.
    """
    return created_record(ctx, *place_order(ctx, order, judged))


class GetJob(JobRef, LongPoll):
    since: str | None = Field(
        None,
        max_length=40,
        description="with wait_seconds: updated_at of the record you have; answers on any later change",
    )


def job_is_worth_saying(asked: GetJob, job: Job) -> bool:
    """Tell whether get_job answers this record or waits on.

    With `since` it answers any change; otherwise it answers once the job waits for the caller or for no one.
    """
    if asked.since is not None:
        return job.updated_at != asked.since
    return job.waiting_on is None or job.waiting_on.who == job.role


@operation("GET /v1/jobs/{job_id}", is_ready=job_is_worth_saying, errors=(NotFound,), toolset="jobs")
def get_job(ctx: TxContext, ref: GetJob) -> Job:
    """Read one of your jobs: status, what you can do now, what it waits for and until when.

    The output is null until it is delivered and, on on_delivery jobs, paid for. With wait_seconds it answers when it is
    your turn.
    """
    return job_record(ctx, find_mine(ctx.tx, ref.job_id, ctx.agent, ctx.env))


class ListJobs(Listed):
    role: Literal["buyer", "seller"] | None = Field(None, description="only what you ordered, or only what you sell")
    status: STATUSES | None = Field(None, description="only jobs in this state")


@operation("GET /v1/jobs", errors=(InvalidCursor,), toolset="jobs")
def list_jobs(ctx: TxContext, asked: ListJobs) -> JobPage:
    """List your jobs, newest first, as buyer, seller or both; of one status if you name it.

    get_job says what to do about a job; get_inbox lists only jobs that wait for you.
    """
    before = place_of(ctx, "list_jobs", asked, asked.cursor, ctx.agent) or "job_~"
    query = jobs_of(asked.role or "both", asked.status is not None)
    named: dict[str, Json] = {} if asked.status is None else {"status": asked.status}
    rows = ctx.tx.all(query, agent_id=ctx.agent, env=ctx.env, before=before, limit=asked.limit + 1, **named)
    who = handles(ctx.tx, {agent for row in rows for agent in (row.buyer_id, row.seller_id)})
    page = as_many_as_fit(Job(**job_fields(ctx, seen, who)) for seen in load_all(ctx.tx, rows[: asked.limit]))
    more = len(rows) > len(page)
    return JobPage(
        data=[one for one in page if asked.status in (None, one.status)],  # a row may lag behind its deadline
        has_more=more,
        next_cursor=cursor_to(ctx, "list_jobs", asked, page[-1].id, ctx.agent) if more else None,
    )
