"""Records of tasks: a job with the other data that A2A or MCP shows."""

from dataclasses import dataclass
from typing import Literal

from tools.jobs.payments.records import Settlement
from tools.jobs.records import Hired, Job
from tools.messages.records import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentDue:
    """The amount that the buyer must still send, and the seconds left."""

    amount: int
    confirmations: int
    seconds_left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A job as a task over A2A."""

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
    """A URL that a task is posted to whenever it changes.

    The credentials in the posts are never shown.
    """

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
    """A deleted push config: nothing more is posted to its URL."""

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
    """A job as a task of its buyer over MCP."""

    object: Literal["hire_task"] = "hire_task"
    status: Literal["working", "input_required", "completed", "cancelled"]
    in_vain: bool  # the job has ended without output for its buyer
    your_turn: str | None  # the action that the buyer must take
    hired: Hired
