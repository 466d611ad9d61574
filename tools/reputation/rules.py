"""Reputation: the result of each job for its two parties, sums over jobs and counterparties, and scores.

All sums are integers, so they can change by one job at a time and never drift. The figures of a side are the sum of its
jobs' parts and of its counterparties' standings, in any order. The source of every formula is the contract's reputation
names, and the public docs on how they are computed.
"""

from dataclasses import dataclass, fields
from math import log10
from operator import attrgetter
from typing import TypeVar

from storage.vocabulary import Actor
from tools.kernel.money import DUST_MINOR
from tools.kernel.strict_json import MAX_INTEGER

PRIOR_RATING, PRIOR_VOTES = 3.5, 5  # a rating starts as five votes of 3.5
MICRO = 1_000_000  # weights are stored as whole millionths
MINOR_PER_USDC = 1_000_000
MAX_CATEGORIES = 10


@dataclass(frozen=True, slots=True)
class JobContribution:
    """The result of one job, as it counts for its buyer and its seller.

    A job that is under way has no result yet.
    """

    completed: bool = False  # or resolved, but not for the buyer
    failed: bool = False  # the seller gave it up or never delivered, or a verdict went to the buyer
    disputed: bool = False  # with a verdict; an open or a withdrawn case does not count
    seller_cancelled: bool = False  # given up during the work; such a job has failed too
    buyer_cancelled: bool = False  # before any work; leaving a sealed or an overdue delivery does not count
    unpaid: bool = False  # expired because the buyer never paid
    delivery_unpaid: bool = False  # the work was delivered and never paid: it expired, or the buyer walked away
    paid: bool = False
    answered: bool = False  # the seller accepted, declined or quoted
    ignored: bool = False  # the seller let the order expire
    refund_due: bool = False  # more than dust, which anybody may send
    refund_made: bool = False  # all that was owed was sent back
    on_time: bool | None = None  # of a finished job: whether every delivery met its own deadline
    paid_minor: int = 0  # of a completed job, net of refunds
    gross_minor: int = 0  # of a completed job with a refund: what was paid before it; otherwise 0
    payer: str | None = None  # wallets, in lower case
    payee: str | None = None
    seller_rating: int | None = None  # by the buyer, 1 to 5
    buyer_rating: int | None = None
    returned: bool = False  # by the seller, soon after it had accepted: for the buyer's input
    for_nothing: bool = False  # completed on live for less than DUST_MINOR net: it adds nothing favourable


NOTHING = JobContribution()


@dataclass(frozen=True, slots=True)
class Figures:
    """The sums of one side of an agent, in all or in one category, in USDC minor units."""

    jobs_completed: int = 0
    jobs_failed: int = 0
    jobs_disputed: int = 0
    jobs_cancelled: int = 0
    jobs_unpaid: int = 0
    deliveries_unpaid: int = 0
    refunds_due: int = 0
    refunds_made: int = 0
    jobs_paid: int = 0  # as buyer
    orders_answered: int = 0
    orders_ignored: int = 0
    timed: int = 0
    on_time: int = 0
    volume_minor: int = 0
    third_party_minor: int = 0
    rating_sum: int = 0
    rating_count: int = 0
    wallets: int = 0  # distinct wallets that moved at least DUST_MINOR, net of refunds, to or from the agent
    first_party_wallets: int = 0
    third_party_wallets: int = 0
    free_agents: int = 0  # distinct agents met in free jobs
    weight_micro: int = 0  # of the counterparties that rated
    vote_micro: int = 0  # their average ratings times their weights
    unpaid_completed: int = 0  # live jobs completed for less than DUST_MINOR net
    unpaid_disputed: int = 0  # those of them that were disputed
    unpaid_reviews: int = 0  # reviews of these jobs that count in no rating
    unpaid_rating_sum: int = 0
    jobs_returned: int = 0  # as seller

    @property
    def jobs(self) -> int:
        """The number of finished jobs."""
        return self.jobs_completed + self.jobs_failed


EMPTY = Figures()


@dataclass(frozen=True, slots=True)
class CounterpartyTotals:
    """The sums of all jobs with one counterparty: a wallet, or an agent if no money moved."""

    paid_minor: int = 0
    third_party_minor: int = 0
    free_jobs: int = 0
    rating_sum: int = 0
    rating_count: int = 0
    returned_minor: int = 0  # of jobs rated under PRIOR_RATING: what was paid and sent back


Sums = TypeVar("Sums", Figures, CounterpartyTotals)
# `astuple` copies each value and takes ten times as long.
_VALUES = {kind: attrgetter(*(one.name for one in fields(kind))) for kind in (Figures, CounterpartyTotals)}


def add(one: Sums, other: Sums, sign: int = 1) -> Sums:
    """Add other sums (`sign` 1), or subtract them (-1)."""
    values = _VALUES[type(one)]
    return type(one)(*(a + sign * b for a, b in zip(values(one), values(other), strict=True)))


def subtract(one: Figures, other: Figures) -> Figures:
    return add(one, other, -1)


def contribution(mark: JobContribution, role: Actor, *, first_party: bool) -> Figures:
    """Return what one job adds to the figures of its seller or its buyer.

    If the operator's agents took part in the job when it was made, it adds nothing to third-party figures. Only the
    side at fault is marked: the seller for refunds, the buyer for jobs that it never paid. Unpaid deliveries are shown
    on the seller, but mark neither side. A failed job is recorded on both sides, but is the seller's fault alone.
    """
    selling = role is Actor.SELLER
    rating = mark.seller_rating if selling else mark.buyer_rating
    if mark.for_nothing:
        return _part_for_nothing(mark, rating, selling=selling)
    return Figures(
        jobs_completed=int(mark.completed),
        jobs_failed=int(mark.failed),
        jobs_disputed=int(mark.disputed),
        jobs_cancelled=int(mark.seller_cancelled if selling else mark.buyer_cancelled),
        jobs_unpaid=int(mark.unpaid and not selling),
        jobs_returned=int(mark.returned and selling),
        deliveries_unpaid=int(mark.delivery_unpaid and selling),
        refunds_due=int(mark.refund_due and selling),
        refunds_made=int(mark.refund_made and selling),
        jobs_paid=int(mark.paid and not selling),
        orders_answered=int(mark.answered and selling),
        orders_ignored=int(mark.ignored and selling),
        timed=int(selling and mark.on_time is not None),
        on_time=int(selling and mark.on_time is True),
        volume_minor=mark.paid_minor,
        third_party_minor=0 if first_party else mark.paid_minor,
        rating_sum=rating or 0,
        rating_count=int(rating is not None),
    )


def _part_for_nothing(mark: JobContribution, rating: int | None, *, selling: bool) -> Figures:
    """Return the part of a job completed for nothing: negatives count, the rest is kept apart."""
    against = _against(mark, rating)
    return Figures(
        jobs_disputed=int(mark.disputed),
        refunds_due=int(mark.refund_due and selling),
        refunds_made=int(mark.refund_made and selling),
        timed=int(selling and mark.on_time is False),
        unpaid_completed=1,
        unpaid_disputed=int(mark.disputed),
        rating_sum=rating or 0 if against else 0,
        rating_count=int(against),
        unpaid_reviews=int(rating is not None and not against),
        unpaid_rating_sum=0 if against else rating or 0,
    )


def _against(mark: JobContribution, rating: int | None) -> bool:
    """Check for a bad rating of a job that was paid; a refund does not remove it."""
    return rating is not None and rating < PRIOR_RATING and mark.gross_minor >= DUST_MINOR


def dealings_of(
    mark: JobContribution, role: Actor, other_id: str, *, first_party: bool
) -> tuple[str, CounterpartyTotals]:
    """Return the counterparty of a job, and what the job adds to the dealings with it.

    A counterparty is the wallet on the other side of the payment, whichever agent uses it. Without a payment it is the
    agent. A rating that counts against the side keeps the weight of the payment from before refunds.
    """
    selling = role is Actor.SELLER
    wallet, rating = (mark.payer, mark.seller_rating) if selling else (mark.payee, mark.buyer_rating)
    against = _against(mark, rating)
    rating = None if mark.for_nothing and not against else rating
    return wallet or other_id, CounterpartyTotals(
        paid_minor=mark.paid_minor,
        third_party_minor=0 if first_party else mark.paid_minor,
        free_jobs=int(mark.completed and wallet is None),
        rating_sum=rating or 0,
        rating_count=int(rating is not None),
        returned_minor=mark.gross_minor - mark.paid_minor if against else 0,
    )


def counterparty_figures(dealings: CounterpartyTotals) -> Figures:
    """Return what one counterparty adds to a side's figures: itself, and one weighted vote."""
    weighed_minor = dealings.paid_minor + dealings.returned_minor
    weight = round(MICRO * weight_of(weighed_minor)) if dealings.rating_count else 0
    return Figures(
        wallets=int(dealings.paid_minor >= DUST_MINOR),
        first_party_wallets=int(dealings.paid_minor - dealings.third_party_minor >= DUST_MINOR),
        third_party_wallets=int(dealings.third_party_minor >= DUST_MINOR),
        free_agents=int(dealings.free_jobs > 0),
        weight_micro=weight,
        vote_micro=round(weight * dealings.rating_sum / dealings.rating_count) if dealings.rating_count else 0,
    )


def weight_of(paid_minor: int) -> float:
    """Return a vote's weight: 1 + log10(1 + net minor units / 10000), so 1 without a payment."""
    return 1 + log10(1 + max(0, paid_minor) / DUST_MINOR)


def rating_avg(tally: Figures) -> float | None:
    """Return (sum + 3.5 · 5) / (n + 5) over all ratings; None before the first one.

    Ratings are 1 to 5. The result has two decimals.
    """
    if not tally.rating_count:
        return None
    return round((tally.rating_sum + PRIOR_RATING * PRIOR_VOTES) / (tally.rating_count + PRIOR_VOTES), 2)


def rating_weighted(tally: Figures) -> float | None:
    """Return (Σ avg·w + 17.5) / (Σ w + 5) over counterparties; None before the first rating.

    Each counterparty has one vote, the average of its ratings, with the weight w. The result has two decimals.
    """
    if not tally.rating_count:
        return None
    votes, weights = tally.vote_micro / MICRO, tally.weight_micro / MICRO
    return round((votes + PRIOR_RATING * PRIOR_VOTES) / (weights + PRIOR_VOTES), 2)


def unpaid_rating(tally: Figures) -> float | None:
    """Return the mean of the ratings that count apart, with two decimals; None without any."""
    return round(tally.unpaid_rating_sum / tally.unpaid_reviews, 2) if tally.unpaid_reviews else None


def on_time_rate(tally: Figures) -> float | None:
    """Return the share of finished jobs without a late delivery; None before the first one.

    It is from 0 to 1, with four decimals.
    """
    return share(tally.on_time, tally.timed)


def score(seller: Figures, buyer: Figures) -> int:
    """Return the score of an agent in one environment over both sides, from 0 to 100.

    40·(rating − 1)/4, or 20 without a rating (weighted; as seller, otherwise as buyer)
    + 30·min(1, log10(1 + USDC)/6), of both sides' net volume
    + 20·done/(done + bad), or 0 before the first job
    + 10·(on-time rate as seller), or 10 without one if a job is done.
    """
    rating = next((one for one in (rating_weighted(seller), rating_weighted(buyer)) if one is not None), None)
    usdc = max(0, seller.volume_minor + buyer.volume_minor) / MINOR_PER_USDC
    done = seller.jobs_completed + buyer.jobs_completed
    seen = done + _bad(seller, buyer)
    timely = on_time_rate(seller)
    return round(
        40 * (0.5 if rating is None else (rating - 1) / 4)
        + 30 * min(1.0, log10(1 + usdc) / 6)
        + 20 * (done / seen if seen else 0)
        + 10 * (timely if timely is not None else float(done > 0))
    )


def rank_value(tally: Figures) -> int:
    """Return third-party net volume (minor units) times distinct third-party wallets.

    It is at most 2^53 - 1, which every JSON parser reads exactly.
    """
    return min(MAX_INTEGER, max(0, tally.third_party_minor) * tally.third_party_wallets)


def share(part: int, whole: int) -> float | None:
    """Return part / whole with four decimals; None if `whole` is 0."""
    return round(part / whole, 4) if whole else None


def _bad(seller: Figures, buyer: Figures) -> int:
    """Count what is set against the completed jobs: each bad job once, and each refund due.

    A job that the seller cancelled is among its failed jobs.
    """
    return seller.jobs_failed + seller.refunds_due + buyer.jobs_cancelled + buyer.jobs_unpaid
