"""The real stores, whose workers run as callbacks of the simulated loop instead of threads."""

from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from storage.sqlite import SQLite, SQLiteStore
from storage.store import Store, WorkItem
from storage.transaction import Tx
from tests.simulation.faults import CrashNow
from tests.simulation.loop import SimulatedLoop

T = TypeVar("T")
NO_LIMIT = 1e9  # seconds of real time, which must not decide anything
LATENCY = 500.0  # batches in a second, on average


class SimulatedStore(Store):
    """A store whose seeded turns decide which units are in a batch and when it commits."""

    random: Random
    loop: SimulatedLoop
    on_crash: Callable[[str], None]  # called if a COMMIT is the last thing that the process does

    def start_workers(self) -> None:
        self.random = self.loop.random

    @property
    def alive(self) -> bool:
        return True

    def _ask(self, queue: Any, work: Callable[[Tx], T], name: str) -> Any:
        future = super()._ask(queue, work, name)
        self.loop.call_later(self.random.expovariate(LATENCY), self._turn)
        return future

    def _turn(self) -> None:
        """Let one writer and one reader serve what waits for them."""
        if self.closed:
            return
        batch = self._waiting(self.writes)
        try:
            if batch:
                self._serve(batch)
        except CrashNow as crash:
            self.on_crash(f"crash_{crash}_commit")
            return
        for asked in self._waiting(self.reads):
            self.readers[0].serve(asked)

    def _serve(self, batch: list[WorkItem]) -> None:
        size = self.random.randint(1, len(batch))
        rest = [*self.random.choice(self.writers).serve(batch[:size]), *batch[size:]]
        for asked in rest:
            self.writes.put(asked)
        if rest:
            self.loop.call_later(self.random.expovariate(LATENCY), self._turn)

    @staticmethod
    def _waiting(queue: Any) -> list[WorkItem]:
        return [queue.get_nowait() for _ in range(queue.qsize())]

    def close(self) -> None:
        """Drop everything that is not committed, as the end of a process does."""
        self.closed = True
        for worker in (*self.writers, *self.readers):
            worker.discard()
        self.database.close()


class SimulatedSQLite(SimulatedStore, SQLiteStore):
    def __init__(self, database: SQLite) -> None:
        super().__init__(database, scan_seconds=NO_LIMIT)

    async def scan(self, read: Callable[[Tx], T]) -> T:
        self.counters.scans += 1
        return self._read(read)

    def close(self) -> None:
        if self.inline:
            self.database.discard(self.inline)
        super().close()
