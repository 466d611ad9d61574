"""Tasks: jobs with everything A2A says of them. Reads that go through the door, but stand in no catalogue."""

from datetime import datetime
from typing import Any

import orjson
from pydantic import Field

from storage.events import newest_event
from storage.jobs import count_of_tasks, tasks_of
from storage.messages import messages_of
from storage.tables import JobRow, SettlementKind, ThreadRow
from tools.arguments import Listed, Waiting
from tools.context import Context
from tools.errors import InvalidCursor, NotFound
from tools.records.base import EPOCH
from tools.records.jobs import Job
from tools.records.tasks import PaymentDue, Task, TaskPage
from tools.records.threads import Message
from tools.registry import unlisted
from tools.rules.ids import event_id
from tools.rules.jobfacts import JobStatus, PaymentStatus, payment_status
from tools.rules.lifecycle import clocked
from tools.steps.jobs import JobRef, SeenJob, find_mine, foretold, see_all
from tools.steps.paging import cursor_to, filled, place_of
from tools.steps.settlements import settlement_record
from tools.steps.threads import message_records
from tools.steps.views import handles, job_fields

MOST_MESSAGES = 100
MOVING = frozenset({JobStatus.OPEN, JobStatus.QUOTE_REQUESTED, JobStatus.IN_PROGRESS, JobStatus.DISPUTED})
LATEST, LAST_JOB = datetime(9999, 1, 1, tzinfo=EPOCH.tzinfo), "job_~"


class TaskRef(JobRef, Waiting):
    messages: int = Field(MOST_MESSAGES, ge=0, le=MOST_MESSAGES, description="how many of the thread's newest")


def task_rests(asked: TaskRef, task: Task) -> bool:
    """Whether it has ended, or goes on only when its buyer acts."""
    return task.job.status not in MOVING


@unlisted("GET /v1/jobs/{job_id}", ready=task_rests, errors=(NotFound,), toolset="jobs")
def read_task(ctx: Context, ref: TaskRef) -> Task:
    """A job, its payments and what was said in its thread; what is told of it later has a higher number than newest_event."""
    newest = _newest(ctx)
    seen = find_mine(ctx.tx, ref.job_id, ctx.agent, ctx.env)
    named = handles(ctx.tx, {seen.row.buyer_id, seen.row.seller_id})
    return _task(ctx, seen, named, newest, _messages(ctx, seen, ref.messages))


class TaskList(Listed):
    context_id: str | None = None
    seller_id: str | None = None
    statuses: list[str] | None = None
    since: int = Field(0, ge=0, le=10**14, description="milliseconds since 1970")


@unlisted("GET /v1/jobs", errors=(InvalidCursor,), toolset="jobs")
def read_tasks(ctx: Context, asked: TaskList) -> TaskPage:
    """What the caller ordered, what changed last first."""
    newest = _newest(ctx)
    place: Any = place_of(ctx, "read_tasks", asked, asked.cursor, ctx.agent)
    at, before = (LATEST, LAST_JOB) if place is None else (datetime.fromisoformat(place[0]), place[1])
    kinds = asked.statuses is not None, asked.context_id is not None, asked.seller_id is not None
    wanted: dict[str, Any] = {"agent_id": ctx.agent, "env": ctx.env, "since": moment(asked.since)}
    wanted |= {} if asked.statuses is None else {"statuses": orjson.dumps(sorted(asked.statuses)).decode()}
    wanted |= {} if asked.context_id is None else {"context_id": asked.context_id}
    wanted |= {} if asked.seller_id is None else {"seller_id": asked.seller_id}
    rows = ctx.tx.all(tasks_of(*kinds), **wanted, at=at, before=before, limit=asked.limit + 1)
    named = handles(ctx.tx, {agent for row in rows for agent in (row.buyer_id, row.seller_id)})
    page = filled(_task(ctx, seen, named, newest, []) for seen in see_all(ctx.tx, rows[: asked.limit]))
    more = len(rows) > len(page)
    return TaskPage(
        data=[one for one in page if asked.statuses is None or one.job.status in asked.statuses],  # as in list_jobs
        has_more=more,
        next_cursor=_cursor(ctx, asked, rows[len(page) - 1]) if more else None,
        total=ctx.tx.one(count_of_tasks(*kinds), **wanted) or 0,
    )


def _cursor(ctx: Context, asked: TaskList, last: JobRow) -> str:
    return cursor_to(ctx, "read_tasks", asked, [last.updated_at.isoformat(), last.id], ctx.agent)


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, EPOCH.tzinfo)


def _newest(ctx: Context) -> str | None:
    """Read before the job: what happens in between is told twice rather than never."""
    number = ctx.tx.one(newest_event, agent_id=ctx.agent, env=ctx.env)
    return event_id(number) if number else None


def _task(ctx: Context, seen: SeenJob, named: dict[str, str], newest: str | None, messages: list[Message]) -> Task:
    payments = [one for one in seen.settlements if one.kind is SettlementKind.PAYMENT]
    return Task(
        job=Job(**job_fields(ctx, seen, named)),
        context_id=seen.row.context_id or seen.row.thread_id,
        message_id=seen.row.message_id,
        newest_event=newest,
        messages=messages,
        payments=[settlement_record(one, ctx.network, ctx.agent) for one in payments],
        due=_due(ctx, foretold(seen, ctx.now)),
    )


def _due(ctx: Context, seen: SeenJob) -> PaymentDue | None:
    facts = clocked(seen.facts, ctx.now)
    if payment_status(facts, ctx.now) is not PaymentStatus.DUE:
        return None
    ends = seen.row.pay_by
    return PaymentDue(
        amount=(seen.row.price or 0) - facts.partial_minor,
        confirmations=ctx.network.confirmations,
        seconds_left=0 if ends is None else max(0, int((ends - ctx.now).total_seconds())),
    )


def _messages(ctx: Context, seen: SeenJob, most: int) -> list[Message]:
    """The newest of the thread, the oldest of them first."""
    thread = ctx.tx.get(ThreadRow, seen.row.thread_id) if most else None
    if thread is None or not thread.message_count:
        return []
    rows = ctx.tx.all(messages_of(newest_first=True), thread_id=thread.id, place=thread.message_count + 1, limit=most)
    return message_records(ctx, thread, reversed(rows))
