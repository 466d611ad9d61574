"""Operations that read jobs as A2A tasks; they are unlisted, so no catalogue contains them."""

from datetime import datetime
from typing import Any

from pydantic import Field

from storage.jobs import count_of_tasks, tasks_of
from storage.tables import JobRow
from storage.vocabulary import JobStatus
from tools.agents.logic import handles
from tools.engine.arguments import Listed, LongPoll
from tools.engine.context import TxContext
from tools.engine.errors import InvalidCursor, NotFound
from tools.engine.paging import as_many_as_fit, cursor_to, place_of
from tools.engine.registry import internal_operation
from tools.jobs.logic import JobRef
from tools.jobs.snapshot import load_all
from tools.jobs.task_records import Task, TaskPage
from tools.jobs.task_view import newest_of, task_of, task_record
from tools.kernel.records import EPOCH

MAX_MESSAGES = 100
MOVING = frozenset({JobStatus.OPEN, JobStatus.QUOTE_REQUESTED, JobStatus.IN_PROGRESS, JobStatus.DISPUTED})
LATEST, LAST_JOB = datetime(9999, 1, 1, tzinfo=EPOCH.tzinfo), "job_~"


class TaskRef(JobRef, LongPoll):
    messages: int = Field(MAX_MESSAGES, ge=0, le=MAX_MESSAGES, description="how many of the thread's newest messages")


def task_rests(asked: TaskRef, task: Task) -> bool:
    """Tell whether the task has ended, or continues only when its buyer acts."""
    return task.job.status not in MOVING


@internal_operation("GET /v1/jobs/{job_id}", is_ready=task_rests, errors=(NotFound,), toolset="jobs")
def read_task(ctx: TxContext, ref: TaskRef) -> Task:
    """Read a job, its payments and the messages of its thread.

    Later events of the job have a higher number than newest_event.
    """
    return task_of(ctx, ref.job_id, ref.messages)


class TaskList(Listed):
    context_id: str | None = None
    seller_id: str | None = None
    statuses: list[str] | None = None
    since: int = Field(0, ge=0, le=10**14, description="milliseconds since 1970")


@internal_operation("GET /v1/jobs", errors=(InvalidCursor,), toolset="jobs")
def read_tasks(ctx: TxContext, asked: TaskList) -> TaskPage:
    """List the jobs that the caller ordered, the last changed first."""
    newest = newest_of(ctx)
    place: Any = place_of(ctx, "read_tasks", asked, asked.cursor, ctx.agent)
    at, before = (LATEST, LAST_JOB) if place is None else (datetime.fromisoformat(place[0]), place[1])
    kinds = asked.statuses is not None, asked.context_id is not None, asked.seller_id is not None
    wanted: dict[str, Any] = {"agent_id": ctx.agent, "env": ctx.env, "since": moment(asked.since)}
    wanted |= {} if asked.statuses is None else {"statuses": asked.statuses}
    wanted |= {} if asked.context_id is None else {"context_id": asked.context_id}
    wanted |= {} if asked.seller_id is None else {"seller_id": asked.seller_id}
    rows = ctx.tx.all(tasks_of(*kinds), **wanted, at=at, before=before, limit=asked.limit + 1)
    named = handles(ctx.tx, {agent for row in rows for agent in (row.buyer_id, row.seller_id)})
    page = as_many_as_fit(task_record(ctx, seen, named, newest, []) for seen in load_all(ctx.tx, rows[: asked.limit]))
    more = len(rows) > len(page)
    return TaskPage(
        data=[one for one in page if asked.statuses is None or one.job.status in asked.statuses],  # as in list_jobs
        has_more=more,
        next_cursor=_cursor(ctx, asked, rows[len(page) - 1]) if more else None,
        total=ctx.tx.one(count_of_tasks(*kinds), **wanted) or 0,
    )


def _cursor(ctx: TxContext, asked: TaskList, last: JobRow) -> str:
    return cursor_to(ctx, "read_tasks", asked, [last.updated_at.isoformat(), last.id], ctx.agent)


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, EPOCH.tzinfo)
