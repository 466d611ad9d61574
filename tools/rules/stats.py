"""What a listing's jobs came to: the figures of Listing.stats, from job rows and settlement rows."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from tools.rules.jobfacts import SELLER_FAILURES, JobStatus, Outcome

DUST_MINOR = 10_000  # a wallet counts once it has paid this much, net of refunds
GRADUATION_JOBS, GRADUATION_BUYERS, GRADUATION_RATING = 5, 3, 3.5


@dataclass(frozen=True, slots=True)
class FinishedJob:
    id: str
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
    job_id: str
    kind: str
    status: str
    amount: int
    payer_address: str


@dataclass(frozen=True, slots=True)
class Figures:
    jobs_completed: int
    jobs_failed: int
    jobs_paid: int
    distinct_buyers: int
    median_turnaround_seconds: int | None
    volume_minor: int
    graduated: bool


def figures(jobs: Iterable[FinishedJob], transfers: Iterable[Transfer], rating: float | None) -> Figures:
    """Counts, the median turnaround, and the volume of completed jobs net of refunds."""
    finished = list(jobs)
    net, payer = _net_by_job(transfers)
    done = [job for job in finished if job.completed]
    by_wallet: defaultdict[str, int] = defaultdict(int)
    for job in done:
        if job.id in payer:
            by_wallet[payer[job.id]] += net[job.id]
    buyers = sum(paid >= DUST_MINOR for paid in by_wallet.values())
    paid_jobs = sum(net[job.id] >= DUST_MINOR for job in done)
    return Figures(
        jobs_completed=len(done),
        jobs_failed=sum(job.failed for job in finished),
        jobs_paid=paid_jobs,
        distinct_buyers=buyers,
        median_turnaround_seconds=_median(done),
        volume_minor=sum(net[job.id] for job in done),
        graduated=paid_jobs >= GRADUATION_JOBS
        and buyers >= GRADUATION_BUYERS
        and (rating is None or rating >= GRADUATION_RATING),
    )


def _net_by_job(transfers: Iterable[Transfer]) -> tuple[defaultdict[str, int], dict[str, str]]:
    net: defaultdict[str, int] = defaultdict(int)
    payer: dict[str, str] = {}
    for transfer in transfers:
        if transfer.kind == "refund":
            net[transfer.job_id] -= transfer.amount
        elif transfer.status == "settled":
            net[transfer.job_id] += transfer.amount
            payer[transfer.job_id] = transfer.payer_address.lower()
    return net, payer


def _median(jobs: list[FinishedJob]) -> int | None:
    """The element floor(n/2) of the sorted seconds from acceptance to delivery."""
    taken = sorted(
        int((job.delivered_at - job.accepted_at).total_seconds())
        for job in jobs
        if job.accepted_at and job.delivered_at
    )
    return taken[len(taken) // 2] if taken else None
