"""The moves of every lifecycle table, counted under every class of faults that was active around them.

A fault is active from its moment until BEFORE later, and for AFTER before it, because an answer may be lost after a move.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import orjson

from storage.tables import EventRow
from storage.transaction import Tx
from storage.vocabulary import PurchaseStatus, SeatStatus
from tests.simulation.event_moves import (
    ANSWERED,
    DECIDED,
    SEATS,
    events_after,
    moves_in,
    seats_of,
)
from tests.simulation.history import Audited, Histories, audited
from tests.simulation.matrix import NONE, Matrix, Row, name_of, purchase_row
from tests.simulation.oracles import Oracle
from tests.simulation.purchase_moves import Seen, events_between, purchases_now
from tests.simulation.records import Observation
from tools.purchases.rules import ENDED

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

BEFORE, AFTER = timedelta(seconds=60), timedelta(seconds=5)


class FaultTimes:
    """The moments of the faults of a run, by class."""

    def __init__(self) -> None:
        self.moments: dict[str, list[datetime]] = defaultdict(list)

    def add(self, kind: str, at: datetime) -> None:
        insort(self.moments[kind], at)  # a clock may have gone back

    def around(self, at: datetime) -> list[str]:
        """Return the classes of faults that were active around a moment, or NONE alone."""
        found = [kind for kind, moments in self.moments.items() if _has_between(moments, at - BEFORE, at + AFTER)]
        return found or [NONE]


def _has_between(moments: Sequence[datetime], first: datetime, last: datetime) -> bool:
    place = bisect_left(moments, first)
    return place < len(moments) and moments[place] <= last


_STOPS = {"decline_job": "decline", "cancel_job": "cancel"}


class Coverage(Oracle):
    """The moves of a run follow their tables, and are counted by the faults around them."""

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.matrix, self.faults, self.histories = Matrix(), FaultTimes(), Histories()
        self.asked: dict[str, str] = {}  # by job: how a party stopped it
        self.audited, self.read_up_to = 0, 0
        self.purchases: dict[str, PurchaseStatus] = {}  # under way, by id
        self.purchased = ""
        self.once = set[tuple[Row, str]]()

    def struck(self, kind: str) -> None:
        """Note a fault at this moment of the market's clock."""
        self.matrix.seen.add(kind)
        self.faults.add(kind, self.simulation.machine.clock.now())

    def observe(self, seen: Observation) -> None:
        if seen.answer.refused:
            return
        operation = seen.call.operation
        if operation in _STOPS:
            self.asked[seen.call.arguments["job_id"]] = _STOPS[operation]
        elif operation in ANSWERED:
            self._count_once(ANSWERED[operation], seen.answer.body["id"], self.simulation.machine.clock.now())

    async def look(self) -> None:
        """Count the moves since the last look."""
        await self.look_at_purchases()
        while rows := await self.simulation.read(lambda tx: tx.all(audited, after=self.audited)):
            for row in map(Audited._make, rows):
                self.audited = row.id
                move = self.histories.move(row, self.asked.get(row.job_id))
                if move is not None:
                    self._count(("jobs", name_of(move)), row.at)
        while events := await self.simulation.read(lambda tx: tx.all(events_after, after=self.read_up_to)):
            for event in events:
                self.read_up_to = event.id
                for row, about in moves_in(event):
                    self._count_once(row, about, event.created_at)
            await self._count_seats([one for one in events if one.kind in DECIDED])

    async def look_at_purchases(self) -> None:
        """Count the moves of purchases since the last look."""
        for seen in map(Seen._make, await self.simulation.read(self._changed_purchases)):
            self.purchased = max(self.purchased, seen.id)
            for event in events_between(self.purchases.pop(seen.id, PurchaseStatus.CHECKING), seen):
                self._count(purchase_row(event), seen.at)
            if seen.status not in ENDED:
                self.purchases[seen.id] = seen.status

    def _changed_purchases(self, tx: Tx) -> list[Any]:
        return tx.all(purchases_now, after=self.purchased, ids=[*self.purchases])

    async def _count_seats(self, events: Sequence[EventRow]) -> None:
        """Count what became of the seats of cases that were closed."""
        closed = {orjson.loads(one.data)["dispute_id"]: one.created_at for one in events}
        if not closed:
            return
        for seat in await self.simulation.read(lambda tx: tx.all(seats_of, ids=sorted(closed))):
            ended = {SeatStatus.VOTED: seat.voted_at, SeatStatus.MISSED: seat.deadline_at}
            at = ended.get(seat.status) or closed[seat.dispute_id]
            if seat.status in SEATS:
                self._count_once(("disputes", SEATS[seat.status]), f"{seat.dispute_id} {seat.agent_id}", at)

    def _count(self, row: Row, at: datetime) -> None:
        for kind in self.faults.around(at):
            self.matrix.counts[row, kind] += 1

    def _count_once(self, row: Row, about: str, at: datetime) -> None:
        if (row, about) not in self.once:
            self.once.add((row, about))
            self._count(row, at)
