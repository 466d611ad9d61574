"""The oracle of waiting calls: an event wakes each call that waits for it."""

from datetime import timedelta
from typing import Any

from sqlalchemy import bindparam, func, select

from storage.query import Query
from storage.tables import EventRow
from tests.simulation.oracles import Oracle
from tests.simulation.records import Observation, Violation
from tools.events.event_ids import number_of

WAITING = ("list_events", "get_inbox")
LATE = timedelta(seconds=10)  # in which a process that lost its connection to the database has another one

_missed: Query[Any] = Query(
    select(func.min(EventRow.id)).where(
        EventRow.agent_id == bindparam("agent_id"),
        EventRow.env == bindparam("env"),
        EventRow.id > bindparam("after"),
        EventRow.created_at < bindparam("before", type_=EventRow.created_at.type),
    )
)


class Wakeups(Oracle):
    """No event came long before the end of a call that waited and saw nothing."""

    def observe(self, seen: Observation) -> None:
        call, answer = seen.call, seen.answer
        since = call.arguments.get("since")
        waited = call.operation in WAITING and call.arguments.get("wait_seconds") and since
        if waited and not answer.refused and answer.body["next_since"] == since:
            self.simulation.check_later(self._look_for(seen, str(since)))

    async def _look_for(self, seen: Observation, since: str) -> None:
        """Look for an event that came long before the answer."""
        env = "live" if (seen.call.key or "").startswith("as_live_") else "test"
        asked = {"agent_id": seen.agent, "env": env, "after": number_of(since), "before": seen.ended - LATE}
        found = await self.simulation.read(lambda tx: tx.one(_missed, **asked))
        if found is not None:
            raise Violation(f"{seen.agent} waits from {seen.began} to {seen.ended}, and event {found} does not wake it")
