"""Reputation: what each job came to for its two parties, the sums over jobs and counterparties, and what is read from them.

All sums are whole numbers, so that they are moved by one job at a time and never drift: a side's figures are the sum of
its jobs' parts and of its counterparties' standings, in whatever order those came. Source of every formula: the
contract's reputation names, and the public docs on how they are computed.
"""

from dataclasses import astuple, dataclass, fields
from math import log10

from tools.rules.jobfacts import FINAL, SELLER_FAILURES, ClosedAs, JobFacts, JobStatus, Outcome, refund_held_against
from tools.rules.jsontext import MAX_INTEGER
from tools.rules.lifecycle import Actor
from tools.rules.money import DUST_MINOR

PRIOR_RATING, PRIOR_VOTES = 3.5, 5  # a rating begins as five votes of 3.5
MICRO = 1_000_000  # weights are kept as whole millionths
MINOR_PER_USDC = 1_000_000
FINISHED = frozenset({JobStatus.COMPLETED, JobStatus.RESOLVED})
MOST_CATEGORIES = 10


@dataclass(frozen=True, slots=True)
class Mark:
    """What one job came to, as it counts for its buyer and its seller. A job that is under way has come to nothing yet."""

    completed: bool = False  # or resolved for anybody but the buyer
    failed: bool = False  # the seller gave it up or never delivered, or a verdict went to the buyer
    disputed: bool = False  # and decided: a case that is open or was withdrawn says nothing yet, or nothing at all
    seller_cancelled: bool = False  # given up during the work; such a job has failed too
    buyer_cancelled: bool = False  # before any work; leaving a sealed or an overdue delivery is none
    unpaid: bool = False  # expired because the buyer never paid
    delivery_unpaid: bool = False  # the work was delivered and never paid: it expired, or the buyer walked away
    paid: bool = False
    answered: bool = False  # the seller accepted, declined or quoted
    ignored: bool = False  # the seller let the order expire
    refund_due: bool = False  # more than dust anybody may have sent
    refund_made: bool = False  # all that was owed back was sent
    on_time: bool | None = None  # of a finished job: whether every delivery met its own deadline
    paid_minor: int = 0  # of a completed job, net of refunds
    payer: str | None = None  # wallets, in lower case
    payee: str | None = None
    seller_rating: int | None = None  # what the buyer said of the seller, 1 to 5
    buyer_rating: int | None = None


NOTHING = Mark()


@dataclass(frozen=True, slots=True)
class Beside:
    """What a mark needs of a job beside its facts."""

    answered: bool = False  # accepted or quoted
    quoted: bool = False
    late: bool = False  # a delivery came after its deadline
    payer: str | None = None
    payee: str | None = None
    seller_rating: int | None = None
    buyer_rating: int | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """The sums of one side of an agent, all over or in one category. Amounts are USDC minor units."""

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
    wallets: int = 0  # distinct, with DUST_MINOR or more, net of refunds, between them and the agent
    first_party_wallets: int = 0
    third_party_wallets: int = 0
    free_agents: int = 0  # distinct agents met in free jobs
    weight_micro: int = 0  # of the counterparties that rated
    vote_micro: int = 0  # their average ratings times their weights

    @property
    def jobs(self) -> int:
        """Finished jobs."""
        return self.jobs_completed + self.jobs_failed


EMPTY = Tally()
SUMS = tuple(one.name for one in fields(Tally))


@dataclass(frozen=True, slots=True)
class Dealings:
    """What came of all jobs with one counterparty: a wallet, or an agent where no money moved."""

    paid_minor: int = 0
    third_party_minor: int = 0
    free_jobs: int = 0
    rating_sum: int = 0
    rating_count: int = 0


def plus(one: Tally, other: Tally) -> Tally:
    return Tally(*(a + b for a, b in zip(astuple(one), astuple(other), strict=True)))


def minus(one: Tally, other: Tally) -> Tally:
    return Tally(*(a - b for a, b in zip(astuple(one), astuple(other), strict=True)))


def dealt(one: Dealings, other: Dealings, sign: int = 1) -> Dealings:
    """Dealings with another job's added (1) or taken away (-1)."""
    return Dealings(*(a + sign * b for a, b in zip(astuple(one), astuple(other), strict=True)))


def mark_of(facts: JobFacts, beside: Beside) -> Mark:
    """What a job has come to, from its rows as they stand: the time of asking plays no part."""
    completed = facts.status is JobStatus.COMPLETED or (
        facts.status is JobStatus.RESOLVED and facts.outcome is not Outcome.BUYER
    )
    failed = facts.outcome is Outcome.BUYER or facts.closed_as in SELLER_FAILURES
    over, owed, closed_as = facts.status in FINAL, refund_held_against(facts), facts.closed_as
    ignored = closed_as is ClosedAs.ACCEPT_TIMEOUT and not beside.quoted
    return Mark(
        completed=completed,
        failed=failed,
        disputed=facts.outcome is not None,
        seller_cancelled=closed_as is ClosedAs.SELLER_FAILED,
        buyer_cancelled=closed_as is ClosedAs.BUYER_WITHDREW,
        unpaid=facts.is_unpaid,
        delivery_unpaid=facts.delivered and (facts.is_unpaid or closed_as is ClosedAs.BUYER_WALKED_AWAY),
        paid=over and facts.is_paid,
        answered=over and (beside.answered or beside.quoted or closed_as is ClosedAs.SELLER_DECLINED),
        ignored=ignored,
        refund_due=owed > 0,
        refund_made=owed == 0 and facts.refunded_minor > 0,
        on_time=_on_time(facts, beside.late) if completed or failed else None,
        paid_minor=_net(facts) if completed else 0,
        payer=beside.payer if completed or failed else None,
        payee=beside.payee if completed or failed else None,
        seller_rating=beside.seller_rating,
        buyer_rating=beside.buyer_rating,
    )


def part_of(mark: Mark, role: Actor, *, first_party: bool) -> Tally:
    """What one job adds to the figures of the agent that was its seller or its buyer.

    A job the operator's agents took part in, as it was when it was made, adds nothing to what is third-party. Only the
    side at fault is marked: the seller for refunds, unpaid deliveries are shown on it and mark nobody; the buyer for
    jobs it never paid. A failed job stands on both sides, and is the seller's fault alone.
    """
    selling = role is Actor.SELLER
    rating = mark.seller_rating if selling else mark.buyer_rating
    return Tally(
        jobs_completed=int(mark.completed),
        jobs_failed=int(mark.failed),
        jobs_disputed=int(mark.disputed),
        jobs_cancelled=int(mark.seller_cancelled if selling else mark.buyer_cancelled),
        jobs_unpaid=int(mark.unpaid and not selling),
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


def dealings_of(mark: Mark, role: Actor, other_id: str, *, first_party: bool) -> tuple[str, Dealings]:
    """The counterparty a job was done with, and what it adds to the dealings with it.

    A counterparty is the wallet on the other side of the money, whoever holds it; without money, the agent.
    """
    selling = role is Actor.SELLER
    wallet, rating = (mark.payer, mark.seller_rating) if selling else (mark.payee, mark.buyer_rating)
    return wallet or other_id, Dealings(
        paid_minor=mark.paid_minor,
        third_party_minor=0 if first_party else mark.paid_minor,
        free_jobs=int(mark.completed and wallet is None),
        rating_sum=rating or 0,
        rating_count=int(rating is not None),
    )


def standing(dealings: Dealings) -> Tally:
    """What one counterparty, by all its dealings, adds to a side's figures: a head, and one weighted vote."""
    weight = round(MICRO * weight_of(dealings.paid_minor)) if dealings.rating_count else 0
    return Tally(
        wallets=int(dealings.paid_minor >= DUST_MINOR),
        first_party_wallets=int(dealings.paid_minor - dealings.third_party_minor >= DUST_MINOR),
        third_party_wallets=int(dealings.third_party_minor >= DUST_MINOR),
        free_agents=int(dealings.free_jobs > 0),
        weight_micro=weight,
        vote_micro=round(weight * dealings.rating_sum / dealings.rating_count) if dealings.rating_count else 0,
    )


def weight_of(paid_minor: int) -> float:
    """How much one counterparty's vote weighs: 1 + log10(1 + net minor units / 10000); 1 where nothing was paid."""
    return 1 + log10(1 + max(0, paid_minor) / DUST_MINOR)


def rating_avg(tally: Tally) -> float | None:
    """(sum + 3.5 · 5) / (n + 5) over all ratings, 1 to 5, two decimals; None before the first."""
    if not tally.rating_count:
        return None
    return round((tally.rating_sum + PRIOR_RATING * PRIOR_VOTES) / (tally.rating_count + PRIOR_VOTES), 2)


def rating_weighted(tally: Tally) -> float | None:
    """(Σ avg·w + 17.5) / (Σ w + 5): each counterparty is one vote, its ratings averaged, w its weight; two decimals."""
    if not tally.rating_count:
        return None
    votes, weights = tally.vote_micro / MICRO, tally.weight_micro / MICRO
    return round((votes + PRIOR_RATING * PRIOR_VOTES) / (weights + PRIOR_VOTES), 2)


def on_time_rate(tally: Tally) -> float | None:
    """Finished jobs of which no delivery was late, as a share from 0 to 1; four decimals, None before the first."""
    return share(tally.on_time, tally.timed)


def score(seller: Tally, buyer: Tally) -> int:
    """One number from 0 to 100 over both sides of an agent in one environment.

    40·(rating − 1)/4, a half of it without a rating (as seller before as buyer, weighted)
    + 30·min(1, log10(1 + USDC)/6), of both sides' net volume
    + 20·done/(done + bad), 0 before anything
    + 10·on time, as seller; a buyer's 1 once a job is done.
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


def rank_value(tally: Tally) -> int:
    """Third-party net volume (minor units) times distinct third-party wallets; at most 2^53 - 1, for JSON's sake."""
    return min(MAX_INTEGER, max(0, tally.third_party_minor) * tally.third_party_wallets)


def share(part: int, whole: int) -> float | None:
    """part / whole with four decimals; None of nothing."""
    return round(part / whole, 4) if whole else None


def _bad(seller: Tally, buyer: Tally) -> int:
    """What counts against the completed jobs: each job once, and each refund that is still owed.

    A job the seller cancelled is among its failed ones already.
    """
    return seller.jobs_failed + seller.refunds_due + buyer.jobs_cancelled + buyer.jobs_unpaid


def _on_time(facts: JobFacts, late: bool) -> bool:
    """A job the seller gave up or left lying was not delivered on time, whatever an earlier delivery of it was."""
    return not late and facts.closed_as not in SELLER_FAILURES


def _net(facts: JobFacts) -> int:
    """What was paid and not sent back, never below 0. A refund first covers what was no payment at all."""
    stray = facts.partial_minor + facts.orphaned_minor
    return max(0, facts.paid_minor - max(0, facts.refunded_minor - stray))
