"""A job with the rows its facts are derived from, and its panel: read for one job, or for a list in few statements."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import TypeVar

from storage.disputes import disputes_of_jobs, seats_of_dispute, seats_of_disputes
from storage.jobs import deliveries_of_jobs, reviews_of_jobs, settlements_of_jobs
from storage.tables import DisputeRow, JobDeliveryRow, JobRow, ReviewRow, SeatRow, SettlementRow
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
    SeatStatus,
    SettlementKind,
    SettlementStatus,
    Timing,
)
from tools.engine.errors import NotFound
from tools.jobs.facts import JobFacts
from tools.jobs.panel_rules import Decision, Escalate, MissDeadline, Seat, Step, next_step, votes_count_from


@dataclass(frozen=True, slots=True)
class Panel:
    """A case and the seats of all evaluators that were drawn for it."""

    case: DisputeRow
    seats: tuple[SeatRow, ...]

    @property
    def is_open(self) -> bool:
        """True while evaluators decide the case."""
        return self.case.status is DisputeStatus.PANEL

    def step(self, now: datetime) -> Step | None:
        """Return the step that is due at `now`; None if there is none."""
        if not self.is_open:
            return None
        return next_step(self.case.round, self.case.seats, [_as_seat(row) for row in self.seats], now)

    def foreseen(self, now: datetime) -> Decision | Escalate | None:
        """Return how a deadline has ended the case, even if no sweep has written it yet.

        None if the case goes on or seats are to be drawn.
        """
        step = self.step(now)
        if isinstance(step, MissDeadline):
            seats = [replace(_as_seat(row), pending=False) for row in self.seats]
            step = next_step(self.case.round, self.case.seats, seats, now)
        return step if isinstance(step, Decision | Escalate) else None

    def decided_at(self, now: datetime) -> datetime:
        """Return the time of a decision that is written now: its deadline, if that has passed."""
        return min(self.case.verdict_by or now, now)

    @property
    def votes_count_from(self) -> datetime | None:
        """The time from which votes count; None if no evaluator was drawn.

        The evidence closes with the first vote that counts.
        """
        first = min(self.seats, key=lambda seat: seat.drawn_at, default=None)
        if first is None:
            return None
        done = [at for at in (self.case.buyer_done_at, self.case.seller_done_at) if at]
        return votes_count_from(first.drawn_at, first.deadline_at, done, live=self.case.env == Env.LIVE)

    def seat_of(self, agent_id: str) -> SeatRow | None:
        return next((seat for seat in self.seats if seat.agent_id == agent_id), None)


Of = TypeVar("Of", SettlementRow, ReviewRow, JobDeliveryRow)
_SAME_IN_FACTS = ("accept_by", "accepted_at", "pay_by", "deliver_by", "review_by", "revision_count", "max_revisions")


@dataclass(frozen=True)
class JobSnapshot:
    """A job with the rows its facts are derived from."""

    row: JobRow
    settlements: tuple[SettlementRow, ...] = ()
    reviewers: frozenset[str] = frozenset()
    deliveries: tuple[JobDeliveryRow, ...] = ()  # empty if there was only one, which is in the row
    panel: Panel | None = None  # only of a disputed job

    @cached_property
    def facts(self) -> JobFacts:
        """The facts that the rules need, from the job's row, settlements and panel."""
        row = self.row
        payments = self.payments
        refunds = [one for one in self.settlements if one.kind is SettlementKind.REFUND]
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
            **{name: getattr(row, name) for name in _SAME_IN_FACTS},
            verdict_by=self.panel.case.verdict_by if self.panel else None,
            delivered=row.output is not None,
            closed_as=None if row.closed_as is None else ClosedAs(row.closed_as),
            outcome=None if row.outcome is None else Outcome(row.outcome),
            escalated=self.panel is not None and self.panel.case.status is DisputeStatus.ESCALATED,
            overdue_told=row.overdue_told_for is not None and row.overdue_told_for == row.deliver_by,
            reviewed_by_buyer=row.buyer_id in self.reviewers,
            reviewed_by_seller=row.seller_id in self.reviewers,
            forgotten=row.forgotten_at is not None,
        )

    @property
    def needed_panel(self) -> Panel:
        """The panel of a job that is known to have one."""
        assert self.panel is not None
        return self.panel

    @property
    def parties(self) -> tuple[str, str]:
        """The ids of the buyer and the seller."""
        return self.row.buyer_id, self.row.seller_id

    @property
    def payments(self) -> list[SettlementRow]:
        return [one for one in self.settlements if one.kind is SettlementKind.PAYMENT]

    def role_of(self, agent_id: str) -> Actor:
        return Actor.BUYER if agent_id == self.row.buyer_id else Actor.SELLER

    def other(self, agent_id: str) -> str:
        return self.row.seller_id if agent_id == self.row.buyer_id else self.row.buyer_id


def load(tx: Tx, row: JobRow) -> JobSnapshot:
    """Return a job with the rows of its facts."""
    (seen,) = load_all(tx, [row])
    return seen


def load_all(tx: Tx, rows: Sequence[JobRow]) -> list[JobSnapshot]:
    """Return jobs with the rows of their facts; each table is read in one statement."""
    ids = [row.id for row in rows]
    settlements = tx.all(settlements_of_jobs, job_ids=ids)
    reviews = tx.all(reviews_of_jobs, job_ids=ids) if any(row.status in FINISHED for row in rows) else []
    deliveries = tx.all(deliveries_of_jobs, job_ids=ids) if any(row.revision_count for row in rows) else []
    disputed = [row.id for row in rows if row.status == JobStatus.DISPUTED]
    cases = tx.all(disputes_of_jobs, job_ids=disputed) if disputed else []
    panels = {panel.case.job_id: panel for panel in panels_of(tx, cases)}
    paid, reviewed, delivered = by_job(settlements), by_job(reviews), by_job(deliveries)
    return [
        JobSnapshot(
            row,
            tuple(paid[row.id]),
            frozenset(one.reviewer_id for one in reviewed[row.id]),
            tuple(delivered[row.id]) if row.revision_count else (),
            panels.get(row.id),
        )
        for row in rows
    ]


def with_settlements(tx: Tx, rows: Sequence[JobRow]) -> list[JobSnapshot]:
    """Return jobs with their payments and refunds, but without reviews and deliveries."""
    found = by_job(tx.all(settlements_of_jobs, job_ids=[row.id for row in rows]) if rows else [])
    return [JobSnapshot(row, tuple(found[row.id])) for row in rows]


def by_job(rows: Sequence[Of]) -> defaultdict[str, list[Of]]:
    """Group rows by the job that they are of."""
    found = defaultdict[str, list[Of]](list)
    for row in rows:
        found[row.job_id].append(row)
    return found


def find_mine(tx: Tx, job_id: str, agent_id: str, env: Env, *, lock: bool = False) -> JobSnapshot:
    """Return a job in this environment; raise NotFound if the agent is not a party to it."""
    row = tx.get(JobRow, job_id, lock=lock)
    if row is None or row.env != env or agent_id not in (row.buyer_id, row.seller_id):
        raise NotFound("you have no such job", param="job_id")
    return load(tx, row)


def panel_of(tx: Tx, case: DisputeRow) -> Panel:
    return Panel(case, tuple(tx.all(seats_of_dispute, dispute_id=case.id)))


def panels_of(tx: Tx, cases: Sequence[DisputeRow]) -> list[Panel]:
    """Return the panels of these cases; all seats are read in one statement."""
    if not cases:
        return []
    seats = tx.all(seats_of_disputes, ids=[case.id for case in cases])
    return [Panel(case, tuple(seat for seat in seats if seat.dispute_id == case.id)) for case in cases]


def _as_seat(row: SeatRow) -> Seat:
    outcome = None if row.outcome is None else Outcome(row.outcome)
    return Seat(row.round, outcome, row.status is SeatStatus.PENDING, row.deadline_at)
