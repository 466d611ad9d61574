"""What a listing's jobs came to: the figures of Listing.stats, job by job, from job rows and settlement rows."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from tools.rules.jobfacts import SELLER_FAILURES, JobStatus, Outcome
from tools.rules.money import DUST_MINOR

GRADUATION_JOBS, GRADUATION_BUYERS, GRADUATION_RATING = 5, 3, 3.5


@dataclass(frozen=True, slots=True)
class ClosedJob:
    status: str
    closed_as: str | None
    outcome: str | None
    accepted_at: datetime | None
    delivered_at: datetime | None

    @property
    def completed(self) -> bool:
        """Completed, or resolved for anybody but the buyer."""
        return self.status == JobStatus.COMPLETED or (
            self.status == JobStatus.RESOLVED and self.outcome != Outcome.BUYER
        )

    @property
    def failed(self) -> bool:
        return self.outcome == Outcome.BUYER or self.closed_as in SELLER_FAILURES


@dataclass(frozen=True, slots=True)
class Transfer:
    kind: str
    status: str
    amount: int
    payer_address: str


@dataclass(frozen=True, slots=True)
class Result:
    """What one job came to: its part of a listing's figures."""

    completed: bool = False
    failed: bool = False
    paid_minor: int = 0  # net of refunds, of a completed job
    payer: str | None = None  # the wallet that paid most of it, in lower case
    seconds: int | None = None  # from acceptance to delivery, of a completed job

    @property
    def paid(self) -> bool:
        return self.paid_minor >= DUST_MINOR


@dataclass(frozen=True, slots=True)
class Tally:
    """The sums over all jobs and ratings of a listing."""

    completed: int = 0
    failed: int = 0
    paid: int = 0
    buyers: int = 0  # distinct wallets that paid at least DUST_MINOR
    volume_minor: int = 0
    timed: int = 0  # completed jobs with a known turnaround
    ratings: int = 0
    rating_sum: int = 0

    @property
    def rating(self) -> float | None:
        return round(self.rating_sum / self.ratings, 2) if self.ratings else None

    @property
    def graduated(self) -> bool:
        well_rated = not self.ratings or self.rating_sum >= GRADUATION_RATING * self.ratings
        return self.paid >= GRADUATION_JOBS and self.buyers >= GRADUATION_BUYERS and well_rated


def result_of(job: ClosedJob, transfers: Iterable[Transfer]) -> Result:
    """A job's part, as it now stands; a job that is not closed has none."""
    if not job.completed:
        return Result(failed=job.failed)
    paid, payer = _net(transfers)
    times = job.accepted_at, job.delivered_at
    seconds = int((times[1] - times[0]).total_seconds()) if times[0] and times[1] else None
    return Result(True, job.failed, paid if payer else 0, payer, seconds)


def moved(tally: Tally, old: Result, new: Result, buyers: int) -> Tally:
    """The sums once a job's part is no longer `old` but `new`; `buyers` is by how many the paying wallets change."""
    return replace(
        tally,
        completed=tally.completed + new.completed - old.completed,
        failed=tally.failed + new.failed - old.failed,
        paid=tally.paid + new.paid - old.paid,
        buyers=tally.buyers + buyers,
        volume_minor=tally.volume_minor + new.paid_minor - old.paid_minor,
        timed=tally.timed + (new.seconds is not None) - (old.seconds is not None),
    )


def wallet_moves(old: Result, new: Result) -> list[tuple[str, int]]:
    """By how much each wallet's net payments change, in minor units."""
    moves: dict[str, int] = {}
    for result, sign in ((old, -1), (new, 1)):
        if result.payer:
            moves[result.payer] = moves.get(result.payer, 0) + sign * result.paid_minor
    return [(wallet, change) for wallet, change in moves.items() if change]


def buyers_by(before_minor: int, after_minor: int) -> int:
    """Whether a wallet begins (1) or ceases (-1) to count, or neither."""
    return (after_minor >= DUST_MINOR) - (before_minor >= DUST_MINOR)


def rated(tally: Tally, rating: int) -> Tally:
    return replace(tally, ratings=tally.ratings + 1, rating_sum=tally.rating_sum + rating)


def tallied(results: Iterable[Result], ratings: Iterable[int]) -> Tally:
    """The sums from nothing: what the kept ones are checked against."""
    tally, wallets = Tally(), dict[str, int]()
    for result in results:
        tally = moved(tally, Result(), result, 0)
        for wallet, change in wallet_moves(Result(), result):
            wallets[wallet] = wallets.get(wallet, 0) + change
    tally = replace(tally, buyers=sum(paid >= DUST_MINOR for paid in wallets.values()))
    for rating in ratings:
        tally = rated(tally, rating)
    return tally


def middle(timed: int) -> int:
    """The place of the median among the sorted turnarounds, from 0."""
    return timed // 2


def wallet_of_most(moved_minor: Iterable[tuple[str, int]]) -> str | None:
    """The wallet that moved most, in lower case; of equals the earlier, None of nothing.

    A job counts for one wallet: parts of its price that come from others make no further customers.
    """
    sums = Counter[str]()
    for wallet, amount_minor in moved_minor:
        sums[wallet.lower()] += amount_minor
    return max(sums, key=sums.__getitem__, default=None)


def _net(transfers: Iterable[Transfer]) -> tuple[int, str | None]:
    """What was paid for the job and not sent back, and by whom. A refund first covers what was no payment at all."""
    paid, stray, refunded = list[tuple[str, int]](), 0, 0
    for transfer in transfers:
        if transfer.kind == "refund":
            refunded += transfer.amount
        elif transfer.status == "settled":
            paid.append((transfer.payer_address, transfer.amount))
        else:
            stray += transfer.amount
    gross = sum(amount for _, amount in paid)
    return max(0, gross - max(0, refunded - stray)), wallet_of_most(paid)
