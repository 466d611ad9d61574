"""The facts of one job that the rules use, and the money and visibility derived from them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, TypeAlias

from storage.vocabulary import FINAL, RETURNS, SELLER_FAILURES, ClosedAs, JobStatus, Outcome, PricingModel, Timing
from tools.kernel.money import DUST_MINOR

PAYMENT_GRACE = timedelta(hours=1)
"""A transfer mined by pay_by plus this revives a job that expired unpaid (block time decides, not arrival)."""

DELIVERY_GRACE = timedelta(hours=1)
"""From deliver_by plus this on, the clock cancels an unpaid job, and the buyer of a paid job may leave."""


RETURN_WINDOW = timedelta(seconds=60)
"""From accepted_at, how long the seller may return an input that it cannot work with."""

KEPT_UNPAID = timedelta(days=30)
"""How long unpaid texts are kept after a job's end: an input without work, or an output that stayed sealed."""


class PaymentStatus(StrEnum):
    """payment.status of the contract; due means the buyer can pay now."""

    NONE = "none"
    NOT_DUE = "not_due"
    DUE = "due"
    PAID = "paid"


_AGREED = frozenset({JobStatus.AWAITING_PAYMENT, JobStatus.IN_PROGRESS})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """All facts about one job that a rule may use, from its row, settlements and dispute.

    Amounts are USDC minor units >= 0; times are aware UTC. None means not yet known. The deadlines are: accept_by for
    an answer (in a quote job it counts from the first quote), pay_by for the payment (kept after the job has expired),
    deliver_by for the work, review_by for the buyer's review (None while the delivery is sealed), and verdict_by for
    the panel.
    """

    status: JobStatus
    timing: Timing = Timing.ON_DELIVERY
    model: PricingModel = PricingModel.FIXED
    price_minor: int | None = None
    quoted_price_minor: int | None = None
    paid_minor: int = 0  # settled payments, overpayment included
    partial_minor: int = 0  # transfers below the price, which a later transfer has not completed yet
    orphaned_minor: int = 0
    refunded_minor: int = 0
    voluntary_minor: int = 0  # of these, what was sent back while nothing was owed
    paid_at: datetime | None = None
    accept_by: datetime | None = None
    accepted_at: datetime | None = None
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
    overdue_told: bool = False  # job.delivery_overdue was sent for the current deliver_by
    reviewed_by_buyer: bool = False
    reviewed_by_seller: bool = False
    forgotten: bool = False  # its input or its outputs were deleted

    @property
    def agreed_minor(self) -> int | None:
        """Return the price after an acceptance: a quoted job's latest quote, otherwise its price."""
        return self.quoted_price_minor if self.status is JobStatus.QUOTED else self.price_minor

    @property
    def is_paid(self) -> bool:
        """Return whether the price was settled in full; a free job is never paid."""
        return self.paid_at is not None

    @property
    def is_sealed(self) -> bool:
        """Return whether a delivery exists whose output is hidden from the buyer.

        This does not depend on the job's status. Free deliveries are never sealed. An upfront job is paid before its
        work starts; otherwise it would be sealed like any other.
        """
        return self.delivered and bool(self.price_minor) and not self.is_paid

    @property
    def is_unpaid(self) -> bool:
        """Return whether the job expired because the buyer never paid: `unpaid` in the contract."""
        return self.status is JobStatus.EXPIRED and self.closed_as is ClosedAs.PAYMENT_TIMEOUT

    @property
    def is_seller_failure(self) -> bool:
        """Return whether the job ended because the seller did not do work it had accepted."""
        return self.closed_as in SELLER_FAILURES

    @property
    def awaits_payment(self) -> bool:
        """Return whether the job waits for payment: upfront work, or a sealed delivery."""
        return self.status is JobStatus.AWAITING_PAYMENT or (self.status is JobStatus.DELIVERED and self.is_sealed)


def revivable(facts: JobFacts, at: datetime) -> bool:
    """expired unpaid, until pay_by + 1 h

    True if a full payment mined `at` revives the job; pay_by + PAYMENT_GRACE itself counts. After the seller has
    refunded partial payments the job stays closed, because they would count twice otherwise.
    """
    if not facts.is_unpaid or facts.refunded_minor or facts.pay_by is None or facts.forgotten:
        return False
    return at <= facts.pay_by + PAYMENT_GRACE


def forgets_texts(facts: JobFacts) -> bool:
    """Check whether texts of a job are deleted 30 days after its end.

    These are the input if work never began, and the outputs if they stayed sealed.
    """
    if facts.status not in FINAL or facts.is_paid:
        return False
    return facts.is_sealed if facts.delivered else facts.deliver_by is None


def payment_status(facts: JobFacts, now: datetime) -> PaymentStatus:
    """Return payment.status at `now`, whether or not a sweep has already expired the job."""
    if facts.price_minor is None:
        return PaymentStatus.NOT_DUE
    if facts.price_minor == 0:
        return PaymentStatus.NONE
    if facts.is_paid:
        return PaymentStatus.PAID
    if facts.awaits_payment:  # past pay_by the job counts as expired, but is revivable for the grace
        late = facts.pay_by is not None and now > facts.pay_by + PAYMENT_GRACE
        return PaymentStatus.NOT_DUE if late else PaymentStatus.DUE
    return PaymentStatus.DUE if revivable(facts, now) else PaymentStatus.NOT_DUE


def refund_expected(facts: JobFacts) -> int:
    """Return what the seller still owes back, in minor units; refund_due means above 0.

    It is derived from rows, so obligations add up, short refunds count, and nothing is booked twice. Owed are the
    settled payments after a seller failure or a verdict for the buyer, half of them (rounded up) after a split, every
    orphan, and the partial payments of a job that ended without being paid, minus all refunds. It is never below 0.
    """
    return max(0, _share_of_payments(facts) + _stray(facts) - facts.refunded_minor)


def cancel_kind(facts: JobFacts) -> Literal["returned"] | None:
    """Return "returned" if the seller gave the input back soon after accepting."""
    return "returned" if facts.closed_as in RETURNS else None


def how_it_ended(event: str, facts: JobFacts) -> dict[str, bool | str | None]:
    """Return the extra fields of the event about a job's end.

    job.expired has `unpaid`, if the buyer owed the price. job.cancelled has `walk_away`, if the buyer left a sealed
    delivery, and `cancel_kind`.
    """
    if event == "job.expired":
        return {"unpaid": facts.is_unpaid}
    if event == "job.cancelled":
        return {"walk_away": facts.closed_as is ClosedAs.BUYER_WALKED_AWAY, "cancel_kind": cancel_kind(facts)}
    return {}


def was_paid(facts: JobFacts) -> bool:
    """Check whether the seller got money for this job that a refund can give back."""
    return facts.paid_minor + _stray(facts) > 0


def refund_left(facts: JobFacts) -> int:
    """Return the buyer's money that the seller still has: the limit of a voluntary refund."""
    return max(0, facts.paid_minor + _stray(facts) - facts.refunded_minor)


def kept_minor(facts: JobFacts) -> int:
    """Return what refunds leave of the settled payments; they give back stray transfers first."""
    return facts.paid_minor - max(0, facts.refunded_minor - _stray(facts))


def refund_held_against(facts: JobFacts) -> int:
    """Return the part of refund_expected that counts against the seller.

    Stray transfers of less than DUST_MINOR in sum do not count, because anybody can send them.
    """
    stray = _stray(facts)
    held = stray if stray >= DUST_MINOR else 0
    return max(0, _share_of_payments(facts) + held - facts.refunded_minor)


# Guards: the conditions of rows in the lifecycle table. The generated docs print the first line of their docstrings.

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


def returnable(facts: JobFacts, now: datetime) -> bool:
    """nothing paid or delivered, at most 60 s after accepted_at"""
    if facts.accepted_at is None or facts.delivered or was_paid(facts) or facts.partial_minor:
        return False
    return now <= facts.accepted_at + RETURN_WINDOW


def was_returned(facts: JobFacts, now: datetime) -> bool:
    """the seller has returned the input"""
    return facts.closed_as in RETURNS


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
    """Sum what pays for nothing: orphans, and partial payments of a job that has ended."""
    return facts.orphaned_minor + (facts.partial_minor if facts.status in FINAL else 0)


def _share_of_payments(facts: JobFacts) -> int:
    if facts.is_seller_failure or facts.outcome is Outcome.BUYER:
        return facts.paid_minor
    return (facts.paid_minor + 1) // 2 if facts.outcome is Outcome.SPLIT else 0
