"""Statistics of a listing (Listing.stats): sums of its jobs' results, from job rows and settlement rows."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from storage.vocabulary import SELLER_FAILURES, JobStatus, Outcome
from tools.kernel.money import DUST_MINOR
from tools.reputation.rules import PRIOR_RATING

GRADUATION_JOBS, GRADUATION_BUYERS, GRADUATION_RATING = 5, 3, 3.5


@dataclass(frozen=True, slots=True)
class ClosedJob:
    status: str
    closed_as: str | None
    outcome: str | None
    accepted_at: datetime | None
    delivered_at: datetime | None
    live: bool = False
    rating: int | None = None  # the buyer's

    @property
    def completed(self) -> bool:
        """Return whether the job was completed, or resolved but not for the buyer."""
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
    """The result of one job: its part of a listing's figures.

    A live job that was completed for less than DUST_MINOR net is neither completed nor failed here, and has no volume.
    """

    completed: bool = False
    failed: bool = False
    paid_minor: int = 0  # net of refunds, of a completed job
    payer: str | None = None  # the wallet that paid most of it, in lower case
    seconds: int | None = None  # from acceptance to delivery, of a completed job
    rating: int | None = None  # the buyer's; shown apart if the job is neither completed nor failed
    against: bool = False  # it is a bad rating of a job that was paid, and counts even after a refund

    @property
    def rating_counts(self) -> bool:
        return self.rating is not None and (self.completed or self.failed or self.against)

    @property
    def paid(self) -> bool:
        return self.paid_minor >= DUST_MINOR


@dataclass(frozen=True, slots=True)
class ListingTotals:
    """The sums over all jobs and ratings of a listing; amounts in minor units."""

    jobs_completed: int = 0
    jobs_failed: int = 0
    jobs_paid: int = 0
    distinct_buyers: int = 0  # distinct wallets that paid at least DUST_MINOR
    volume_usdc: int = 0
    timed_jobs: int = 0  # completed jobs with a known turnaround
    rating_count: int = 0
    rating_sum: int = 0
    unpaid_reviews: int = 0

    @property
    def rating(self) -> float | None:
        return round(self.rating_sum / self.rating_count, 2) if self.rating_count else None

    @property
    def graduated(self) -> bool:
        well_rated = not self.rating_count or self.rating_sum >= GRADUATION_RATING * self.rating_count
        return self.jobs_paid >= GRADUATION_JOBS and self.distinct_buyers >= GRADUATION_BUYERS and well_rated


def result_of(job: ClosedJob, transfers: Iterable[Transfer]) -> Result:
    """Return a job's current result; a job that is not closed has an empty one."""
    rating = job.rating if job.status in (JobStatus.COMPLETED, JobStatus.RESOLVED) else None
    if not job.completed:
        return Result(failed=job.failed, rating=rating)
    gross, paid, payer = _net(transfers)
    if job.live and paid < DUST_MINOR:
        against = rating is not None and rating < PRIOR_RATING and gross >= DUST_MINOR
        return Result(rating=rating, against=against)
    times = job.accepted_at, job.delivered_at
    seconds = int((times[1] - times[0]).total_seconds()) if times[0] and times[1] else None
    return Result(True, job.failed, paid if payer else 0, payer, seconds, rating)


def apply_change(tally: ListingTotals, old: Result, new: Result, buyers: int) -> ListingTotals:
    """Return the sums after the result of a job changes from `old` to `new`.

    `buyers` is the change in the number of paying wallets.
    """
    return replace(
        tally,
        jobs_completed=tally.jobs_completed + new.completed - old.completed,
        jobs_failed=tally.jobs_failed + new.failed - old.failed,
        jobs_paid=tally.jobs_paid + new.paid - old.paid,
        distinct_buyers=tally.distinct_buyers + buyers,
        volume_usdc=tally.volume_usdc + new.paid_minor - old.paid_minor,
        timed_jobs=tally.timed_jobs + (new.seconds is not None) - (old.seconds is not None),
        rating_count=tally.rating_count + new.rating_counts - old.rating_counts,
        rating_sum=tally.rating_sum + _counted(new) - _counted(old),
        unpaid_reviews=tally.unpaid_reviews + _apart(new) - _apart(old),
    )


def wallet_moves(old: Result, new: Result) -> list[tuple[str, int]]:
    """Return by how much each wallet's net payments change, in minor units."""
    moves: dict[str, int] = {}
    for result, sign in ((old, -1), (new, 1)):
        if result.payer:
            moves[result.payer] = moves.get(result.payer, 0) + sign * result.paid_minor
    return [(wallet, change) for wallet, change in moves.items() if change]


def buyers_by(before_minor: int, after_minor: int) -> int:
    """Return 1 if a wallet begins to count as a buyer, -1 if it ceases to, otherwise 0."""
    return (after_minor >= DUST_MINOR) - (before_minor >= DUST_MINOR)


def tallied(results: Iterable[Result]) -> ListingTotals:
    """Sum all results from zero, to check the stored sums."""
    return tallied_with_wallets(results)[0]


def tallied_with_wallets(results: Iterable[Result]) -> tuple[ListingTotals, dict[str, int]]:
    """Sum all results from zero; also return the minor units that each wallet paid."""
    tally, wallets = ListingTotals(), dict[str, int]()
    for result in results:
        tally = apply_change(tally, Result(), result, 0)
        for wallet, change in wallet_moves(Result(), result):
            wallets[wallet] = wallets.get(wallet, 0) + change
    return replace(tally, distinct_buyers=sum(paid >= DUST_MINOR for paid in wallets.values())), wallets


def median_index(timed: int) -> int:
    """Return the index of the median in a sorted list of `timed` turnarounds."""
    return timed // 2


def wallet_of_most(moved_minor: Iterable[tuple[str, int]]) -> str | None:
    """Return the wallet that moved most, in lower case; the first if equal, None if none did.

    A job counts for one wallet: parts of its price that come from others are not further customers.
    """
    sums = Counter[str]()
    for wallet, amount_minor in moved_minor:
        sums[wallet.lower()] += amount_minor
    return max(sums, key=sums.__getitem__, default=None)


def _counted(result: Result) -> int:
    """Return the rating as it counts in the listing's average; 0 if it does not count."""
    return result.rating if result.rating is not None and result.rating_counts else 0


def _apart(result: Result) -> bool:
    return result.rating is not None and not result.rating_counts


def _net(transfers: Iterable[Transfer]) -> tuple[int, int, str | None]:
    """Return what was paid for a job, the part not sent back, and the wallet that paid most.

    A refund first covers money that paid for nothing.
    """
    paid, stray, refunded = list[tuple[str, int]](), 0, 0
    for transfer in transfers:
        if transfer.kind == "refund":
            refunded += transfer.amount
        elif transfer.status == "settled":
            paid.append((transfer.payer_address, transfer.amount))
        else:
            stray += transfer.amount
    gross = sum(amount for _, amount in paid)
    return gross, max(0, gross - max(0, refunded - stray)), wallet_of_most(paid)
