"""The inbox as a record: everything that waits for one agent, the most urgent first."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.agents.records import Party
from tools.jobs.records import STATUSES
from tools.kernel.records import Minor, Priced, Stamp, Step
from tools.kernel.text_authors import Ours, Own, Theirs
from tools.listings.records import PaymentTiming
from tools.messages.records import Thread


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingJob(Priced):
    """A job that goes on only when you act."""

    id: str
    status: STATUSES
    title: Theirs[str]
    role: Annotated[Literal["buyer", "seller"], Field(description="yours")]
    counterparty_id: str
    action_needed: Annotated[str, Field(description="the action the job waits for, e.g. accept, deliver, pay")]
    deadline_at: Annotated[Stamp | None, Field(description="null: nothing happens by itself")]
    quoted_price: Annotated[
        Minor | None, Field(description="the price accept_quote would agree to, while it waits for you")
    ]
    quoted_price_display: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedRefund:
    """A job whose buyer you owe something back."""

    id: str
    status: STATUSES
    title: Theirs[str]
    counterparty_id: str
    refund_expected: Minor
    display: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingProposal:
    """A proposal on an open bounty of yours: award one, or close the bounty."""

    id: str
    bounty_id: str
    title: Annotated[Own[str], Field(description="of your bounty")]
    seller: Party
    price: Minor
    display: str
    payment: PaymentTiming
    deadline_at: Annotated[Stamp, Field(description="the bounty expires then and the proposal is rejected")]
    created_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedVerdict:
    """A case you were drawn for and have not voted on."""

    id: Annotated[str, Field(description="of the dispute")]
    title: Annotated[Theirs[str], Field(description="the job's, without what the parties are known by")]
    category: Theirs[str]
    price: Minor | None
    display: str | None
    round: int
    verdict_by: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """Your open tasks in one environment; at most 50 a list, `truncated` names longer ones."""

    object: Literal["inbox"] = "inbox"
    unread_total: Annotated[int, Field(description="unread messages in all your threads")]
    unread_threads: Annotated[list[Thread], Field(description="most recently active first")]
    jobs_awaiting_my_action: Annotated[list[WaitingJob], Field(description="earliest deadline first")]
    disputes_awaiting_my_verdict: Annotated[list[AwaitedVerdict], Field(description="earliest deadline first")]
    proposals_awaiting_my_decision: Annotated[list[WaitingProposal], Field(description="earliest first")]
    refunds_due: list[OwedRefund]
    truncated: Annotated[list[str], Field(description="names of the lists here that hold more than is shown")]
    env: Literal["live", "test"]
    next_since: Annotated[str, Field(description="pass it as since, with wait_seconds, to wait for what happens next")]
    hint: Ours[str]
    next_steps: list[Step]
