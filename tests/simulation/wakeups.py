"""The oracle of waiting calls: an event wakes each call that waits for it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, func, select

from storage.query import Query
from storage.tables import EventRow
from tests.simulation.oracles import Oracle
from tests.simulation.records import Observation, Violation
from tools.events.event_ids import number_of

WAITING = ("list_events", "get_inbox")
LATE = timedelta(seconds=10)  # in which a process that lost its connection to the database has another one
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
STEADY_SECONDS = 70.0  # without a jump of a clock, longer than any wait

_missed: Query[Any] = Query(
    select(func.min(EventRow.id)).where(
        EventRow.agent_id == bindparam("agent_id"),
        EventRow.env == bindparam("env"),
        EventRow.id > bindparam("after"),
        EventRow.created_at.between(
            bindparam("begin", type_=EventRow.created_at.type), bindparam("end", type_=EventRow.created_at.type)
        ),
    )
)


class Wakeups(Oracle):
    """No event came long before the answer of a call that waited for it.

    A wake-up may be lost by a fault. Then the call may wait to its end, but it shows the event. A call is not judged if
    a process stopped meanwhile or just before, because its answers and its events then come late.
    """

    def observe(self, seen: Observation) -> None:
        call, answer = seen.call, seen.answer
        since = call.arguments.get("since")
        waited = call.operation in WAITING and call.arguments.get("wait_seconds") and since
        if not waited or answer.refused or not self._is_steady(seen):
            return
        end = self.simulation.machine.clock.now() - LATE
        if answer.body["next_since"] == since:
            self.simulation.start(self._look_for(seen, str(since), LONG_AGO, end))
        elif self._is_undisturbed(seen) and seen.began < end:
            self.simulation.start(self._look_for(seen, str(since), seen.began, end))

    def _is_undisturbed(self, seen: Observation) -> bool:
        """Tell if no wake-up failed during a call, and nothing interrupted it."""
        return seen.tries == 1 and self.simulation.missed_at < seen.loop_began

    def _is_steady(self, seen: Observation) -> bool:
        """Tell if no process stopped and no clock was set during a wait, and all clocks agree."""
        if not all(one.process.ran_since(seen.loop_began - LATE.total_seconds()) for one in self.simulation.machines):
            return False
        clocks = [one.clock for one in self.simulation.machines]
        since = self.simulation.loop.elapsed - STEADY_SECONDS
        return len({one.off for one in clocks}) == 1 and all(one.set_at <= max(since, 0.0) for one in clocks)

    async def _look_for(self, seen: Observation, since: str, begin: datetime, end: datetime) -> None:
        """Raise Violation for an event between these times, which are long before the answer."""
        known = {"agent_id": seen.agent, "env": seen.call.env, "after": number_of(since)}
        found = await self.simulation.read(lambda tx: tx.one(_missed, **known, begin=begin, end=end))
        if found is not None:
            raise Violation(f"{seen.agent} waits from {seen.began} to {seen.ended}, and event {found} does not wake it")
