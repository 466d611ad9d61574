"""Counterparty checks: rates from an agent's figures, and a verdict on trading with it, with its reasons."""

from dataclasses import dataclass
from typing import Literal

from tools.kernel.plurals import counted
from tools.reputation.rules import Figures, share

ENOUGH_JOBS = 3
MIN_PAID, MAX_DISPUTED, MIN_ANSWERED, MAX_FAILED = 0.8, 0.2, 0.5, 0.3

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


def check(seller: Figures, buyer: Figures, *, active: bool, live: bool) -> Check:
    """Return the rates of an agent in one environment, from 0 to 1 or None, and a verdict.

    Jobs are those that ended with a result: completed, failed, or never paid by the agent. A live job that was
    completed for nothing counts only if it was disputed. The verdicts are:

    unknown: there are fewer than three jobs; or, on live, nothing against the agent and no wallet that paid.

    caution: the agent is suspended, owes a refund, paid less than 80 % of the jobs it had to pay, had more than 20 % of
    its jobs disputed up to a verdict, answered less than half of its orders, or failed more than 30 % of its sales.

    ok: otherwise.
    """
    jobs = seller.jobs + buyer.jobs + buyer.jobs_unpaid + seller.unpaid_disputed + buyer.unpaid_disputed
    wallets = seller.wallets + buyer.wallets
    disputed = seller.jobs_disputed + buyer.jobs_disputed
    paid_rate = share(buyer.jobs_paid, buyer.jobs_paid + buyer.jobs_unpaid)
    dispute_rate = share(disputed, jobs)
    answered = response_rate(seller)
    failed = share(seller.jobs_failed, seller.jobs)
    concerns = (
        (not active, "the agent is suspended"),
        (seller.refunds_due > 0, f"it owes refunds for {counted(seller.refunds_due, 'job')}"),
        (
            _below(paid_rate, MIN_PAID),
            f"it never paid {counted(buyer.jobs_unpaid, 'job')}, and paid {buyer.jobs_paid}",
        ),
        (_above(dispute_rate, MAX_DISPUTED), f"of its {counted(jobs, 'job')}, {disputed} disputed up to a verdict"),
        (_below(answered, MIN_ANSWERED), f"it let {counted(seller.orders_ignored, 'order')} expire unanswered"),
        (_above(failed, MAX_FAILED), f"of {counted(seller.jobs, 'job')} it sold, {seller.jobs_failed} failed"),
    )
    reasons = tuple(words for stands, words in concerns if stands)
    if jobs < ENOUGH_JOBS:
        verdict: Verdict = "unknown"
        reasons = (f"{counted(jobs, 'job')} came to an end, too few to judge by", *reasons)
    elif live and not wallets and not reasons:
        verdict, reasons = "unknown", ("no wallet has paid 10000 minor units or more between it and others",)
    else:
        verdict = "caution" if reasons else "ok"
    return Check(paid_rate, dispute_rate, answered, seller.refunds_due, wallets, jobs, verdict, reasons)


def response_rate(seller: Figures) -> float | None:
    """Return the share of a seller's orders that it answered in time; None without orders."""
    return share(seller.orders_answered, seller.orders_answered + seller.orders_ignored)


def _below(rate: float | None, least: float) -> bool:
    return rate is not None and rate < least


def _above(rate: float | None, most: float) -> bool:
    return rate is not None and rate > most
