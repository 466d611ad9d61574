"""The store: the asyncio door to the units of work, and the threads that run them.

    await store.write(work)   one unit of work; the answer comes when it is durable
    await store.look(read)    a few rows by key; sees every write acknowledged before
    await store.scan(read)    what may take long; TooSlow past its seconds

`work` and `read` are plain functions of a Tx. They cannot await, so nothing is ever held across the outside world.
A `work` may run again after a Conflict: it touches nothing but its Tx.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Literal, TypeVar

from sqlalchemy.engine import Dialect, Engine

from storage.threads import Answer, Asked, Reader, Writer
from storage.unit import Cursor, Overloaded, Tx, Unavailable

T = TypeVar("T")
Probe = Callable[[Literal["before", "after"], Sequence[str]], None]
Listener = Callable[[frozenset[str]], None]  # whom a commit told something; EVERYBODY where that is not known
Dropper = Callable[[Sequence[str]], None]
EVERYBODY = frozenset({"*"})
SCAN_SECONDS = 2.0  # what a scan may take that somebody waits for


class Database(ABC):
    """What a store needs to know of SQLite or PostgreSQL. Each thread owns one connection, through one cursor."""

    begin: str
    writers: int
    readers: int
    batch: int  # most units in one COMMIT
    patience_seconds = 5.0  # since it was asked for, a unit waits so long for a row that others hold
    engine: Engine

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.cursors: list[Cursor] = []

    @abstractmethod
    def write_cursor(self) -> Cursor: ...

    @abstractmethod
    def read_cursor(self, seconds: float) -> Cursor:
        """A cursor that cannot write, for reads of at most `seconds`."""

    @abstractmethod
    def start_read(self, tx: Tx, seconds: float) -> None:
        """From now on, for at most `seconds`, all that is read is read as of one moment."""

    @abstractmethod
    def end_read(self, tx: Tx) -> None:
        """Let go of that moment."""

    @abstractmethod
    def control(self, tx: Tx, words: str) -> None:
        """Run what steers a transaction and answers nothing."""

    @abstractmethod
    def finish(self, tx: Tx) -> None:
        """Write what was said and COMMIT, so that event numbers rise in the order of commits."""

    @abstractmethod
    def verdict(self, error: Exception) -> Exception:
        """The storage error that a driver's error means; any other error as it is."""

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
    """What the store did since it was opened: for /health, for tests and for the bench."""

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
    """A database as one event loop sees it."""

    cached_seconds: float | None = None  # how long a cached row may be believed unasked; None: until it is dropped

    def __init__(self, database: Database, most_waiting: int = 1024, scan_seconds: float = SCAN_SECONDS) -> None:
        self.database, self.most_waiting, self.scan_seconds = database, most_waiting, scan_seconds
        self.loop = asyncio.get_running_loop()
        self.waiting = 0
        self.closed = False
        self.counters = Counters()
        self.probe: Probe | None = None  # fault points: called by the writer around its COMMIT
        self.listeners: list[
            Listener
        ] = []  # called after a commit that told somebody something; a hint, the rows are the truth
        self.droppers: list[Dropper] = []  # caches: told what is stale before answers go out
        self.writes: SimpleQueue[Asked | None] = SimpleQueue()
        self.reads: SimpleQueue[Asked | None] = SimpleQueue()
        self.writers = [Writer(self, self.writes, f"writer-{n}") for n in range(database.writers)]
        self.readers = [Reader(self, self.reads, f"reader-{n}") for n in range(database.readers)]

    @property
    def alive(self) -> bool:
        """Whether every thread that serves the database lives."""
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
        """Finish what is queued, then stop; what is asked from now on is refused."""
        self.closed = True
        for queue in (self.writes, self.reads):
            queue.put(None)
        for worker in (*self.writers, *self.readers):
            worker.join()
        self.database.close()

    def release(self, answers: list[Answer], told: frozenset[str] = frozenset(), stale: tuple[str, ...] = ()) -> None:
        """Hand answers from a worker's thread to the event loop."""
        with suppress(RuntimeError):  # the loop is gone: nobody is left to answer
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
    """A future cannot hold a StopIteration: an unguarded next() in one unit would leave its whole batch unanswered."""
    if not isinstance(error, StopIteration):
        return error
    failure = RuntimeError("a unit raised StopIteration")
    failure.__cause__ = error
    return failure
