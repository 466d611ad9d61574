"""The oracle of the events about jobs: one event for each step, in order, without sealed marks."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from sqlalchemy import bindparam, select

from storage.query import Query
from storage.statements import in_json_list
from storage.tables import AgentRow, EventRow, JobDeliveryRow, JobEventRow, JobRow
from storage.transaction import Tx
from tests.simulation.oracles import Oracle
from tests.simulation.records import Violation

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

WITHOUT_STEP = "job.deadline_soon"  # it is no step of the job, and only one party gets it
MARK = re.compile(r'"([0-9a-f]{64})"')  # a hash or a salt of an output; transactions begin with 0x
_step, _job, _event = JobEventRow.__table__.c, JobRow.__table__.c, EventRow.__table__.c
_delivery = JobDeliveryRow.__table__.c

_buyer, _seller = AgentRow.__table__.alias("buyer"), AgentRow.__table__.alias("seller")
_steps: Query[Any] = Query(
    select(_step.id, _step.job_id, _step.type, _buyer.c.id, _seller.c.id)
    .join_from(JobEventRow.__table__, JobRow.__table__, _job.id == _step.job_id)
    .outerjoin(_buyer, _buyer.c.id == _job.buyer_id)
    .outerjoin(_seller, _seller.c.id == _job.seller_id)
    .where(_step.id > bindparam("after"))
    .order_by(_step.id)
)
_events: Query[Any] = Query(
    select(_event.id, _event.agent_id, _event.kind, _event.data, _event.created_at)
    .where(_event.id > bindparam("after"))
    .order_by(_event.id)
)
_deliveries: Query[Any] = Query(
    select(_delivery.job_id, _delivery.output, _delivery.output_salt, _job.price, _job.seller_id)
    .join_from(JobDeliveryRow.__table__, JobRow.__table__, _job.id == _delivery.job_id)
    .where(in_json_list(_delivery.job_id, "ids"))
)
Steps = dict[tuple[str, str], list[str]]  # by job and party


class Step(NamedTuple):
    """An audit row of a job, with the job's parties.

    A party is None if its account is gone with its events, as after a purchase that came to nothing.
    """

    id: int
    job_id: str
    type: str
    buyer_id: str | None
    seller_id: str | None


class Event(NamedTuple):
    """An event row."""

    id: int
    agent_id: str
    kind: str
    text: str
    at: datetime

    @property
    def data(self) -> Any:
        return orjson.loads(self.text)


class Shown(NamedTuple):
    """An event about an unpaid job, and the hashes in it."""

    event: Event
    job_id: str
    marks: frozenset[str]


class JobEvents(Oracle):
    """Both parties get an event for each step of their job, in the order of the steps.

    No event shows the hash of an unpaid output to anyone but its seller, or its salt to anyone.
    """

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.step, self.event = 0, 0
        self.paid = set[str]()

    async def look(self) -> None:
        steps, events = await self.simulation.read(self._new)
        if steps:
            self.step = steps[-1].id
        if events:
            self.event = events[-1].id
        self._compare(_by_party(steps), _received(events))
        await self._judge([*self._unpaid(events)])

    def _new(self, tx: Tx) -> tuple[Sequence[Step], Sequence[Event]]:
        steps, events = tx.all(_steps, after=self.step), tx.all(_events, after=self.event)
        return [*map(Step._make, steps)], [*map(Event._make, events)]

    def _compare(self, made: Steps, received: Steps) -> None:
        for place in sorted({*made, *received}):
            if made.get(place) != received.get(place):
                job, party = place
                raise Violation(f"{job} took the steps {made.get(place)}, and {party} got {received.get(place)}")

    def _unpaid(self, events: Iterable[Event]) -> Iterable[Shown]:
        """Yield the events that show something of a job which was not paid yet."""
        for one in events:
            marks = frozenset(MARK.findall(one.text))
            if one.kind != "job.paid" and not marks:
                continue
            job_id = one.data.get("job_id")
            if one.kind == "job.paid":
                self.paid.add(job_id)
            elif job_id not in self.paid:
                yield Shown(one, job_id, marks)

    async def _judge(self, shown: Sequence[Shown]) -> None:
        """Check that these events show no output that its buyer has still to pay for."""
        if not shown:
            return
        ids = sorted({one.job_id for one in shown})
        made = await self.simulation.read(lambda tx: tx.all(_deliveries, ids=ids))
        for event, job_id, marks in shown:
            for job, output, salt, price, seller in made:
                hidden = {salt} if event.agent_id == seller else {salt, output}
                if job == job_id and price and marks & hidden:
                    raise Violation(f"event {event.id} shows {event.agent_id} marks of {job}, unpaid: {event.text}")


def _by_party(steps: Iterable[Step]) -> Steps:
    found: Steps = defaultdict(list)
    for one in steps:
        for party in filter(None, (one.buyer_id, one.seller_id)):
            found[one.job_id, party].append(f"job.{one.type}")
    return found


def _received(events: Iterable[Event]) -> Steps:
    found: Steps = defaultdict(list)
    for one in events:
        if one.kind.startswith("job.") and one.kind != WITHOUT_STEP:
            found[one.data["job_id"], one.agent_id].append(one.kind)
    return found
