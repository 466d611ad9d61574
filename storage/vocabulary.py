"""The words of the contract that rows, rules and records share: states, roles, kinds. It imports nothing of ours."""

from enum import StrEnum


class Env(StrEnum):
    """The environment a key belongs to: live trades real USDC, test trades the faucet's."""

    LIVE = "live"
    TEST = "test"


class Actor(StrEnum):
    """The party that makes a move; the owner of a listing acts as its seller."""

    BUYER = "buyer"
    SELLER = "seller"
    CLOCK = "clock"
    PANEL = "panel"
    OPERATOR = "operator"


class JobStatus(StrEnum):
    """The states of a job, as the contract spells them."""

    QUOTE_REQUESTED = "quote_requested"
    QUOTED = "quoted"
    OPEN = "open"
    AWAITING_PAYMENT = "awaiting_payment"
    IN_PROGRESS = "in_progress"
    DELIVERED = "delivered"
    COMPLETED = "completed"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    DISPUTED = "disputed"
    RESOLVED = "resolved"


class Timing(StrEnum):
    """The time of payment: after the sealed delivery, or before the work starts."""

    ON_DELIVERY = "on_delivery"
    UPFRONT = "upfront"


class PricingModel(StrEnum):
    """The listing's pricing model at the time of the order."""

    FIXED = "fixed"
    PER_UNIT = "per_unit"
    QUOTE = "quote"


class Outcome(StrEnum):
    """The verdict of a dispute."""

    BUYER = "buyer"
    SELLER = "seller"
    SPLIT = "split"


class ClosedAs(StrEnum):
    """Why a job ended: set by a move into a final state, cleared when a late payment revives it."""

    ACCEPT_TIMEOUT = "accept_timeout"  # the order was not accepted, or no quote was agreed, in time
    PAYMENT_TIMEOUT = "payment_timeout"  # the buyer never paid: counts in jobs_unpaid
    DELIVERY_TIMEOUT = "delivery_timeout"  # the unpaid work was not delivered: the seller's failure
    REVIEW_TIMEOUT = "review_timeout"  # the buyer did not answer within the review window: completed
    SELLER_DECLINED = "seller_declined"
    SELLER_FAILED = "seller_failed"  # the seller gave up work it had begun
    BUYER_WITHDREW = "buyer_withdrew"  # before any work
    BUYER_WALKED_AWAY = "buyer_walked_away"  # from a sealed delivery: does not count against the buyer
    BUYER_LEFT_AFTER_DEADLINE = "buyer_left_after_deadline"  # the seller's failure
    BUYER_ACCEPTED = "buyer_accepted"
    DISPUTE_WITHDRAWN = "dispute_withdrawn"
    VERDICT = "verdict"
    RETURNED = "returned"  # by the seller, soon after the acceptance: an input that it cannot work with
    RETURNED_TOO_OFTEN = "returned_too_often"  # the same, by a seller that does so too often: its failure
    CALLED_OFF = "called_off"  # by the market, for a purchase that failed: counts against neither side


class AgentStatus(StrEnum):
    ACTIVE = "active"
    SUSPENDED = "suspended"
    DELETED = "deleted"
    UNCLAIMED = "unclaimed"  # created by an x402 payment; without keys until its wallet is proven


class KeyStatus(StrEnum):
    ACTIVE = "active"
    REVOKED = "revoked"


class ListingStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    ARCHIVED = "archived"


class SettlementKind(StrEnum):
    PAYMENT = "payment"
    REFUND = "refund"


class SettlementStatus(StrEnum):
    SETTLED = "settled"
    PARTIAL = "partial"
    ORPHANED = "orphaned"


class DisputeStatus(StrEnum):
    PANEL = "panel"
    ESCALATED = "escalated"
    RESOLVED = "resolved"


class SeatStatus(StrEnum):
    PENDING = "pending"
    VOTED = "voted"
    MISSED = "missed"
    VOID = "void"  # the case was closed before this vote, or the evaluator left the market


class BountyStatus(StrEnum):
    OPEN = "open"
    AWARDED = "awarded"
    CLOSED = "closed"
    EXPIRED = "expired"


class ProposalStatus(StrEnum):
    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class PurchaseStatus(StrEnum):
    CHECKING = "checking"  # the facilitator verifies the payment; nothing is ordered yet
    WORKING = "working"  # the job is ordered; only the market has the authorization
    SETTLING = "settling"  # the facilitator may have the authorization
    REFUSED = "refused"  # the facilitator refused; resubmitted only if the client sends it again
    SENT = "sent"  # a transaction hash is known
    PAID = "paid"
    CLOSED = "closed"  # nothing was charged


class Counted(StrEnum):
    """The counts by day. A status or an outcome follows STATUS and DISPUTE after a dot."""

    CREATED = "created"  # jobs, by the day of their order
    STATUS = "status"  # the same jobs, by their present status
    TO_ACCEPT = "to_accept"  # jobs, by the day of their acceptance and the seconds since the order
    TO_DELIVER = "to_deliver"  # jobs, by the day of their last delivery and the seconds since the acceptance
    PAID = "paid"  # jobs, by the day of their last delivery; the price has arrived
    UNPAID = "unpaid"  # the same; they ended and the buyer never paid
    COMPLETED = "completed"  # jobs that were completed, or resolved but not for the buyer
    VOLUME = "volume"  # minor units paid for them, net of refunds
    OWN_COMPLETED = "own_completed"  # those of them in which an agent of the operator took part
    OWN_VOLUME = "own_volume"
    PAYMENTS = "payments"  # settlements that are payments, by the day they were recorded
    DISPUTE = "dispute"  # cases, by the day they were opened and their present result
    TO_VERDICT = "to_verdict"  # decided cases, by the day they were opened and the seconds until the verdict


class ThreadKind(StrEnum):
    DIRECT = "direct"
    JOB = "job"
    BOUNTY = "bounty"


class ScheduleStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    DONE = "done"


class WebhookSource(StrEnum):
    REGISTERED = "registered"
    PROFILE = "profile"  # the agent's endpoints.webhook_url
    TASK = "task"  # push notifications of one job over A2A


class PushForm(StrEnum):
    """The version of A2A that a task is written in."""

    NEW = "1.0"
    OLD = "0.3"


class WebhookStatus(StrEnum):
    ACTIVE = "active"
    DISABLED = "disabled"


class DeliveryStatus(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class DomainStatus(StrEnum):
    PENDING = "pending"
    VERIFIED = "verified"
    REVOKED = "revoked"


SELLER_FAILURES = frozenset(
    {
        ClosedAs.SELLER_FAILED,
        ClosedAs.DELIVERY_TIMEOUT,
        ClosedAs.BUYER_LEFT_AFTER_DEADLINE,
        ClosedAs.RETURNED_TOO_OFTEN,
    }
)
RETURNS = frozenset({ClosedAs.RETURNED, ClosedAs.RETURNED_TOO_OFTEN})


FINAL = frozenset({JobStatus.COMPLETED, JobStatus.DECLINED, JobStatus.CANCELLED, JobStatus.EXPIRED, JobStatus.RESOLVED})

FINISHED = frozenset({JobStatus.COMPLETED, JobStatus.RESOLVED})

UNDECIDED = (BountyStatus.OPEN,)  # bounties that have not ended: their pending proposals can be awarded
