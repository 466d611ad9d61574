"""The oracle of retries: the waits between the attempts of a webhook, their number, and the posts that were made."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlalchemy import literal, select

from storage.query import Query
from storage.tables import DeliveryRow
from storage.transaction import Tx
from storage.vocabulary import DeliveryStatus
from tests.simulation.arrived import TOO_MANY
from tests.simulation.oracles import Oracle
from tests.simulation.records import Observation, Violation
from tools.kernel.ids import event_id

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

# Seconds after each failed attempt but the last. create_webhook promises retries for three days, and the record of a
# delivery at most ten attempts. The receivers of a run never ask for a longer wait (Retry-After).
WAITS = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
MOST = 10  # attempts
SPREAD = 0.2  # of a wait, either way
ROUNDED = 0.001  # seconds
_all = Query(select(DeliveryRow))
_pending = Query(select(DeliveryRow).where(DeliveryRow.status == literal("pending")))


class Retries(Oracle):
    """Each failed attempt but the tenth is followed by another one after its wait.

    A delivery that its owner sends again is not judged, because it starts again at once.
    """

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.again: set[str] = set()  # deliveries
        self.faults_before: dict[str, int] = {}  # by delivery: the faults of the run before it was made
        self.faults_at_look = 0  # when the oracle looked last

    def observe(self, seen: Observation) -> None:
        if seen.call.operation == "redeliver_webhook":  # also if refused: an earlier try may have had an effect
            self.again.add(seen.call.arguments["delivery_id"])

    async def look(self) -> None:
        faults = self.simulation.faults.total()
        await self.simulation.read(self._judge_pending)
        self.faults_at_look = faults

    async def at_end(self) -> None:
        await self.simulation.read(lambda tx: self._judge(tx.all(_all)))

    def _judge_pending(self, tx: Tx) -> None:
        """Judge the deliveries that wait, and note the faults before those that are new."""
        rows = tx.all(_pending)
        for row in rows:
            self.faults_before.setdefault(row.id, self.faults_at_look)
        self._judge(rows)

    def _judge(self, rows: Iterable[DeliveryRow]) -> None:
        for row in rows:
            if row.id not in self.again:
                self._check_count(row)
                self._check_wait(row)

    def _check_count(self, row: DeliveryRow) -> None:
        """Raise Violation unless the attempts and the posts that the receiver saw fit together.

        Each post belongs to an attempt. Each process may have one attempt on its way, and each fault since the last look
        before the delivery was made may have ended another one before its post.
        """
        faults = self.simulation.faults.total() - self.faults_before.get(row.id, 0)
        on_their_way = len(self.simulation.machines)
        posts = self.simulation.web.posts[f"{event_id(row.event_number)} {row.webhook_id}"]
        if not posts <= row.attempt <= min(MOST, posts + on_their_way + faults):
            raise Violation(f"{row.id} of {row.webhook_id} has {row.attempt} attempts, and its receiver saw {posts}")
        if row.status is DeliveryStatus.FAILED and row.last_error != TOO_MANY and row.attempt < MOST:
            raise Violation(f"{row.id} of {row.webhook_id} is given up after {row.attempt} attempts")

    def _check_wait(self, row: DeliveryRow) -> None:
        """Raise Violation unless the next attempt is due after the wait of the one that failed last.

        Once the next may have begun by a clock of the market, the number of attempts may be higher than that of the one
        that failed: further attempts are under way, or a crash interrupted them.
        """
        if row.status is not DeliveryStatus.PENDING or row.last_attempt_at is None:
            return
        latest = max(machine.clock.latest() for machine in self.simulation.machines)
        may_have_begun = row.due_at is not None and row.due_at <= latest
        failed = range(1, row.attempt + 1) if may_have_begun else [row.attempt]
        wait = (row.due_at - row.last_attempt_at).total_seconds() if row.due_at else None
        if wait is None or not any(_is_wait(wait, attempt) for attempt in failed):
            raise Violation(f"{row.id} of {row.webhook_id} waits {wait} seconds after attempt {row.attempt}")


def _is_wait(seconds: float, attempt: int) -> bool:
    """Tell if this time is the promised wait after an attempt."""
    if not 1 <= attempt <= len(WAITS):
        return False
    wait = WAITS[attempt - 1]
    return wait * (1 - SPREAD) - ROUNDED <= seconds <= wait * (1 + SPREAD) + ROUNDED
