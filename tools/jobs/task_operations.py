"""Operations on jobs as A2A tasks and on their push notifications; only the A2A surface calls them.

Each push config is a webhook of one job. The catalogue does not list these operations.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any

import orjson
from pydantic import Field

from storage.events import end_webhook, newest_event, pushes_of_job
from storage.jobs import count_of_tasks, tasks_of
from storage.tables import AgentRow, JobRow, WebhookRow
from storage.vocabulary import JobStatus, PushForm, WebhookSource, WebhookStatus
from tools.engine.arguments import Listed, LongPoll
from tools.engine.context import TxContext
from tools.engine.errors import InvalidCursor, NotFound
from tools.engine.outgoing_urls import callable_url
from tools.engine.paging import page
from tools.engine.registry import internal_operation
from tools.events.webhooks.errors import WebhookLimit
from tools.events.webhooks.logic import PUSHED_KINDS, TASK_KEPT, revived, seal_secret
from tools.jobs.logic import LAST_JOB, JobRef
from tools.jobs.records import PushConfig, PushConfigDeleted, PushConfigPage, Task, TaskPage
from tools.jobs.snapshot import find_mine
from tools.jobs.views import job_records, newest_of, task_of, task_record
from tools.kernel.records import EPOCH, Json, shown_columns
from tools.kernel.ssrf_guard import MAX_URL_CHARACTERS

MAX_MESSAGES = 100
MOVING = frozenset({JobStatus.OPEN, JobStatus.QUOTE_REQUESTED, JobStatus.IN_PROGRESS, JobStatus.DISPUTED})
LATEST = datetime(9999, 1, 1, tzinfo=EPOCH.tzinfo)


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
    kinds = asked.statuses is not None, asked.context_id is not None, asked.seller_id is not None
    wanted: dict[str, Any] = {"agent_id": ctx.agent, "env": ctx.env, "since": moment(asked.since)}
    given = {"statuses": asked.statuses, "context_id": asked.context_id, "seller_id": asked.seller_id}
    wanted |= {name: value for name, value in given.items() if value is not None}

    def rows_of(place: Any, most: int) -> Sequence[JobRow]:
        at, before = (LATEST, LAST_JOB) if place is None else (datetime.fromisoformat(place[0]), place[1])
        return ctx.tx.all(tasks_of(*kinds), **wanted, at=at, before=before, limit=most)

    def to_records(rows: Sequence[JobRow]) -> Iterator[Task]:
        return (task_record(ctx, seen, job, newest, []) for seen, job in job_records(ctx, rows))

    def is_wanted(task: Task) -> bool:
        return asked.statuses is None or task.job.status in asked.statuses

    def place_of(row: JobRow) -> list[str]:
        return [row.updated_at.isoformat(), row.id]

    total = ctx.tx.one(count_of_tasks(*kinds), **wanted) or 0
    return TaskPage(**page(ctx, asked, rows_of, to_records, key=place_of, shows=is_wanted), total=total)


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, EPOCH.tzinfo)


TOKEN_HEADER = "X-A2A-Notification-Token"  # noqa: S105 - a header's name
SCOPES = ("buy", "sell", "admin:self")
HeaderText = Annotated[str, Field(pattern=r"^[!-~]([ -~]*[!-~])?$", max_length=4096)]


class PushRef(JobRef):
    id: str = Field(min_length=1, max_length=256)


class SetPush(PushRef):
    url: str = Field(max_length=MAX_URL_CHARACTERS)
    form: PushForm = Field(strict=False)
    token: HeaderText | None = None
    scheme: Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$")] | None = None
    credentials: HeaderText | None = None


@internal_operation(
    "POST /v1/webhooks",
    scope=SCOPES,
    scopes_beside=("read",),
    errors=(NotFound, WebhookLimit),
    idempotent=True,
    toolset="jobs",
)
def set_push(ctx: TxContext, wanted: SetPush) -> PushConfig:
    """Add a URL that a task is posted to whenever it changes, or replace the one with this id.

    Each party may have at most five URLs.
    """
    find_mine(ctx.tx, wanted.job_id, ctx.agent, ctx.env)
    callable_url(ctx.config, wanted.url, "url")
    ctx.tx.get(AgentRow, ctx.agent, lock=True)  # the lock keeps concurrent calls within the limit
    rows = ctx.tx.all(pushes_of_job, agent_id=ctx.agent, job_id=wanted.job_id)
    row = next((one for one in rows if one.config_id == wanted.id), None)
    if row is not None:
        row = ctx.tx.get(WebhookRow, row.id, lock=True) or row  # the delivery worker changes it too
        since = row.since if row.status is WebhookStatus.ACTIVE else _newest(ctx)
        return _config(revived(ctx, row, since=since, **_said(ctx, row.id, wanted)))
    most = ctx.config.limits.webhooks_per_task
    if len(rows) >= most:
        raise WebhookLimit(
            f"you have {len(rows)} push notification configs for this task, at most {most} are allowed",
            hint="Set one of them again under its id, or delete one.",
            active=len(rows),
            limit=most,
        )
    return _config(_added(ctx, wanted))


@internal_operation("GET /v1/webhooks", errors=(NotFound,), toolset="jobs")
def read_push(ctx: TxContext, ref: PushRef) -> PushConfig:
    """Return one push config of the caller."""
    found = [row for row in _mine(ctx, ref.job_id) if row.config_id == ref.id]
    if not found:
        raise NotFound("you have no such push notification config for this task", param="id")
    return _config(found[0])


@internal_operation("GET /v1/webhooks", errors=(NotFound,), toolset="jobs")
def read_pushes(ctx: TxContext, ref: JobRef) -> PushConfigPage:
    """List the caller's push configs for one task, oldest first."""
    return PushConfigPage(data=[_config(row) for row in _mine(ctx, ref.job_id)])


@internal_operation(
    "POST /v1/webhooks", scope=SCOPES, errors=(NotFound,), destructive=True, idempotent=True, toolset="jobs"
)
def end_push(ctx: TxContext, ref: PushRef) -> PushConfigDeleted:
    """Delete a push config; not even queued events are posted. A missing one is no error."""
    for row in _mine(ctx, ref.job_id):
        if row.config_id == ref.id:
            ctx.tx.run(end_webhook, id=row.id)
    return PushConfigDeleted(id=ref.id)


def _mine(ctx: TxContext, job_id: str) -> list[WebhookRow]:
    find_mine(ctx.tx, job_id, ctx.agent, ctx.env)
    return ctx.tx.all(pushes_of_job, agent_id=ctx.agent, job_id=job_id)


def _added(ctx: TxContext, wanted: SetPush) -> WebhookRow:
    webhook_id = ctx.new_id("whk_")
    return ctx.tx.add(
        WebhookRow(
            id=webhook_id,
            agent_id=ctx.agent,
            env=ctx.env,
            source=WebhookSource.TASK,
            event_types=sorted(PUSHED_KINDS),
            secret=None,
            since=_newest(ctx),
            job_id=wanted.job_id,
            config_id=wanted.id,
            created_at=ctx.now,
            updated_at=ctx.now,
            **_said(ctx, webhook_id, wanted),
        )
    )


def _newest(ctx: TxContext) -> int:
    """Return the number of the caller's newest event; earlier events are not sent."""
    return ctx.tx.one(newest_event, agent_id=ctx.agent, env=ctx.env) or 0


def _said(ctx: TxContext, webhook_id: str, wanted: SetPush) -> dict[str, Json]:
    """Return the columns that can be set again; the headers are encrypted like secrets."""
    shown = {} if wanted.token is None else {TOKEN_HEADER: wanted.token}
    if wanted.scheme is not None and wanted.credentials is not None:
        shown["Authorization"] = f"{wanted.scheme} {wanted.credentials}"
    return {
        "url": wanted.url,
        "form": wanted.form,
        "scheme": wanted.scheme,
        "headers": seal_secret(ctx, webhook_id, orjson.dumps(shown).decode()) if shown else None,
        "kept_until": ctx.now + TASK_KEPT,
    }


def _config(row: WebhookRow) -> PushConfig:
    assert row.config_id is not None
    return PushConfig(id=row.config_id, **shown_columns(row, "job_id", "url", "scheme"))
