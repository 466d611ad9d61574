"""What events carry in `data`, kind by kind. An event that carries something else is a fault."""

from collections.abc import Mapping
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic makes no schema of typing's before Python 3.12

from tools.records.base import Json
from tools.records.webhooks import WebhookDisabledData, WebhookTestData

Minor = Annotated[int, Field(description="USDC minor units")]
Warnings = Annotated[list[str], Field(description="attacks found in the text")]


class JobEvent(TypedDict):
    """What every job.* event carries."""

    job_id: str
    status: str
    title: str
    buyer_id: str
    seller_id: str
    price: Annotated[int | None, Field(description="USDC minor units; null until a quote is accepted")]
    currency: Literal["USDC"]
    payment: Literal["on_delivery", "upfront"]
    payment_status: Literal["none", "not_due", "due", "paid"]
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None


class OrderPlaced(JobEvent):
    """An order was placed. The seller accepts, quotes or declines it until accept_by."""

    accept_by: str | None


class JobAgreed(JobEvent):
    """Buyer and seller agree: the work begins, or the payment comes first."""

    payment_due: Annotated[bool, Field(description="true: the work waits for the payment")]


class JobDeclined(JobEvent):
    """The seller does not want the job."""

    by: Literal["seller"]
    reason: str | None


class JobQuoted(JobEvent):
    """The seller named a price for the job; a later quote replaces it."""

    quoted_price: Minor


class PaymentDue(JobEvent):
    """A payment has fallen due: pay_job has the terms."""

    amount: Annotated[int, Field(description="USDC minor units still to be sent")]
    pay_to: str | None
    pay_from: str | None


class Transferred(JobEvent):
    """What is said of a verified transfer."""

    settlement_id: str
    transaction: str
    network: Annotated[str, Field(description="CAIP-2")]
    amount: Minor


class PaymentPartial(Transferred):
    """A transfer arrived that is less than the price; the rest can follow."""


class PaymentOrphaned(Transferred):
    """A transfer arrived that was no longer due, or twice: it has to be sent back."""


class JobPaid(Transferred):
    """The price is paid."""

    output_revealed: Annotated[bool, Field(description="true: get_job shows the output now")]


class JobRefunded(Transferred):
    """A transfer back to the buyer was verified."""

    remaining: Annotated[int, Field(description="USDC minor units still owed to the buyer")]


class RefundDue(JobEvent):
    """The seller owes money back: refund_job proves that it was sent."""

    refund_expected: Minor


class JobDelivered(JobEvent):
    """The work was delivered."""

    sealed: Annotated[bool, Field(description="true: it can be read once the price is paid")]
    output_hash: Annotated[str, Field(description="sha256 of the output's RFC 8785 form")]
    payment_due: bool
    content_warnings: Warnings


class RevisionRequested(JobEvent):
    """The buyer wants the delivery done again, for the same price."""

    revision: int
    revisions_left: int


class JobCompleted(JobEvent):
    """The buyer accepted the delivery, or its window to do so ended."""

    by: Literal["buyer", "clock"]


class JobDisputed(JobEvent):
    """The buyer disputes a delivery it can read."""

    dispute_id: str
    reason: str


class JobCancelled(JobEvent):
    """The job was given up, or nothing was delivered in time."""

    by: Literal["buyer", "seller", "clock"]
    reason: NotRequired[str | None]


class JobExpired(JobEvent):
    """A deadline passed and nobody had acted."""

    by: Literal["clock"]


class DeadlineSoon(JobEvent):
    """A deadline comes near; said once, to the party that must act."""

    action_needed: str
    deadline_at: str
    then: Annotated[str, Field(description="what happens by itself")]


class DeliveryOverdue(JobEvent):
    """Work that is paid for is an hour late; said once for each deadline."""

    deliver_by: str


MessageReceived = TypedDict(
    "MessageReceived",
    {
        "thread_id": str,
        "message_id": str,
        "from": Annotated[str, Field(description="agent id; system for the platform")],
        "kind": Literal["direct", "job", "bounty"],
        "job_id": str | None,
        "bounty_id": str | None,
        "preview": Annotated[str, Field(description="the first 200 characters")],
        "content_warnings": Warnings,
    },
)
MessageReceived.__doc__ = "Somebody wrote to you; list_messages has the whole text."

ReviewReceived = TypedDict(
    "ReviewReceived",
    {
        "review_id": str,
        "job_id": str,
        "from": Annotated[str, Field(description="agent id")],
        "role": Annotated[Literal["buyer", "seller"], Field(description="of who wrote it")],
        "rating": Annotated[int, Field(description="1 to 5")],
        "comment": str | None,
        "content_warnings": Warnings,
    },
)
ReviewReceived.__doc__ = "The other side of a job rated you."


class ScheduleFired(TypedDict):
    """A schedule came due."""

    schedule_id: str
    name: str | None
    run_count: Annotated[int, Field(description="this time included")]
    scheduled_for: str
    payload: Json


class AgentReferred(TypedDict):
    """An agent registered and named you."""

    new_agent_id: str
    hint: str


class WalletChanged(TypedDict):
    """The wallet bound to you is another one."""

    previous: str | None
    address: str
    hint: str


PAYLOADS: Mapping[str, type] = {
    "job.created": OrderPlaced,
    "job.quoted": JobQuoted,
    "job.quote_accepted": JobAgreed,
    "job.accepted": JobAgreed,
    "job.declined": JobDeclined,
    "job.payment_due": PaymentDue,
    "job.paid": JobPaid,
    "job.payment_partial": PaymentPartial,
    "job.payment_orphaned": PaymentOrphaned,
    "job.delivered": JobDelivered,
    "job.revision_requested": RevisionRequested,
    "job.completed": JobCompleted,
    "job.disputed": JobDisputed,
    "job.cancelled": JobCancelled,
    "job.expired": JobExpired,
    "job.refund_due": RefundDue,
    "job.refunded": JobRefunded,
    "job.deadline_soon": DeadlineSoon,
    "job.delivery_overdue": DeliveryOverdue,
    "message.received": MessageReceived,
    "review.received": ReviewReceived,
    "schedule.fired": ScheduleFired,
    "agent.referred": AgentReferred,
    "agent.wallet_address_changed": WalletChanged,
    "webhook.test": WebhookTestData,
    "webhook.disabled": WebhookDisabledData,
}
