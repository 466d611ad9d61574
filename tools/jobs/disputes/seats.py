"""The case of a disputed job with its seats, and the step that is due at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from storage.disputes import dispute_of_job, disputes_of_jobs, seats_of_dispute, seats_of_disputes
from storage.tables import DisputeRow, SeatRow
from storage.transaction import Tx
from storage.vocabulary import DisputeStatus, Env, Outcome, SeatStatus
from tools.jobs.disputes.evidence_rules import votes_count_from
from tools.jobs.disputes.panel_rules import Decision, Escalate, MissDeadline, Seat, Step, next_step


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


def panel_of_job(tx: Tx, job_id: str) -> Panel | None:
    case = tx.one(dispute_of_job, job_id=job_id)
    return None if case is None else panel_of(tx, case)


def panel_of(tx: Tx, case: DisputeRow) -> Panel:
    return Panel(case, tuple(tx.all(seats_of_dispute, dispute_id=case.id)))


def panels_of(tx: Tx, cases: Sequence[DisputeRow]) -> list[Panel]:
    """Return the panels of these cases; all seats are read in one statement."""
    if not cases:
        return []
    seats = tx.all(seats_of_disputes, ids=[case.id for case in cases])
    return [Panel(case, tuple(seat for seat in seats if seat.dispute_id == case.id)) for case in cases]


def panels_of_jobs(tx: Tx, job_ids: Sequence[str]) -> dict[str, Panel]:
    """Return the panels of the jobs that have one, by job id."""
    if not job_ids:
        return {}
    cases = tx.all(disputes_of_jobs, job_ids=job_ids)
    return {panel.case.job_id: panel for panel in panels_of(tx, cases)}


def _as_seat(row: SeatRow) -> Seat:
    return Seat(
        row.round,
        None if row.outcome is None else Outcome(row.outcome),
        row.status is SeatStatus.PENDING,
        row.deadline_at,
    )
