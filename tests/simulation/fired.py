"""The oracle of schedules: each fires for its due times, in their order, until its end."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import orjson

from storage.tables import AgentRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus
from tests.simulation.oracles import Oracle, all_events
from tests.simulation.records import Observation, Violation
from tests.simulation.settle import is_overdue

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

ROUNDED = timedelta(milliseconds=1)  # a shown time is up to so much earlier than the stored one


class Run(NamedTuple):
    """An event schedule.fired: for which time, and when."""

    due_at: datetime
    at: datetime


@dataclass(frozen=True, slots=True)
class Plan:
    """A schedule as the answer of create_schedule describes it."""

    id: str
    owner: str
    first_at: datetime
    interval: timedelta | None
    max_runs: int | None

    def after(self, runs: list[Run]) -> set[datetime]:
        """Return the times of which the next run is for one; none once the schedule is done.

        A time that a late run missed is skipped, and later times do not shift.
        """
        if not runs:
            return {self.first_at}
        if self.interval is None or (self.max_runs is not None and len(runs) >= self.max_runs):
            return set()
        due_at, at = runs[-1]
        late = (at - due_at, at - due_at - ROUNDED)
        return {due_at + self.interval * max(1, one // self.interval + 1) for one in late}


class Fired(Oracle):
    """Each schedule fired for each time that was due, and for no other.

    A schedule is not judged once its owner changed, paused or deleted it, or the market paused it.
    """

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.plans: dict[str, Plan] = {}
        self.changed: set[str] = set()

    def observe(self, seen: Observation) -> None:
        if seen.answer.refused:
            return
        if seen.call.operation in ("update_schedule", "delete_schedule"):
            self.changed.add(seen.call.arguments["schedule_id"])
        if seen.call.operation == "create_schedule":
            body, seconds = seen.answer.body, seen.answer.body["interval_seconds"]
            interval = None if seconds is None else timedelta(seconds=seconds)
            first_at = datetime.fromisoformat(body["run_at"])
            self.plans.setdefault(body["id"], Plan(body["id"], seen.agent or "", first_at, interval, body["max_runs"]))

    async def at_end(self) -> None:
        await self.simulation.read(self._judge)

    def _judge(self, tx: Tx) -> None:
        """Raise Violation for the first schedule that did not fire as planned."""
        runs, paused = defaultdict[str, list[Run]](list), set[str]()
        for event in all_events(tx):
            if event.kind == "schedule.fired":
                data = orjson.loads(event.data)
                runs[data["schedule_id"]].append(Run(datetime.fromisoformat(data["scheduled_for"]), event.created_at))
            elif event.kind == "schedule.paused":
                paused.add(orjson.loads(event.data)["schedule_id"])
        for plan in self.plans.values():
            owner = tx.get(AgentRow, plan.owner)
            stays = owner is not None and owner.status is not AgentStatus.DELETED
            if stays and plan.id not in self.changed | paused:
                self._check(plan, runs[plan.id])

    def _check(self, plan: Plan, runs: list[Run]) -> None:
        for count, run in enumerate(runs):
            if run.due_at not in plan.after(runs[:count]):
                raise Violation(f"{plan} fired for {run.due_at} after {runs[:count]}")
        due = max(plan.after(runs), default=None)
        if due is not None and is_overdue(self.simulation, due):
            raise Violation(f"{plan} did not fire for {due}, after {len(runs)} times")
