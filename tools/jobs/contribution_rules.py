"""The result of a job, which counts in its parties' reputations: made from its facts."""

from dataclasses import dataclass

from storage.vocabulary import FINAL, RETURNS, ClosedAs, JobStatus, Outcome
from tools.jobs.facts import JobFacts, kept_minor, refund_held_against
from tools.kernel.money import DUST_MINOR
from tools.reputation.rules import JobContribution


@dataclass(frozen=True, slots=True)
class ContributionInputs:
    """The facts about a job that its mark needs besides JobFacts."""

    answered: bool = False  # accepted or quoted
    quoted: bool = False
    late: bool = False  # a delivery came after its deadline
    live: bool = False
    payer: str | None = None
    payee: str | None = None
    seller_rating: int | None = None
    buyer_rating: int | None = None


def mark_of(facts: JobFacts, beside: ContributionInputs) -> JobContribution:
    """Return the result of a job from its current rows; the time of the call does not matter."""
    completed = facts.status is JobStatus.COMPLETED or (
        facts.status is JobStatus.RESOLVED and facts.outcome is not Outcome.BUYER
    )
    failed = facts.outcome is Outcome.BUYER or facts.is_seller_failure
    over, owed, closed_as = facts.status in FINAL, refund_held_against(facts), facts.closed_as
    answered = beside.answered or beside.quoted or closed_as is ClosedAs.SELLER_DECLINED
    net = max(0, kept_minor(facts)) if completed else 0
    for_nothing = completed and beside.live and net < DUST_MINOR
    on_time = not beside.late and not facts.is_seller_failure  # not said of a job completed for nothing
    return JobContribution(
        completed=completed,
        failed=failed,
        disputed=facts.outcome is not None,
        seller_cancelled=closed_as is ClosedAs.SELLER_FAILED,
        returned=closed_as in RETURNS,
        buyer_cancelled=closed_as is ClosedAs.BUYER_WITHDREW,
        unpaid=facts.is_unpaid,
        delivery_unpaid=facts.delivered and (facts.is_unpaid or closed_as is ClosedAs.BUYER_WALKED_AWAY),
        paid=over and facts.is_paid and not for_nothing,
        answered=over and not for_nothing and answered,
        ignored=closed_as is ClosedAs.ACCEPT_TIMEOUT and not beside.quoted,
        refund_due=owed > 0,
        refund_made=owed == 0 and facts.refunded_minor > facts.voluntary_minor,
        on_time=None if not (completed or failed) or (on_time and for_nothing) else on_time,
        paid_minor=0 if for_nothing else net,
        gross_minor=facts.paid_minor if completed and net < facts.paid_minor else 0,
        payer=beside.payer if completed or failed else None,
        payee=beside.payee if completed or failed else None,
        seller_rating=beside.seller_rating,
        buyer_rating=beside.buyer_rating,
        for_nothing=for_nothing,
    )
