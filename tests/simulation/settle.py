"""The end of a run: without faults and calls, everything open ends by its last deadline."""

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import func, literal, select

from storage.query import Query
from storage.tables import BountyRow, DisputeRow, JobRow
from storage.transaction import Tx
from tests.simulation.records import Violation

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

SLACK_SECONDS = 300.0  # for the market's loops to see a deadline
ROUNDS = 10  # a missed panel is drawn again, so that its case has more than one deadline

_LAST = {
    "a job": Query[datetime | None](select(func.max(JobRow.clock_at))),
    "a notice": Query[datetime | None](select(func.max(JobRow.notice_at))),
    "a bounty": Query[datetime | None](
        select(func.max(BountyRow.expires_at)).where(BountyRow.status == literal("open"))
    ),
    "a case": Query[datetime | None](
        select(func.max(DisputeRow.verdict_by)).where(DisputeRow.status == literal("panel"))
    ),
}
_FIRST = {
    "a job": Query[datetime | None](select(func.min(JobRow.clock_at))),
    "a notice": Query[datetime | None](select(func.min(JobRow.notice_at))),
    "a bounty": Query[datetime | None](
        select(func.min(BountyRow.expires_at)).where(BountyRow.status == literal("open"))
    ),
    "a case": Query[datetime | None](
        select(func.min(DisputeRow.verdict_by)).where(DisputeRow.status == literal("panel"))
    ),
}


async def settle(simulation: "Simulation") -> None:
    """Switch all faults off, and let time pass until nothing open has a deadline.

    Raises Violation if a deadline passes without its move.
    """
    simulation.disturbances.end()
    for _ in range(ROUNDS):
        last = await simulation.read(_last)
        if last is None:
            return
        left = (last - simulation.machine.clock.now()).total_seconds()
        await simulation.sleep(max(left, 0.0) + SLACK_SECONDS)
        overdue = await simulation.read(partial(_overdue, until=last))
        if overdue:
            raise Violation(f"without faults, nothing happened by its deadline: {overdue}")
    raise Violation(f"after {ROUNDS} times the longest deadline, something is open still")


def is_overdue(simulation: "Simulation", due: datetime) -> bool:
    """Tell if what was due at a time should be done: it was due long ago, without faults since."""
    ended_at, slack = simulation.disturbances.ended_at, timedelta(seconds=SLACK_SECONDS)
    return ended_at is not None and max(due, ended_at) + slack < simulation.clock.now()


def _last(tx: Tx) -> datetime | None:
    return max((at for query in _LAST.values() if (at := tx.one(query)) is not None), default=None)


def _overdue(tx: Tx, until: datetime) -> dict[str, datetime]:
    """Return the oldest deadline up to a moment of each kind of thing."""
    return {what: at for what, query in _FIRST.items() if (at := tx.one(query)) is not None and at <= until}
