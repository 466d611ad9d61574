"""The store: asynchronous access to units of work, and the threads that run them.

    await store.write(work)   one unit of work; returns when it is durable
    await store.read(read)    a few rows by key; sees every write acknowledged before
    await store.scan(read)    a read that may take long; raises TooSlow past its time limit

`work` and `read` are plain functions of a Tx. They cannot await, so no transaction waits for another system.
A `work` may run again after a Conflict, so it must change nothing but its Tx.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from storage.database import Database
from storage.transaction import Conflict, LockTimeout, Overloaded, TooSlow, Tx, Unavailable

T = TypeVar("T")
Probe = Callable[[Literal["before", "after"], Sequence[str]], None]
Listener = Callable[[frozenset[str]], None]  # the agents a commit notified; EVERYBODY if unknown
Dropper = Callable[[Sequence[str]], None]
EVERYBODY = frozenset({"*"})
SCAN_SECONDS = 2.0  # time limit of a scan
TRIES = 5
WAITED = (LockTimeout, TooSlow)  # a lock's short timeout may also arrive as a cancelled statement


@dataclass(slots=True)
class Counters:
    """Counts of what the store did since it was opened, for /health, tests and benchmarks."""

    commits: int = 0
    units: int = 0
    looks: int = 0
    scans: int = 0
    replica_reads: int = 0  # answered by the replica; not in looks or scans
    replica_misses: int = 0  # reads that the replica might have answered, but the primary did
    longest_unit_seconds: float = 0.0
    longest_unit: str = ""

    def unit_took(self, name: str, seconds: float) -> None:
        self.units += 1
        if seconds > self.longest_unit_seconds:
            self.longest_unit_seconds, self.longest_unit = seconds, name


class WorkItem(NamedTuple):
    future: "asyncio.Future[Any]"
    work: Callable[[Tx], Any]
    name: str
    at: float  # of time.perf_counter()


class WorkResult(NamedTuple):
    future: "asyncio.Future[Any]"
    value: Any = None
    error: Exception | None = None


class Reads(Protocol):
    """The two kinds of reads of a store."""

    async def read(self, read: Callable[[Tx], T]) -> T: ...
    async def scan(self, read: Callable[[Tx], T]) -> T: ...


class Store:
    """Access to a database from one event loop."""

    has_replica = False

    def __init__(self, database: Database, most_waiting: int = 1024, scan_seconds: float = SCAN_SECONDS) -> None:
        self.database, self.most_waiting, self.scan_seconds = database, most_waiting, scan_seconds
        self.loop = asyncio.get_running_loop()
        self.now_seconds: Callable[[], float] = time.monotonic
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
        self.start_workers()

    def start_workers(self) -> None:
        for worker in (*self.writers, *self.readers):
            worker.start()

    @property
    def alive(self) -> bool:
        """True if every thread that serves the database is alive."""
        return all(worker.is_alive() for worker in (*self.writers, *self.readers))

    def believes(self, read_at: float) -> bool:
        """Tell if a cached row is current, except for changes of the last second by other processes.

        `read_at` is the second of `now_seconds` at which its read began.
        """
        return True

    async def write(self, work: Callable[[Tx], T], name: str = "unit") -> T:
        with self.around_write(name) if self.around_write else nullcontext():
            return await self._ask(self.writes, work, name)

    async def scan(self, read: Callable[[Tx], T]) -> T:
        self.counters.scans += 1
        return await self._ask(self.reads, read, "scan")

    async def read(self, read: Callable[[Tx], T]) -> T:
        self.counters.looks += 1
        return await self._ask(self.reads, read, "look")

    def lagging(self, agent: str | None) -> Reads:
        """Return reads that may show an older state of the database.

        They show what this agent wrote and what it was notified of. Without a replica they show the newest state.
        """
        return self

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


class Worker(threading.Thread):
    """A thread with its own connection.

    A None in its queue tells it to stop; it passes the None on to the next thread.
    """

    def __init__(
        self, store: Store, queue: "SimpleQueue[WorkItem | None]", name: str, database: Database | None = None
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.store, self.database, self.queue = store, database or store.database, queue
        self.tx: Tx | None = None

    def discard(self) -> None:
        """Close the connection, if there is one; the next request opens another."""
        tx, self.tx = self.tx, None
        if tx:
            self.database.discard(tx)


class Reader(Worker):
    """Runs one read at a time."""

    def run(self) -> None:
        while asked := self.queue.get():
            self.serve(asked)
        self.queue.put(None)

    def serve(self, asked: WorkItem) -> None:
        """Run a read and send its answer."""
        self.store.deliver_results([self.answer(asked)])
        self.end()  # after the answer was sent, so that no caller waits for it

    def end(self) -> None:
        """End the snapshot of the last read."""
        try:
            if self.tx:
                self.database.end_read(self.tx)
        except Exception:  # noqa: BLE001 - the connection is lost
            self.discard()

    def answer(self, asked: WorkItem) -> WorkResult:
        """Run one read; retry it on a new connection if the connection was lost since the last read."""
        used = self.tx is not None
        while True:
            try:
                self.tx = self.tx or self.database.reading(self.store.scan_seconds)
                self.database.start_read(self.tx, self.store.scan_seconds)
                return WorkResult(asked.future, asked.work(self.tx))
            except Exception as error:  # noqa: BLE001 - every failure is somebody's answer
                verdict = self.database.classify_error(error)
            lost = isinstance(verdict, Unavailable)
            if lost:
                self.discard()
            if not (used and lost):
                return WorkResult(asked.future, error=verdict)
            used = False


class Writer(Worker):
    """Runs each waiting unit of work in a savepoint, commits once, then sends the answers.

    A transaction that holds one unit's rows never waits for a row that another transaction has locked, because they
    could wait for each other. It commits, and the unit that met the locked row comes first in the next transaction,
    which holds no locks yet.
    """

    def run(self) -> None:
        rest: list[WorkItem] = []
        while batch := rest or self._take():
            rest = self.serve(batch)

    def serve(self, batch: list[WorkItem]) -> list[WorkItem]:
        """Run, commit and answer units of work; return those that wait for a locked row."""
        try:
            tx = self._begin()
            answers = self._commit(tx, batch)
            self.store.deliver_results(answers, notified=tx.notified, invalidated=tuple(tx.invalidated))
        except Exception as error:  # noqa: BLE001 - BEGIN, COMMIT or the connection failed: nothing is acknowledged
            self._refuse(batch, error)
            return []
        return batch[len(answers) :]

    def _take(self) -> list[WorkItem]:
        batch: list[WorkItem] = []
        asked = self.queue.get()
        with suppress(Empty):
            while asked:
                batch.append(asked)
                if len(batch) == self.database.batch:
                    return batch
                asked = self.queue.get_nowait()
            self.queue.put(None)
        return batch

    def _begin(self) -> Tx:
        """Begin a transaction, on another connection if this one was lost while it was idle."""
        used = self.tx is not None
        while True:
            tx = self.tx = self.tx or self.database.writing()
            try:
                self.database.control(tx, self.database.begin)
            except Exception:
                self.discard()
                if not used:
                    raise
                used = False
            else:
                tx.begin()
                return tx

    def _refuse(self, batch: list[WorkItem], error: Exception) -> None:
        """Refuse a batch; drop what it would have changed from caches, and tell of its events.

        After a failed COMMIT it is unknown whether it took effect.
        """
        failure = Unavailable(str(error))
        failure.__cause__ = error
        self.store.deliver_results(
            [WorkResult(asked.future, error=failure) for asked in batch],
            notified=self.tx.notified if self.tx else frozenset(),
            invalidated=tuple(self.tx.invalidated) if self.tx else (),
        )
        self.discard()

    def _commit(self, tx: Tx, batch: list[WorkItem]) -> list[WorkResult]:
        """Run and commit the units from the start of the batch; return their answers.

        It stops before a unit that has to wait for a locked row.
        """
        answers: list[WorkResult] = []
        for asked in batch:
            answer = self._answer(tx, asked, first=not answers)
            if answer is None:
                break
            answers.append(answer)
        names = [asked.name for asked in batch[: len(answers)]]
        if self.store.fault_hook:
            self.store.fault_hook("before", names)
        self.database.finish(tx)
        self.store.counters.commits += 1
        if self.store.fault_hook:
            self.store.fault_hook("after", names)
        return answers

    def _answer(self, tx: Tx, asked: WorkItem, first: bool) -> WorkResult | None:
        """Run one unit of work in a savepoint; an error rolls back this unit alone.

        On a Conflict it runs again, because what it read has changed. Returns None if it met a locked row and
        is not the first unit of its transaction.
        """
        began, tries, mark = time.perf_counter(), TRIES, tx.mark()
        self.database.control(tx, *(() if first else ("RELEASE unit",)), "SAVEPOINT unit")
        while True:
            try:
                value = asked.work(tx)
                tx.write_room()
                self.store.counters.unit_took(asked.name, time.perf_counter() - began)
                return WorkResult(asked.future, value)
            except Exception as error:  # noqa: BLE001 - an operation's refusal is its answer
                tx.undo(mark)
                self.database.control(tx, "ROLLBACK TO unit")  # fails, like the whole batch, if the database undid all
                verdict = self.database.classify_error(error)
            if isinstance(verdict, Conflict):
                tries -= 1
            waits = isinstance(verdict, WAITED) and time.perf_counter() - asked.at < self.database.patience_seconds
            if waits and not first:
                return None
            if not waits and (not isinstance(verdict, Conflict) or not tries):
                return WorkResult(asked.future, error=verdict)


def _raisable(error: Exception) -> Exception:
    """Replace a StopIteration, which a future cannot hold.

    Otherwise an unguarded next() in one unit of work would leave its whole batch unanswered.
    """
    if not isinstance(error, StopIteration):
        return error
    failure = RuntimeError("a unit raised StopIteration")
    failure.__cause__ = error
    return failure
