"""A job with the rows its facts are derived from: read for one job, or for a list in one statement per table."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.jobs import deliveries_of_jobs, reviews_of_job, reviews_of_jobs, settlements_of_job, settlements_of_jobs
from storage.tables import JobDeliveryRow, JobRow, ReviewRow, SettlementRow
from storage.transaction import Tx
from storage.vocabulary import (
    FINISHED,
    Actor,
    ClosedAs,
    DisputeStatus,
    Env,
    JobStatus,
    Outcome,
    PricingModel,
    SettlementKind,
    SettlementStatus,
    Timing,
)
from tools.engine.errors import NotFound
from tools.jobs.disputes.seats import Panel, panel_of_job, panels_of_jobs
from tools.jobs.facts import JobFacts


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """A job with the rows its facts are derived from."""

    row: JobRow
    settlements: tuple[SettlementRow, ...]
    reviewers: frozenset[str]
    deliveries: tuple[JobDeliveryRow, ...] = ()  # empty if there was only one, which is in the row
    panel: Panel | None = None  # only of a disputed job

    @property
    def facts(self) -> JobFacts:
        return facts_of(self)

    def role_of(self, agent_id: str) -> Actor:
        return Actor.BUYER if agent_id == self.row.buyer_id else Actor.SELLER

    def other(self, agent_id: str) -> str:
        return self.row.seller_id if agent_id == self.row.buyer_id else self.row.buyer_id


def load(tx: Tx, row: JobRow) -> JobSnapshot:
    settlements = tuple(tx.all(settlements_of_job, job_id=row.id))
    finished = row.status in FINISHED
    reviews: Sequence[ReviewRow] = tx.all(reviews_of_job, job_id=row.id) if finished else ()
    panel = panel_of_job(tx, row.id) if row.status == JobStatus.DISPUTED else None
    return JobSnapshot(
        row, settlements, frozenset(review.reviewer_id for review in reviews), _deliveries(tx, row), panel
    )


def _deliveries(tx: Tx, row: JobRow) -> tuple[JobDeliveryRow, ...]:
    if not row.revision_count:
        return ()
    return tuple(tx.all(deliveries_of_jobs, job_ids=[row.id]))


def load_all(tx: Tx, rows: Sequence[JobRow]) -> list[JobSnapshot]:
    """Return jobs with the rows of their facts; each table is read in one statement."""
    ids = [row.id for row in rows]
    settlements, reviews = tx.all(settlements_of_jobs, job_ids=ids), tx.all(reviews_of_jobs, job_ids=ids)
    deliveries = tx.all(deliveries_of_jobs, job_ids=ids) if any(row.revision_count for row in rows) else []
    panels = panels_of_jobs(tx, [row.id for row in rows if row.status == JobStatus.DISPUTED])
    return [
        JobSnapshot(
            row,
            tuple(one for one in settlements if one.job_id == row.id),
            frozenset(one.reviewer_id for one in reviews if one.job_id == row.id),
            tuple(one for one in deliveries if one.job_id == row.id and row.revision_count),
            panels.get(row.id),
        )
        for row in rows
    ]


def with_settlements(tx: Tx, rows: Sequence[JobRow]) -> list[JobSnapshot]:
    """Return jobs with their payments and refunds, but without reviews and deliveries."""
    found = tx.all(settlements_of_jobs, job_ids=[row.id for row in rows]) if rows else []
    return [JobSnapshot(row, tuple(one for one in found if one.job_id == row.id), frozenset()) for row in rows]


def find_mine(tx: Tx, job_id: str, agent_id: str, env: Env, *, lock: bool = False) -> JobSnapshot:
    """Return a job in this environment; raise NotFound if the agent is not a party to it."""
    row = tx.get(JobRow, job_id, lock=lock)
    if row is None or row.env != env or agent_id not in (row.buyer_id, row.seller_id):
        raise NotFound("you have no such job", param="job_id")
    return load(tx, row)


def facts_of(seen: JobSnapshot) -> JobFacts:
    """Return the facts that the rules need, from the job's row, settlements and panel."""
    row = seen.row
    payments = [one for one in seen.settlements if one.kind is SettlementKind.PAYMENT]
    refunds = [one for one in seen.settlements if one.kind is SettlementKind.REFUND]
    settled = [one for one in payments if one.status is SettlementStatus.SETTLED]
    return JobFacts(
        status=JobStatus(row.status),
        timing=Timing(row.payment),
        model=PricingModel(row.pricing_model),
        price_minor=row.price,
        quoted_price_minor=row.quoted_price,
        paid_minor=sum(one.amount for one in settled),
        partial_minor=sum(one.amount for one in payments if one.status is SettlementStatus.PARTIAL),
        orphaned_minor=sum(one.amount for one in payments if one.status is SettlementStatus.ORPHANED),
        refunded_minor=sum(one.amount for one in refunds),
        voluntary_minor=sum(one.amount for one in refunds if one.voluntary),
        paid_at=max((one.settled_at for one in settled if one.settled_at), default=None),
        accept_by=row.accept_by,
        pay_by=row.pay_by,
        deliver_by=row.deliver_by,
        review_by=row.review_by,
        verdict_by=seen.panel.case.verdict_by if seen.panel else None,
        delivered=row.output is not None,
        revision_count=row.revision_count,
        max_revisions=row.max_revisions,
        closed_as=None if row.closed_as is None else ClosedAs(row.closed_as),
        outcome=None if row.outcome is None else Outcome(row.outcome),
        escalated=seen.panel is not None and seen.panel.case.status is DisputeStatus.ESCALATED,
        overdue_told=row.overdue_told_for is not None and row.overdue_told_for == row.deliver_by,
        reviewed_by_buyer=row.buyer_id in seen.reviewers,
        reviewed_by_seller=row.seller_id in seen.reviewers,
        forgotten=row.forgotten_at is not None,
    )
