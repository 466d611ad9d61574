"""The store: asynchronous access to units of work, and the threads that run them.

    await store.write(work)   one unit of work; returns when it is durable
    await store.look(read)    a few rows by key; sees every write acknowledged before
    await store.scan(read)    a read that may take long; raises TooSlow past its time limit

`work` and `read` are plain functions of a Tx. They cannot await, so no transaction waits for another system.
A `work` may run again after a Conflict, so it must change nothing but its Tx.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Literal, TypeVar

from sqlalchemy.engine import Dialect, Engine

from storage.transaction import (
    Cursor,
    Overloaded,
    Tx,
    Unavailable,
)
from storage.worker_threads import (
    Answer,
    Asked,
    Reader,
    Writer,
)

T = TypeVar("T")
Probe = Callable[[Literal["before", "after"], Sequence[str]], None]
Listener = Callable[[frozenset[str]], None]  # the agents a commit notified; EVERYBODY if unknown
Dropper = Callable[[Sequence[str]], None]
EVERYBODY = frozenset({"*"})
SCAN_SECONDS = 2.0  # time limit of a scan


class Database(ABC):
    """The interface between a store and SQLite or PostgreSQL.

    Each thread owns one connection, through one cursor.
    """

    begin: str
    writers: int
    readers: int
    batch: int  # maximum units of work in one COMMIT
    patience_seconds = 5.0  # from its request on, a unit of work waits this long for a locked row
    engine: Engine

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.cursors: list[Cursor] = []

    @abstractmethod
    def write_cursor(self) -> Cursor: ...

    @abstractmethod
    def read_cursor(self, seconds: float) -> Cursor:
        """Return a cursor that cannot write, for reads of at most `seconds`."""

    @abstractmethod
    def start_read(self, tx: Tx, seconds: float) -> None:
        """Begin a snapshot for reads of at most `seconds`."""

    @abstractmethod
    def end_read(self, tx: Tx) -> None:
        """End the snapshot."""

    @abstractmethod
    def control(self, tx: Tx, words: str) -> None:
        """Run a transaction command that returns no rows."""

    @abstractmethod
    def finish(self, tx: Tx) -> None:
        """Write the notified events and COMMIT, so that event numbers rise in the order of commits."""

    @abstractmethod
    def verdict(self, error: Exception) -> Exception:
        """Return the storage error that a driver's error means; any other error unchanged."""

    def writing(self) -> Tx:
        return Tx(self._keep(self.write_cursor()), self.dialect, self.verdict)

    def reading(self, seconds: float) -> Tx:
        return Tx(self._keep(self.read_cursor(seconds)), self.dialect, self.verdict)

    def drop(self, tx: Tx) -> None:
        self.cursors.remove(tx.cursor)
        with suppress(Exception):
            tx.cursor.connection.close()

    def close(self) -> None:
        for cursor in self.cursors:
            cursor.connection.close()

    def _keep(self, cursor: Cursor) -> Cursor:
        self.cursors.append(cursor)
        return cursor


class Counters:
    """Counts of what the store did since it was opened, for /health, tests and benchmarks."""

    def __init__(self) -> None:
        self.commits = 0
        self.units = 0
        self.looks = 0
        self.scans = 0
        self.longest_unit_seconds = 0.0
        self.longest_unit = ""

    def unit_took(self, name: str, seconds: float) -> None:
        self.units += 1
        if seconds > self.longest_unit_seconds:
            self.longest_unit_seconds, self.longest_unit = seconds, name


class Store:
    """Access to a database from one event loop."""

    cached_seconds: float | None = None  # lifetime of a cached row; None: until it is dropped

    def __init__(self, database: Database, most_waiting: int = 1024, scan_seconds: float = SCAN_SECONDS) -> None:
        self.database, self.most_waiting, self.scan_seconds = database, most_waiting, scan_seconds
        self.loop = asyncio.get_running_loop()
        self.waiting = 0
        self.closed = False
        self.counters = Counters()
        self.probe: Probe | None = None  # fault injection: called by the writer around its COMMIT
        self.listeners: list[Listener] = []  # called after a commit that notified agents; only a hint, the rows decide
        self.droppers: list[Dropper] = []  # caches: called with the stale names before answers go out
        self.writes: SimpleQueue[Asked | None] = SimpleQueue()
        self.reads: SimpleQueue[Asked | None] = SimpleQueue()
        self.writers = [Writer(self, self.writes, f"writer-{n}") for n in range(database.writers)]
        self.readers = [Reader(self, self.reads, f"reader-{n}") for n in range(database.readers)]

    @property
    def alive(self) -> bool:
        """True if every thread that serves the database is alive."""
        return all(worker.is_alive() for worker in (*self.writers, *self.readers))

    async def write(self, work: Callable[[Tx], T], name: str = "unit") -> T:
        return await self._ask(self.writes, work, name)

    async def scan(self, read: Callable[[Tx], T]) -> T:
        self.counters.scans += 1
        return await self._ask(self.reads, read, "scan")

    async def look(self, read: Callable[[Tx], T]) -> T:
        self.counters.looks += 1
        return await self._ask(self.reads, read, "look")

    def wake(self, told: frozenset[str] = EVERYBODY) -> None:
        for listener in self.listeners:
            listener(told)

    def drop(self, stale: Sequence[str]) -> None:
        for dropper in self.droppers:
            dropper(stale)

    def close(self) -> None:
        """Finish what is queued, then stop. Later requests are refused."""
        self.closed = True
        for queue in (self.writes, self.reads):
            queue.put(None)
        for worker in (*self.writers, *self.readers):
            worker.join()
        self.database.close()

    def release(self, answers: list[Answer], told: frozenset[str] = frozenset(), stale: tuple[str, ...] = ()) -> None:
        """Pass answers from a worker's thread to the event loop."""
        with suppress(RuntimeError):  # the loop is closed: no caller waits any more
            self.loop.call_soon_threadsafe(self._resolve, answers, told, stale)

    def _ask(self, queue: "SimpleQueue[Asked | None]", work: Callable[[Tx], T], name: str) -> "asyncio.Future[T]":
        self._refuse_if_closed()
        if self.waiting >= self.most_waiting:
            raise Overloaded(f"{self.waiting} units are waiting")
        self.waiting += 1
        future: asyncio.Future[T] = self.loop.create_future()
        queue.put(Asked(future, work, name, time.perf_counter()))
        return future

    def _resolve(self, answers: list[Answer], told: frozenset[str], stale: tuple[str, ...]) -> None:
        self.waiting -= len(answers)
        if stale:
            self.drop(stale)
        for future, value, error in answers:
            if future.cancelled():
                continue
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(_raisable(error))
        if told:
            self.wake(told)

    def _refuse_if_closed(self) -> None:
        if self.closed:
            raise Unavailable("the store is closed")


def _raisable(error: Exception) -> Exception:
    """Replace a StopIteration, which a future cannot hold.

    Otherwise an unguarded next() in one unit of work would leave its whole batch unanswered.
    """
    if not isinstance(error, StopIteration):
        return error
    failure = RuntimeError("a unit raised StopIteration")
    failure.__cause__ = error
    return failure
