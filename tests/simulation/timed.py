"""The oracle of timed things: each happens once, and not before its time."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

import orjson
from sqlalchemy import bindparam, select

from storage.query import Query
from storage.statements import is_one_of
from storage.tables import EventRow
from tests.simulation.history import PAGE
from tests.simulation.oracles import Oracle
from tests.simulation.records import Violation

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

_JOB = ("job_id",)
ONCE: Mapping[str, tuple[str, ...]] = {  # kinds of events, and the data that name what happens once
    **dict.fromkeys(("job.created", "job.accepted", "job.declined", "job.cancelled", "job.expired"), _JOB),
    **dict.fromkeys(("job.completed", "job.disputed", "job.resolved", "job.paid"), _JOB),
    "job.deadline_soon": ("job_id", "action_needed", "deadline_at"),
    "job.delivery_overdue": ("job_id", "deliver_by"),
    "bounty.expired": ("bounty_id", "proposal_id"),
    "bounty.match": ("bounty_id",),
    "dispute.panel": ("dispute_id", "round"),
    "dispute.escalated": ("dispute_id",),
    "dispute.decided": ("dispute_id",),
    "schedule.fired": ("schedule_id", "scheduled_for"),
}
_events: Query[EventRow] = Query(
    select(EventRow)
    .where(EventRow.id > bindparam("after"), is_one_of(EventRow.kind, [*ONCE]))
    .order_by(EventRow.id)
    .limit(PAGE)
)


class Timed(Oracle):
    """Each thing that happens once has one event for an agent, not before its time."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.after, self.seen = 0, set[tuple[str, ...]]()

    async def look(self) -> None:
        while rows := await self.simulation.read(lambda tx: tx.all(_events, after=self.after)):
            for row in rows:
                self.after = row.id
                self._happened(row)

    def _happened(self, row: EventRow) -> None:
        data = orjson.loads(row.data)
        what = (row.agent_id, row.kind, *(str(data.get(name)) for name in ONCE[row.kind]))
        if what in self.seen:
            raise Violation(f"it happened twice: {' '.join(what)}, event {row.id}")
        self.seen.add(what)
        if row.kind == "schedule.fired" and row.created_at < datetime.fromisoformat(data["scheduled_for"]):
            raise Violation(f"{data['schedule_id']} fired at {row.created_at}, before {data['scheduled_for']}")
