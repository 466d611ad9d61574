"""The store: asynchronous access to units of work, and the threads that run them.

    await store.write(work)   one unit of work; returns when it is durable
    await store.read(read)    a few rows by key; sees every write acknowledged before
    await store.scan(read)    a read that may take long; raises TooSlow past its time limit

`work` and `read` are plain functions of a Tx. They cannot await, so no transaction waits for another system.
A `work` may run again after a Conflict, so it must change nothing but its Tx.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from queue import SimpleQueue
from typing import TypeVar

from storage.database import Counters, Database, Probe
from storage.transaction import Overloaded, Tx, Unavailable
from storage.worker_threads import Reader, WorkItem, WorkResult, Writer

T = TypeVar("T")
Listener = Callable[[frozenset[str]], None]  # the agents a commit notified; EVERYBODY if unknown
Dropper = Callable[[Sequence[str]], None]
EVERYBODY = frozenset({"*"})
SCAN_SECONDS = 2.0  # time limit of a scan


class Store:
    """Access to a database from one event loop."""

    cached_seconds: float | None = None  # lifetime of a cached row; None: until it is dropped

    def __init__(self, database: Database, most_waiting: int = 1024, scan_seconds: float = SCAN_SECONDS) -> None:
        self.database, self.most_waiting, self.scan_seconds = database, most_waiting, scan_seconds
        self.loop = asyncio.get_running_loop()
        self.waiting = 0
        self.closed = False
        self.counters = Counters()
        self.fault_hook: Probe | None = None  # fault injection: called by the writer around its COMMIT
        self.around_write: Callable[[str], AbstractContextManager[object]] | None = None  # traces: around each unit
        self.listeners: list[Listener] = []  # called after a commit that notified agents; only a hint, the rows decide
        self.droppers: list[Dropper] = []  # caches: called with the stale names before answers go out
        self.writes: SimpleQueue[WorkItem | None] = SimpleQueue()
        self.reads: SimpleQueue[WorkItem | None] = SimpleQueue()
        self.writers = [Writer(self, self.writes, f"writer-{n}") for n in range(database.writers)]
        self.readers = [Reader(self, self.reads, f"reader-{n}") for n in range(database.readers)]

    @property
    def alive(self) -> bool:
        """True if every thread that serves the database is alive."""
        return all(worker.is_alive() for worker in (*self.writers, *self.readers))

    async def write(self, work: Callable[[Tx], T], name: str = "unit") -> T:
        if self.around_write is None:
            return await self._ask(self.writes, work, name)
        with self.around_write(name):
            return await self._ask(self.writes, work, name)

    async def scan(self, read: Callable[[Tx], T]) -> T:
        self.counters.scans += 1
        return await self._ask(self.reads, read, "scan")

    async def read(self, read: Callable[[Tx], T]) -> T:
        self.counters.looks += 1
        return await self._ask(self.reads, read, "look")

    def notify(self, notified: frozenset[str] = EVERYBODY) -> None:
        for listener in self.listeners:
            listener(notified)

    def invalidate(self, invalidated: Sequence[str]) -> None:
        for dropper in self.droppers:
            dropper(invalidated)

    def close(self) -> None:
        """Finish what is queued, then stop. Later requests are refused."""
        self.closed = True
        for queue in (self.writes, self.reads):
            queue.put(None)
        for worker in (*self.writers, *self.readers):
            worker.join()
        self.database.close()

    def deliver_results(
        self, answers: list[WorkResult], notified: frozenset[str] = frozenset(), invalidated: tuple[str, ...] = ()
    ) -> None:
        """Pass answers from a worker's thread to the event loop."""
        with suppress(RuntimeError):  # the loop is closed: no caller waits any more
            self.loop.call_soon_threadsafe(self._resolve, answers, notified, invalidated)

    def _ask(self, queue: "SimpleQueue[WorkItem | None]", work: Callable[[Tx], T], name: str) -> "asyncio.Future[T]":
        self._refuse_if_closed()
        if self.waiting >= self.most_waiting:
            raise Overloaded(f"{self.waiting} units are waiting")
        self.waiting += 1
        future: asyncio.Future[T] = self.loop.create_future()
        queue.put(WorkItem(future, work, name, time.perf_counter()))
        return future

    def _resolve(self, answers: list[WorkResult], notified: frozenset[str], invalidated: tuple[str, ...]) -> None:
        self.waiting -= len(answers)
        if invalidated:
            self.invalidate(invalidated)
        for future, value, error in answers:
            if future.cancelled():
                continue
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(_raisable(error))
        if notified:
            self.notify(notified)

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
