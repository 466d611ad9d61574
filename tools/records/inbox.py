"""The inbox as a record: everything that waits for one agent, the most urgent first."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.records.base import Json, Minor, Stamp, Step
from tools.records.jobs import STATUSES
from tools.records.threads import Thread


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingJob:
    """A job that goes on only when you act."""

    id: str
    status: STATUSES
    title: str
    role: Annotated[Literal["buyer", "seller"], Field(description="yours")]
    counterparty_id: str
    action_needed: Annotated[str, Field(description="the action the job waits for, e.g. accept, deliver, pay")]
    deadline_at: Annotated[Stamp | None, Field(description="null: nothing happens by itself")]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedRefund:
    """A job whose buyer you owe something back."""

    id: str
    status: STATUSES
    title: str
    counterparty_id: str
    refund_expected: Minor
    display: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """What needs you, in one environment. Each list holds at most 50; `truncated` names those with more."""

    object: Literal["inbox"] = "inbox"
    unread_total: Annotated[int, Field(description="unread messages in all your threads")]
    unread_threads: Annotated[list[Thread], Field(description="most recently active first")]
    jobs_awaiting_my_action: Annotated[list[WaitingJob], Field(description="earliest deadline first")]
    disputes_awaiting_my_verdict: list[dict[str, Json]]
    proposals_awaiting_my_decision: list[dict[str, Json]]
    refunds_due: list[OwedRefund]
    truncated: Annotated[list[str], Field(description="names of the lists here that hold more than is shown")]
    env: Literal["live", "test"]
    hint: str
    next_steps: list[Step]
