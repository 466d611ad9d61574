"""The real stores, whose workers run as callbacks of the simulated loop instead of threads."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import psycopg

from storage.open import SQLITE
from storage.postgres import LAST_STALE, PING_SECONDS, PROOF_SECONDS, PostgresStore
from storage.sqlite import SQLiteStore
from storage.store import EVERYBODY, Store, WorkItem
from storage.transaction import Tx
from tests.simulation.faults import CrashNow, Faulty, FaultyPostgres, FaultySQLite
from tests.simulation.loop import SimulatedLoop
from tests.simulation.messages import NOTIFICATION, WAKE_UP, Messages

T = TypeVar("T")
NO_LIMIT = 1e6  # seconds of real time, which must not decide anything
LATENCY = 500.0  # batches in a second, on average


class SimulatedStore(Store):
    """A store whose seeded turns decide which units are in a batch and when it commits.

    A read is done at once.
    """

    random: Random
    loop: SimulatedLoop
    database: Faulty
    messages: Messages
    on_crash: Callable[[str], None]  # called if a COMMIT is the last thing that the process does
    on_purchase: Callable[[], None]  # called after a COMMIT that may have changed a purchase

    def start_workers(self) -> None:
        self.random = self.loop.random

    @property
    def alive(self) -> bool:
        return True

    async def read(self, read: Callable[[Tx], T]) -> T:
        self.counters.looks += 1
        return self._read_now(read)

    async def scan(self, read: Callable[[Tx], T]) -> T:
        self.counters.scans += 1
        return self._read_now(read)

    def _read_now(self, read: Callable[[Tx], T]) -> T:
        self._refuse_if_closed()
        future: asyncio.Future[T] = self.loop.create_future()
        found = self.readers[0].answer(WorkItem(future, read, "read", 0.0))
        self.readers[0].end()
        if found.error is not None:
            raise found.error
        value: T = found.value
        return value

    def _ask(self, queue: Any, work: Callable[[Tx], T], name: str) -> Any:
        future = super()._ask(queue, work, name)
        self.loop.call_later(self.random.expovariate(LATENCY), self._turn)
        return future

    def notify(self, notified: frozenset[str] = EVERYBODY) -> None:
        self.messages.deliver(WAKE_UP, partial(super().notify, notified))

    def _turn(self) -> None:
        """Let a writer serve some of the units that wait."""
        batch = [] if self.closed else [self.writes.get_nowait() for _ in range(self.writes.qsize())]
        if not batch:
            return
        size = self.random.randint(1, len(batch))
        try:
            rest = [*self.writers[0].serve([one for one in batch[:size] if one]), *batch[size:]]
        except CrashNow as crash:
            self.on_crash(f"crash_{crash}_commit")
            return
        if self.database.purchases_changed:
            self.database.purchases_changed = False
            self.on_purchase()
        for asked in rest:
            self.writes.put(asked)
        if rest:
            self.loop.call_later(self.random.expovariate(LATENCY), self._turn)

    def close(self) -> None:
        """Drop everything that is not committed, as the end of a process does."""
        self.closed = True
        for worker in (*self.writers, *self.readers):
            worker.discard()
        self.database.close()


class SimulatedSQLite(SimulatedStore, SQLiteStore):
    pass


class SimulatedPostgres(SimulatedStore, PostgresStore):
    """A store that polls its notifications, so that they are late."""

    def close(self) -> None:
        self.hearing.cancel()
        super().close()

    async def _hear(self, address: str) -> None:
        while True:
            with closing(psycopg.connect(address, autocommit=True)) as connection:
                connection.execute("LISTEN market")
                self.heard_up_to, self.heard_beyond = _last_stale(connection), set()
                self.listening_since = self.proven_at = self.now_seconds()
                self.notify()
                while self.now_seconds() - self.proven_at < PROOF_SECONDS:
                    await asyncio.sleep(self.loop.beside.uniform(0, 2 * PING_SECONDS))
                    self._poll(connection)

    def _poll(self, connection: psycopg.Connection) -> None:
        sent_at, last = self.now_seconds(), _last_stale(connection)
        for heard in connection.notifies(timeout=0):
            self.messages.deliver(NOTIFICATION, partial(self._heard, heard.payload))
        if self.heard_up_to >= last:
            self.proven_at = sent_at


def _last_stale(connection: psycopg.Connection) -> int:
    found = connection.execute(LAST_STALE).fetchone()
    assert found is not None
    return int(found[0])


def open_simulated(url: str, note: Callable[[str], None]) -> SimulatedStore:
    """Open the store of a migrated database; `note` is called for each effect of a fault."""
    database: Faulty
    if url.startswith(SQLITE):
        database = FaultySQLite(Path(url.removeprefix(SQLITE)))
        database.note = note
        return SimulatedSQLite(database, scan_seconds=NO_LIMIT)
    database = FaultyPostgres(url)
    database.note = note
    return SimulatedPostgres(database, scan_seconds=NO_LIMIT)
