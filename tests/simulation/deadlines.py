"""The oracle of deadlines: what the clock does to a job or a bounty is not done before its time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from sqlalchemy import bindparam, literal, select

from storage.query import Query
from storage.tables import BountyRow, EventRow, JobEventRow, JobRow
from storage.transaction import Tx
from tests.simulation.oracles import Oracle
from tests.simulation.records import Violation

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

GRACE = timedelta(hours=1)  # after deliver_by (decisions, 3 Jobs, Windows)
_step, _job = JobEventRow.__table__.c, JobRow.__table__.c
_steps: Query[Any] = Query(
    select(
        _step.id, _step.job_id, _step.type, _step.data, _step.created_at, _job.accept_by, _job.pay_by, _job.deliver_by,
        _job.review_by,
    )
    .join_from(JobEventRow.__table__, JobRow.__table__, _job.id == _step.job_id)
    .where(_step.id > bindparam("after"), _step.actor_id.is_(None))
    .order_by(_step.id)
)  # fmt: skip
_expired: Query[EventRow] = Query(
    select(EventRow)
    .where(EventRow.id > bindparam("after"), EventRow.kind == literal("bounty.expired"))
    .order_by(EventRow.id)
)


class Step(NamedTuple):
    """An audit row of a job that no party caused, with the job's deadlines."""

    id: int
    job_id: str
    type: str
    data: str | None
    at: datetime
    accept_by: datetime | None
    pay_by: datetime | None
    deliver_by: datetime | None
    review_by: datetime | None

    @property
    def due(self) -> datetime | None:
        """The deadline that caused the step; None for a step that is not the clock's."""
        data = orjson.loads(self.data or "{}")
        if self.type == "delivery_overdue":
            return datetime.fromisoformat(data["deliver_by"]) + GRACE
        if data.get("by") != "clock":
            return None
        if self.type == "cancelled":
            assert self.deliver_by is not None
            return self.deliver_by + GRACE
        return self.review_by if self.type == "completed" else self.pay_by or self.accept_by


class Deadlines(Oracle):
    """The clock ends nothing before its deadline."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.step, self.event = 0, 0

    async def look(self) -> None:
        steps, bounties = await self.simulation.read(self._new)
        for step in steps:
            self.step = step.id
            _check(step.due, step.at, f"{step.job_id} is {step.type}")
        for event, due in bounties:
            self.event = event.id
            _check(due, event.created_at, f"a bounty expires: {event.data}")

    def _new(self, tx: Tx) -> tuple[Sequence[Step], Sequence[tuple[EventRow, datetime]]]:
        steps = [*map(Step._make, tx.all(_steps, after=self.step))]
        expired = tx.all(_expired, after=self.event)
        return steps, [(one, tx.need(BountyRow, orjson.loads(one.data)["bounty_id"]).expires_at) for one in expired]


def _check(due: datetime | None, at: datetime, what: str) -> None:
    if due is not None and at < due:
        raise Violation(f"{what} at {at}, before its time at {due}")
