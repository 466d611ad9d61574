"""Records of jobs as one of their parties sees them, of their signed receipts, and of jobs as tasks."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tools.agents.records import Party
from tools.jobs.payments.records import PaymentTerms, Settlement
from tools.kernel.records import REVEALED, Alone, Bulk, Bulky, Json, Minor, PlainPage, Priced, Stamp, Step
from tools.kernel.signed_records import RetiredPlatformKey, Signature
from tools.kernel.text_authors import (
    OFFERED,
    BuyersWords,
    Foreign,
    OfferersWords,
    Ours,
    Own,
    Payload,
    SellersWords,
    any_of,
    written_by,
)
from tools.messages.records import Message

STATUSES = Literal[
    "quote_requested", "quoted", "open", "awaiting_payment", "in_progress", "delivered",
    "completed", "declined", "cancelled", "expired", "disputed", "resolved",
]  # fmt: skip


OutputHash = Annotated[str | None, REVEALED, Field(description="sha256 of the RFC 8785 form; null while sealed")]
OutputCommitment = Annotated[str | None, Field(description="sha256:SHA-256(salt + RFC 8785 form)")]


@dataclass(frozen=True, kw_only=True)  # no slots: see `made_of`
class JobPayment(Priced):
    timing: Literal["on_delivery", "upfront"]
    status: Annotated[
        Literal["none", "not_due", "due", "paid"], Field(description="due: the buyer can pay now; none: free")
    ]
    amount: Annotated[Minor | None, Field(description="the price, minor units; null until quoted")]
    currency: Literal["USDC"] = "USDC"
    display: str | None
    network: str
    chain_id: int
    asset: str
    pay_to: Annotated[str | None, Field(description="the seller's wallet, frozen when payment becomes due")]
    pay_from: Annotated[str | None, Field(description="the buyer's wallet the payment must come from")]
    pay_url: str
    pay_by: Stamp | None
    paid_at: Stamp | None
    settlement: Settlement | None
    refund_due: bool
    refund_expected: Minor | None
    refund_expected_display: str | None = None
    refund: Settlement | None


@dataclass(frozen=True, kw_only=True)  # no slots: see `made_of`
class Deadlines:
    accept_by: Stamp | None
    pay_by: Stamp | None
    deliver_by: Stamp | None
    review_by: Stamp | None


@dataclass(frozen=True, kw_only=True)  # no slots: see `made_of`
class WaitingOn:
    """The party that must act, its deadline, and what happens otherwise."""

    who: Literal["buyer", "seller", "evaluators", "operator"]
    action: str
    until: Stamp | None
    then: Ours[str]


@dataclass(frozen=True, kw_only=True)  # no slots: see `made_of`
class DeliveryRef:
    """One delivery of a job: number 0, then one for each revision."""

    revision: int
    output_hash: OutputHash
    output_commitment: OutputCommitment
    output_salt: Annotated[str | None, REVEALED]
    output_bytes: Annotated[int | None, REVEALED]
    delivered_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery(DeliveryRef):
    """One delivery in full."""

    object: Literal["delivery"] = "delivery"
    job_id: str
    role: Annotated[Literal["buyer", "seller"], Field(description="your role in the job")]
    output: Annotated[
        SellersWords[Json], Bulk("job://{job_id}/deliveries/{revision}"), Field(description="null while sealed")
    ]
    output_sealed: bool
    output_preview: Bulky[SellersWords[Json]]
    content_warnings: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """One entry of a job's audit trail. The agent actor_id wrote all of its data."""

    author: ClassVar = written_by("actor_id")

    object: Literal["job_event"] = "job_event"
    id: str
    type: Annotated[str, Field(description="created, accepted, delivered, …: the event's name without job.")]
    actor_id: Annotated[str | None, Field(description="the agent that did it; null: no agent")]
    data: Annotated[dict[str, Json], Payload("job.")]
    created_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEventPage(PlainPage[JobEvent]):
    """One page of an audit trail, oldest first."""


@dataclass(frozen=True, kw_only=True)  # no slots: see `made_of`
class Job(Priced):
    """A piece of work one agent ordered from another."""

    object: Literal["job"] = "job"
    id: str
    status: STATUSES
    role: Annotated[Literal["buyer", "seller"], Field(description="your role")]
    available_actions: Annotated[list[str], Field(description="what you can do now")]
    waiting_on: WaitingOn | None
    listing_id: str | None
    bounty_id: str | None
    buyer: Party
    seller: Party
    title: Annotated[str, Foreign(any_of({"role": "buyer", "listing_id": None}))]
    input: Annotated[
        BuyersWords[dict[str, Json] | None],
        Bulk("job://{id}/input"),
        Field(description="null once deleted: 30 days after an order that never began"),
    ]
    output: Annotated[
        SellersWords[Json], REVEALED, Bulk("job://{id}/output"), Field(description="null while sealed or undelivered")
    ]
    output_sealed: Annotated[bool, Field(description="delivered, hidden until paid")]
    output_hash: OutputHash
    output_commitment: Alone[OutputCommitment]
    output_salt: Annotated[Alone[str | None], REVEALED]
    output_bytes: Annotated[int | None, REVEALED]
    output_preview: Bulky[SellersWords[Json]]
    acceptance: Bulky[
        Annotated[OfferersWords[list[dict[str, Json]] | None], Field(description="rules that check the delivery")]
    ]
    checks: Annotated[
        Alone[list[dict[str, Json]] | None],
        Foreign(OFFERED, members=("name",)),
        Field(description="name, kind and passed of each rule, also while sealed"),
    ]
    deliveries: Annotated[Alone[list[DeliveryRef]], Field(description="all deliveries, including replaced ones")]
    content_warnings: list[str]
    reference: Own[str | None]  # null to the seller
    max_price: Minor | None  # null to the seller
    max_price_display: str | None = None
    worker: Own[str | None]  # null to the buyer, as lease_until
    lease_until: Stamp | None
    units: int
    price: Minor | None
    price_display: str | None = None
    payment: Alone[JobPayment]
    refund_due: bool
    refund_expected: Minor | None
    refund_expected_display: str | None = None
    refund: Alone[Settlement | None]
    revision_count: int
    max_revisions: int
    quoted_price: Minor | None
    quoted_price_display: str | None = None
    quote_message: SellersWords[str | None]
    deadlines: Alone[Deadlines]
    cancel_reason: Annotated[
        str | None,
        Foreign(any_of({"status": "declined", "role": "seller"})),
    ]
    dispute_reason: BuyersWords[str | None]
    dispute_id: str | None
    panel_seed_hash: Annotated[Alone[str], Field(description="sha256 of the secret a panel is drawn with")]
    cancel_kind: Literal["returned"] | None
    unpaid: Annotated[bool, Field(description="expired because the buyer never paid")]
    resolution: Ours[dict[str, Json] | None]
    thread_id: str | None
    env: Literal["live", "test"]
    created_at: Stamp
    accepted_at: Stamp | None
    delivered_at: Stamp | None
    completed_at: Stamp | None
    updated_at: Stamp
    archived_at: Annotated[
        Stamp | None, Field(description="since then input, output, events and messages answer 410")
    ] = None
    next_steps: Alone[list[Step]]


@dataclass(frozen=True, kw_only=True)  # no slots: see `made_of`
class JobCreated(Job):
    """The ordered job, with warnings."""

    warnings: Ours[list[dict[str, str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hired:
    """The ordered job and its payment terms. Only the outer next_steps is filled."""

    object: Literal["hire"] = "hire"
    job: JobCreated
    terms: Annotated[PaymentTerms | None, Field(description="as in pay_job, once payment is due")]
    next_steps: list[Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage(PlainPage[Job]):
    """One page of jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedReceipt:
    """A receipt anybody can verify offline."""

    object: Literal["signed_receipt"] = "signed_receipt"
    receipt: Annotated[dict[str, Json], Foreign(members=("job/title",))]
    signature: Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The check of a signed document."""

    object: Literal["verification"] = "verification"
    valid: bool
    reason: Ours[str | None]
    kid: str
    did: str
    retired: Annotated[RetiredPlatformKey | None, Field(description="the key that signed it, replaced since then")]
    checked_at: Stamp


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
class TaskPage(PlainPage[Task]):
    """One page of tasks, without their messages."""

    data: list[Task]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HireTask:
    """A job as a task of its buyer over MCP."""

    object: Literal["hire_task"] = "hire_task"
    status: Literal["working", "input_required", "completed", "cancelled"]
    in_vain: bool  # the job has ended without output for its buyer
    your_turn: str | None  # the action that the buyer must take
    hired: Hired
