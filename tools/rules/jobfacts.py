"""What the rules know of one job: its facts, and the money and visibility derived from them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from tools.rules.money import DUST_MINOR

PAYMENT_GRACE = timedelta(hours=1)
"""A transfer mined by pay_by plus this revives a job that expired unpaid (block time decides, not arrival)."""

DELIVERY_GRACE = timedelta(hours=1)
"""From deliver_by plus this on, an unpaid job is cancelled by the clock and the buyer of a paid one may leave."""


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
    """When the buyer pays: after the sealed delivery, or before the work starts."""

    ON_DELIVERY = "on_delivery"
    UPFRONT = "upfront"


class PricingModel(StrEnum):
    """How the listing priced the job when it was ordered."""

    FIXED = "fixed"
    PER_UNIT = "per_unit"
    QUOTE = "quote"


class PaymentStatus(StrEnum):
    """payment.status of the contract; due means the buyer can pay now."""

    NONE = "none"
    NOT_DUE = "not_due"
    DUE = "due"
    PAID = "paid"


class Outcome(StrEnum):
    """The verdict of a dispute."""

    BUYER = "buyer"
    SELLER = "seller"
    SPLIT = "split"


class ClosedAs(StrEnum):
    """Why a job ended; set by every move into a final state, cleared when a late payment revives the job."""

    ACCEPT_TIMEOUT = "accept_timeout"  # nobody accepted or agreed on a quote in time
    PAYMENT_TIMEOUT = "payment_timeout"  # the buyer never paid: counts in jobs_unpaid
    DELIVERY_TIMEOUT = "delivery_timeout"  # unpaid work never came: the seller's failure
    REVIEW_TIMEOUT = "review_timeout"  # the review window passed in silence: completed
    SELLER_DECLINED = "seller_declined"
    SELLER_FAILED = "seller_failed"  # the seller gave up work it had begun
    BUYER_WITHDREW = "buyer_withdrew"  # before any work
    BUYER_WALKED_AWAY = "buyer_walked_away"  # from a sealed delivery: no mark on the buyer
    BUYER_LEFT_AFTER_DEADLINE = "buyer_left_after_deadline"  # the seller's failure
    BUYER_ACCEPTED = "buyer_accepted"
    DISPUTE_WITHDRAWN = "dispute_withdrawn"
    VERDICT = "verdict"
    CALLED_OFF = "called_off"  # by the market: a purchase that came to nothing, with no mark on anybody


SELLER_FAILURES = frozenset({ClosedAs.SELLER_FAILED, ClosedAs.DELIVERY_TIMEOUT, ClosedAs.BUYER_LEFT_AFTER_DEADLINE})
FINAL = frozenset({JobStatus.COMPLETED, JobStatus.DECLINED, JobStatus.CANCELLED, JobStatus.EXPIRED, JobStatus.RESOLVED})
_AGREED = frozenset({JobStatus.AWAITING_PAYMENT, JobStatus.IN_PROGRESS})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """Everything a rule may ask about one job, read from its row, its settlement rows and its dispute.

    Amounts are USDC minor units >= 0; times are aware UTC. What is not yet known is None. The deadlines mean:
    accept_by for an answer (for a quote job it counts from the first quote), pay_by for the payment (kept after the
    job has expired), deliver_by for the work, review_by for the buyer's review (None while the delivery is sealed),
    verdict_by for the panel.
    """

    status: JobStatus
    timing: Timing = Timing.ON_DELIVERY
    model: PricingModel = PricingModel.FIXED
    price_minor: int | None = None
    quoted_price_minor: int | None = None
    paid_minor: int = 0  # settled payments, overpayment included
    partial_minor: int = 0  # below-price transfers not yet promoted by a completing one
    orphaned_minor: int = 0
    refunded_minor: int = 0
    paid_at: datetime | None = None
    accept_by: datetime | None = None
    pay_by: datetime | None = None
    deliver_by: datetime | None = None
    review_by: datetime | None = None
    verdict_by: datetime | None = None
    delivered: bool = False  # a delivery exists, also an earlier one under revision
    revision_count: int = 0
    max_revisions: int = 2
    closed_as: ClosedAs | None = None
    outcome: Outcome | None = None
    escalated: bool = False  # the panel reached no verdict: the operator decides
    overdue_told: bool = False  # job.delivery_overdue was said for the current deliver_by
    reviewed_by_buyer: bool = False
    reviewed_by_seller: bool = False

    @property
    def agreed_minor(self) -> int | None:
        """The price that holds once the pending offer is accepted: the latest quote of a quoted job, else the price."""
        return self.quoted_price_minor if self.status is JobStatus.QUOTED else self.price_minor

    @property
    def is_paid(self) -> bool:
        """The price was settled in full. A free job is never paid, it needs no payment."""
        return self.paid_at is not None

    @property
    def is_sealed(self) -> bool:
        """A delivery exists and its output stays hidden from the buyer, in whatever state the job now is.

        Free deliveries are never sealed. An upfront job is paid before its work starts; were it not, it would be
        sealed like any other.
        """
        return self.delivered and bool(self.price_minor) and not self.is_paid

    @property
    def is_unpaid(self) -> bool:
        """The contract's `unpaid`: expired because the buyer never paid."""
        return self.status is JobStatus.EXPIRED and self.closed_as is ClosedAs.PAYMENT_TIMEOUT

    @property
    def is_seller_failure(self) -> bool:
        """The job ended because the seller did not do work it had accepted."""
        return self.closed_as in SELLER_FAILURES

    @property
    def awaits_payment(self) -> bool:
        """The job stands still until the buyer pays: upfront before the work, or at a sealed delivery."""
        return self.status is JobStatus.AWAITING_PAYMENT or (self.status is JobStatus.DELIVERED and self.is_sealed)


def revivable(facts: JobFacts, at: datetime) -> bool:
    """expired unpaid, until pay_by + 1 h

    Whether a full payment mined `at` brings an expired-unpaid job back; pay_by + PAYMENT_GRACE itself counts.
    Once the seller has sent stranded partial payments back, the job stays closed: else they would count twice.
    """
    if not facts.is_unpaid or facts.refunded_minor or facts.pay_by is None:
        return False
    return at <= facts.pay_by + PAYMENT_GRACE


def payment_status(facts: JobFacts, now: datetime) -> PaymentStatus:
    """payment.status as of `now`, the same whether or not a sweep has already expired the job."""
    if facts.price_minor is None:
        return PaymentStatus.NOT_DUE
    if facts.price_minor == 0:
        return PaymentStatus.NONE
    if facts.is_paid:
        return PaymentStatus.PAID
    if facts.awaits_payment:  # past pay_by the job is as good as expired, and still revivable for the grace
        late = facts.pay_by is not None and now > facts.pay_by + PAYMENT_GRACE
        return PaymentStatus.NOT_DUE if late else PaymentStatus.DUE
    return PaymentStatus.DUE if revivable(facts, now) else PaymentStatus.NOT_DUE


def refund_expected(facts: JobFacts) -> int:
    """What the seller still owes back, in minor units, never below 0; refund_due means it is above 0.

    Derived from rows, so obligations add up, short refunds count, and nothing is booked twice: the settled payments
    after a seller failure or a verdict for the buyer, half of them (rounded up) on a split, every orphan whole, and
    partial payments of a job that ended without being paid, minus all refunds.
    """
    return max(0, _share_of_payments(facts) + _stray(facts) - facts.refunded_minor)


def refund_held_against(facts: JobFacts) -> int:
    """What of refund_expected counts against the seller: not stray transfers that are dust in sum, for anybody sends those."""
    stray = _stray(facts)
    held = stray if stray >= DUST_MINOR else 0
    return max(0, _share_of_payments(facts) + held - facts.refunded_minor)


# Guards: what a row of the lifecycle table asks. The docstring of each is its condition in the generated docs.

Guard: TypeAlias = Callable[[JobFacts, datetime], bool]


def starts_at_once(facts: JobFacts, now: datetime) -> bool:
    """on_delivery, or free"""
    return facts.timing is Timing.ON_DELIVERY or not facts.agreed_minor


def pays_first(facts: JobFacts, now: datetime) -> bool:
    """upfront and not free"""
    return not starts_at_once(facts, now)


def quoting(facts: JobFacts, now: datetime) -> bool:
    """quote listing"""
    return facts.model is PricingModel.QUOTE


def priced(facts: JobFacts, now: datetime) -> bool:
    """fixed or per_unit listing"""
    return not quoting(facts, now)


def sealed(facts: JobFacts, now: datetime) -> bool:
    """sealed"""
    return facts.is_sealed


def revealed(facts: JobFacts, now: datetime) -> bool:
    """revealed"""
    return not facts.is_sealed


def revisions_left(facts: JobFacts, now: datetime) -> bool:
    """revealed, a revision is left"""
    return revealed(facts, now) and facts.revision_count < facts.max_revisions


def paid(facts: JobFacts, now: datetime) -> bool:
    """paid"""
    return facts.is_paid


def unpaid(facts: JobFacts, now: datetime) -> bool:
    """not paid, free work included"""
    return not facts.is_paid


def overdue_untold(facts: JobFacts, now: datetime) -> bool:
    """paid, and not yet said for this deadline"""
    return facts.is_paid and not facts.overdue_told


def revives_work(facts: JobFacts, now: datetime) -> bool:
    """expired unpaid before the work, mined by pay_by + 1 h"""
    return revivable(facts, now) and not facts.delivered


def revives_delivery(facts: JobFacts, now: datetime) -> bool:
    """expired unpaid with a sealed delivery, mined by pay_by + 1 h"""
    return revivable(facts, now) and facts.delivered


def with_panel(facts: JobFacts, now: datetime) -> bool:
    """the case is with the panel"""
    return not facts.escalated


def escalated(facts: JobFacts, now: datetime) -> bool:
    """the case is escalated"""
    return facts.escalated


def was_accepted(facts: JobFacts, now: datetime) -> bool:
    """the seller's acceptance holds"""
    return facts.status in _AGREED and priced(facts, now)


def quote_was_accepted(facts: JobFacts, now: datetime) -> bool:
    """the buyer's acceptance of a quote holds"""
    return facts.status in _AGREED and quoting(facts, now)


def under_revision(facts: JobFacts, now: datetime) -> bool:
    """a revision is under way"""
    return facts.status is JobStatus.IN_PROGRESS and facts.revision_count > 0


def _stray(facts: JobFacts) -> int:
    """What came and pays for nothing: orphans, and parts of the price of a job that ended without being paid."""
    return facts.orphaned_minor + (facts.partial_minor if facts.status in FINAL else 0)


def _share_of_payments(facts: JobFacts) -> int:
    if facts.is_seller_failure or facts.outcome is Outcome.BUYER:
        return facts.paid_minor
    return (facts.paid_minor + 1) // 2 if facts.outcome is Outcome.SPLIT else 0
