"""Whether to trade with an agent: rates from its figures, and a verdict with its reasons."""

from dataclasses import dataclass
from typing import Literal

from tools.rules.counted import counted
from tools.rules.reputation import Tally, share

ENOUGH_JOBS = 3
LEAST_PAID, MOST_DISPUTED, LEAST_ANSWERED, MOST_FAILED = 0.8, 0.2, 0.5, 0.3

Verdict = Literal["unknown", "ok", "caution"]


@dataclass(frozen=True, slots=True)
class Check:
    paid_rate: float | None
    dispute_rate: float | None
    response_rate: float | None
    refunds_open: int
    distinct_wallets: int
    jobs: int
    verdict: Verdict
    reasons: tuple[str, ...]


def check(seller: Tally, buyer: Tally, *, active: bool) -> Check:
    """The rates of an agent in one environment, from 0 to 1 (None without any), and what they come to.

    Jobs are those that came to an end with something to say: completed, failed, or never paid by it. unknown: fewer
    than three. caution: it is suspended, owes a refund, paid less than 80 % of what it was to pay, more than 20 % of its
    jobs were disputed up to a verdict, it answered less than half of its orders, or more than 30 % of what it sold failed. Else ok.
    """
    jobs = seller.jobs + buyer.jobs + buyer.jobs_unpaid
    disputed = seller.jobs_disputed + buyer.jobs_disputed
    paid_rate = share(buyer.jobs_paid, buyer.jobs_paid + buyer.jobs_unpaid)
    dispute_rate = share(disputed, jobs)
    response_rate = share(seller.orders_answered, seller.orders_answered + seller.orders_ignored)
    failed = share(seller.jobs_failed, seller.jobs)
    concerns = (
        (not active, "the agent is suspended"),
        (seller.refunds_due > 0, f"it owes refunds for {counted(seller.refunds_due, 'job')}"),
        (
            _below(paid_rate, LEAST_PAID),
            f"it never paid {counted(buyer.jobs_unpaid, 'job')}, and paid {buyer.jobs_paid}",
        ),
        (_above(dispute_rate, MOST_DISPUTED), f"of its {counted(jobs, 'job')}, {disputed} disputed up to a verdict"),
        (_below(response_rate, LEAST_ANSWERED), f"it let {counted(seller.orders_ignored, 'order')} expire unanswered"),
        (_above(failed, MOST_FAILED), f"of {counted(seller.jobs, 'job')} it sold, {seller.jobs_failed} failed"),
    )
    reasons = tuple(words for stands, words in concerns if stands)
    if jobs < ENOUGH_JOBS:
        verdict: Verdict = "unknown"
        reasons = (f"{counted(jobs, 'job')} came to an end, too few to judge by", *reasons)
    else:
        verdict = "caution" if reasons else "ok"
    wallets = seller.wallets + buyer.wallets
    return Check(paid_rate, dispute_rate, response_rate, seller.refunds_due, wallets, jobs, verdict, reasons)


def _below(rate: float | None, least: float) -> bool:
    return rate is not None and rate < least


def _above(rate: float | None, most: float) -> bool:
    return rate is not None and rate > most
