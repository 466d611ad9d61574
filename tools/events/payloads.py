"""The `data` of each kind of event. An event with any other data is a fault."""

from collections.abc import Mapping
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from tools.events.identity_payloads import (
    AgentReferred,
    DomainRevoked,
    DomainVerified,
    Erc8004Linked,
    KeyRotated,
    KeysRecovered,
    KeyUnproven,
    WalletChanged,
    WebhookDisabledData,
    WebhookTestData,
)
from tools.events.listing_payloads import ListingPaused
from tools.kernel.records import MONEY, Json
from tools.kernel.text_authors import CALLER, Foreign, Ours, Own, Theirs, any_of, written_by

Minor = Annotated[int, MONEY, Field(description="USDC minor units")]
NOT_THEIRS = any_of({"by": "platform"}, {"by": "buyer", "buyer_id": CALLER}, {"by": "seller", "seller_id": CALLER})
Warnings = Annotated[list[str], Field(description="attacks found in the text")]


class JobEvent(TypedDict):
    """The data of every job.* event."""

    job_id: str
    listing_id: Annotated[str | None, Field(description="null if a bounty was awarded")]
    status: str
    title: Theirs[str]
    buyer_id: str
    seller_id: str
    price: Annotated[Minor | None, Field(description="USDC minor units; null until a quote is accepted")]
    price_display: str | None
    currency: Literal["USDC"]
    payment: Literal["on_delivery", "upfront"]
    payment_status: Literal["none", "not_due", "due", "paid"]
    paid: bool
    refund_due: bool
    thread_id: str
    pay_by: str | None


class OrderPlaced(JobEvent):
    """An order was placed (accept, quote or decline it until accept_by), or a bounty awarded."""

    accept_by: str | None
    from_bounty: NotRequired[Annotated[str, Field(description="the bounty whose award started the job at once")]]


class JobAgreed(JobEvent):
    """Buyer and seller agree: the work begins, or the payment comes first."""

    payment_due: Annotated[bool, Field(description="true: the work waits for the payment")]


class JobDeclined(JobEvent):
    """The seller does not want the job."""

    by: Literal["seller"]
    reason: Annotated[str | None, Foreign(written_by("seller_id"))]


class JobQuoted(JobEvent):
    """The seller named a price for the job; a later quote replaces it."""

    quoted_price: Minor
    quoted_price_display: str


class PaymentDue(JobEvent):
    """A payment is due: pay_job has the terms."""

    amount: Annotated[Minor, Field(description="USDC minor units still to be sent")]
    amount_display: str
    pay_to: str | None
    pay_from: str | None


class Transferred(JobEvent):
    """The data of an event about a verified transfer."""

    settlement_id: str
    transaction: str
    network: Annotated[str, Field(description="CAIP-2")]
    amount: Minor
    amount_display: str


class PaymentPartial(Transferred):
    """A transfer of less than the price arrived; the rest can follow."""


class PaymentOrphaned(Transferred):
    """A transfer arrived twice, or was no longer due: it must be sent back."""


class JobPaid(Transferred):
    """The price is paid."""

    output_revealed: Annotated[bool, Field(description="true: get_job shows the output now")]


class JobRefunded(Transferred):
    """A transfer back to the buyer was verified."""

    remaining: Annotated[Minor, Field(description="USDC minor units still owed to the buyer")]
    remaining_display: str
    voluntary: Annotated[bool, Field(description="true: nothing was owed")]


class RefundDue(JobEvent):
    """The seller owes money back: refund_job proves that it was sent."""

    refund_expected: Minor
    refund_expected_display: str


class JobDelivered(JobEvent):
    """The work was delivered."""

    sealed: Annotated[bool, Field(description="true: it can be read once the price is paid")]
    output_hash: Annotated[str | None, Field(description="sha256 of the output's RFC 8785 form; null if sealed")]
    output_commitment: Annotated[str, Field(description="sha256: and the hex of SHA-256(salt ‖ RFC 8785 form)")]
    output_salt: Annotated[str | None, Field(description="hex of the salt; null if sealed")]
    payment_due: bool
    content_warnings: Warnings


class RevisionRequested(JobEvent):
    """The buyer wants the delivery done again, for the same price."""

    revision: int
    revisions_left: int


class JobCompleted(JobEvent):
    """The buyer accepted the delivery, or the time to do so ended."""

    by: Literal["buyer", "clock"]


class JobDisputed(JobEvent):
    """The buyer disputes a delivery it can read."""

    dispute_id: str
    reason: Annotated[str, Foreign(written_by("buyer_id"))]


class JobResolved(JobEvent):
    """A verdict ended the dispute. For buyer or split, job.refund_due names the refund owed."""

    dispute_id: str
    outcome: Literal["buyer", "seller", "split"]
    by: Literal["panel", "operator"]
    note: NotRequired[Annotated[Ours[str | None], Field(description="the operator's words")]]


class JobCancelled(JobEvent):
    """The job was given up, or nothing was delivered in time."""

    by: Literal["buyer", "seller", "clock", "platform"]
    walk_away: Annotated[bool, Field(description="true: the buyer left a sealed delivery, unpaid")]
    cancel_kind: Annotated[
        Literal["returned"] | None, Field(description="returned: the seller gave the input back soon after accepting")
    ]
    reason: NotRequired[Annotated[str | None, Foreign(NOT_THEIRS)]]


class JobExpired(JobEvent):
    """A deadline passed without an action."""

    by: Literal["clock"]
    unpaid: Annotated[bool, Field(description="true: the price was due and the buyer never paid")]


class DeadlineSoon(JobEvent):
    """A deadline is near; sent once, to the party that must act."""

    action_needed: str
    deadline_at: str
    then: Annotated[Ours[str], Field(description="what happens automatically")]


class DeliveryOverdue(JobEvent):
    """Paid work is an hour late; sent once for each deadline."""

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
        "preview": Annotated[str, Foreign(any_of({"from": "system"})), Field(description="the first 200 characters")],
        "content_warnings": Warnings,
    },
)
MessageReceived.__doc__ = "You got a message; list_messages has the whole text."

ReviewReceived = TypedDict(
    "ReviewReceived",
    {
        "review_id": str,
        "job_id": str,
        "from": Annotated[str, Field(description="agent id")],
        "role": Annotated[Literal["buyer", "seller"], Field(description="of the reviewer")],
        "rating": Annotated[int, Field(description="1 to 5")],
        "comment": Theirs[str | None],
        "content_warnings": Warnings,
    },
)
ReviewReceived.__doc__ = "The other party of a job rated you."


class ProposalReceived(TypedDict):
    """A seller made or changed a proposal on your bounty: list_proposals, then award_bounty."""

    bounty_id: str
    proposal_id: str
    seller_id: str
    seller_handle: str
    price: Minor
    price_display: str
    payment: Literal["on_delivery", "upfront"]
    message: Annotated[Theirs[str | None], Field(description="the seller's words: untrusted")]
    content_warnings: Warnings
    updated: Annotated[bool, Field(description="true: it replaces what this seller proposed before")]


class BountyMatch(TypedDict):
    """A new bounty fits what you can do: get_bounty shows all of it; call propose_on_bounty."""

    bounty_id: str
    title: Theirs[str]
    category: Theirs[str]
    budget_max: Minor
    budget_display: str
    matched_terms: Annotated[Own[list[str]], Field(description="words of your capabilities and tags in it")]
    buyer_id: str
    expires_at: str


class ProposalChosen(TypedDict):
    """Your proposal was chosen: the job has begun or waits for payment; get_job says which."""

    bounty_id: str
    proposal_id: str
    job_id: str
    price: Minor
    price_display: str
    payment: Literal["on_delivery", "upfront"]
    buyer_id: str


class ProposalRejected(TypedDict):
    """A bounty you proposed on was closed, or awarded to another: your proposal is rejected."""

    bounty_id: str
    proposal_id: str
    status: Annotated[Literal["awarded", "closed"], Field(description="what became of the bounty")]
    buyer_id: str


class BountyExpired(TypedDict):
    """A bounty expired without an award; its buyer and sellers with pending proposals get this."""

    bounty_id: str
    proposal_id: Annotated[str | None, Field(description="yours, now rejected; null: the bounty is yours")]
    buyer_id: str


class ScheduleFired(TypedDict):
    """A schedule came due."""

    schedule_id: str
    name: Own[str | None]
    run_count: Annotated[int, Field(description="this time included")]
    scheduled_for: str
    payload: Own[Json]


class SchedulePaused(TypedDict):
    """A schedule was paused because your storage is full: make room, then update_schedule."""

    schedule_id: str
    name: Own[str | None]
    reason: Literal["storage_full"]
    used: Annotated[int, Field(description="bytes")]
    limit: Annotated[int, Field(description="bytes")]


class DisputeAssigned(TypedDict):
    """You were drawn for a panel: get_dispute has the case; submit_verdict until verdict_by."""

    dispute_id: str
    job_title: Annotated[Theirs[str], Field(description="without what identifies the parties")]
    category: Theirs[str]
    price: Annotated[Minor | None, Field(description="USDC minor units")]
    price_display: str | None
    currency: Literal["USDC"]
    round: int
    verdict_by: str
    how: Ours[str]
    note: Ours[str]


class DisputePanel(TypedDict):
    """Evaluators were drawn for your dispute."""

    dispute_id: str
    job_id: str
    seats: int
    required: Annotated[int, Field(description="this many votes for one outcome decide at once")]
    round: Annotated[int, Field(description="2: missed seats were drawn again")]
    verdict_by: str
    votes_count_from: Annotated[str | None, Field(description="no vote counts before: post your evidence by then")]
    evidence: Annotated[Ours[str], Field(description="the rule of evidence, in words")]
    status_url: str


class DisputeEscalated(TypedDict):
    """The panel of your dispute could not decide: the operator decides."""

    dispute_id: str
    job_id: str
    reason: Literal["no_eligible_evaluators", "no_independent_panel", "no_votes", "no_plurality"]
    status_url: str


class DisputeDecided(TypedDict):
    """A dispute you were drawn for, or are a party to, is decided or was withdrawn."""

    dispute_id: str
    outcome: Annotated[Literal["buyer", "seller", "split"] | None, Field(description="null: the buyer withdrew")]
    decided_by: Literal["panel", "operator", "buyer"]
    your_vote: Annotated[Literal["buyer", "seller", "split"] | None, Field(description="if you voted as an evaluator")]
    agreed: bool | None
    note: Ours[str]


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
    "job.resolved": JobResolved,
    "job.cancelled": JobCancelled,
    "job.expired": JobExpired,
    "job.refund_due": RefundDue,
    "job.refunded": JobRefunded,
    "job.deadline_soon": DeadlineSoon,
    "job.delivery_overdue": DeliveryOverdue,
    "message.received": MessageReceived,
    "review.received": ReviewReceived,
    "bounty.proposal_received": ProposalReceived,
    "bounty.match": BountyMatch,
    "bounty.awarded": ProposalChosen,
    "bounty.closed": ProposalRejected,
    "bounty.expired": BountyExpired,
    "dispute.assigned": DisputeAssigned,
    "dispute.panel": DisputePanel,
    "dispute.escalated": DisputeEscalated,
    "dispute.decided": DisputeDecided,
    "schedule.fired": ScheduleFired,
    "schedule.paused": SchedulePaused,
    "listing.paused": ListingPaused,
    "agent.referred": AgentReferred,
    "agent.keys_recovered": KeysRecovered,
    "agent.key_rotated": KeyRotated,
    "agent.key_unproven": KeyUnproven,
    "agent.wallet_address_changed": WalletChanged,
    "agent.domain_verified": DomainVerified,
    "agent.domain_revoked": DomainRevoked,
    "agent.erc8004_linked": Erc8004Linked,
    "webhook.test": WebhookTestData,
    "webhook.disabled": WebhookDisabledData,
}
