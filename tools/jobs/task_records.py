"""Tasks: a job with what A2A or MCP says of it beside its record."""

from dataclasses import dataclass
from typing import Literal

from tools.jobs.payments.records import Settlement
from tools.jobs.records import Hired, Job
from tools.messages.records import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentDue:
    """What the buyer still has to send, and within how many seconds."""

    amount: int
    confirmations: int
    seconds_left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A job as the task it is over A2A."""

    object: Literal["task"] = "task"
    job: Job
    context_id: str
    message_id: str | None
    newest_event: str | None
    messages: list[Message]
    payments: list[Settlement]
    due: PaymentDue | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PushConfig:
    """A URL that a task is posted to whenever it changes. What the posts carry for it to let them in is shown to nobody."""

    object: Literal["push_config"] = "push_config"
    id: str
    job_id: str
    url: str
    scheme: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PushConfigPage:
    """All push configs of the caller for one task."""

    object: Literal["list"] = "list"
    data: list[PushConfig]


@dataclass(frozen=True, slots=True, kw_only=True)
class PushConfigDeleted:
    """Nothing more is posted to it."""

    object: Literal["push_config"] = "push_config"
    id: str
    deleted: Literal[True] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """One page of tasks, without their messages."""

    object: Literal["list"] = "list"
    data: list[Task]
    has_more: bool
    next_cursor: str | None
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HireTask:
    """A job as the task over MCP of whoever ordered it."""

    object: Literal["hire_task"] = "hire_task"
    status: Literal["working", "input_required", "completed", "cancelled"]
    in_vain: bool  # it has ended, and left its buyer no output
    your_turn: str | None  # the action that is the buyer's to take
    hired: Hired
