"""The threads behind the store: readers run one read at a time, writers commit many units of work at once."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol

from storage.database import Counters, Database, Probe
from storage.transaction import Conflict, LockTimeout, TooSlow, Tx, Unavailable

TRIES = 5
WAITED = (LockTimeout, TooSlow)  # a lock's short timeout may also arrive as a cancelled statement


class WorkItem(NamedTuple):
    future: "asyncio.Future[Any]"
    work: Callable[[Tx], Any]
    name: str
    at: float  # of time.perf_counter()


class WorkResult(NamedTuple):
    future: "asyncio.Future[Any]"
    value: Any = None
    error: Exception | None = None


class Owner(Protocol):
    """The parts of the store that its threads use."""

    @property
    def database(self) -> Database: ...
    @property
    def counters(self) -> Counters: ...
    @property
    def fault_hook(self) -> Probe | None: ...
    @property
    def scan_seconds(self) -> float: ...

    def deliver_results(
        self, answers: list[WorkResult], notified: frozenset[str] = ..., invalidated: tuple[str, ...] = ...
    ) -> None:
        """Deliver results, notified agents and changed cache entries to the event loop."""


class Worker(threading.Thread):
    """A thread with its own connection.

    A None in its queue tells it to stop; it passes the None on to the next thread.
    """

    def __init__(self, store: "Owner", queue: "SimpleQueue[WorkItem | None]", name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.store, self.database, self.queue = store, store.database, queue
        self.start()


class Reader(Worker):
    """Runs one read at a time."""

    def run(self) -> None:
        tx: Tx | None = None
        while asked := self.queue.get():
            tx, answer = self._answer(tx, asked)
            self.store.deliver_results([answer])
            tx = self._rest(tx)
        self.queue.put(None)

    def _answer(self, tx: Tx | None, asked: WorkItem) -> tuple[Tx | None, WorkResult]:
        """Run one read; retry it on a new connection if the connection was lost since the last read."""
        used = tx is not None
        while True:
            try:
                tx = tx or self.database.reading(self.store.scan_seconds)
                self.database.start_read(tx, self.store.scan_seconds)
                return tx, WorkResult(asked.future, asked.work(tx))
            except Exception as error:  # noqa: BLE001 - every failure is somebody's answer
                verdict = self.database.classify_error(error)
            lost = isinstance(verdict, Unavailable)
            if tx and lost:
                self.database.discard(tx)
                tx = None
            if not (used and lost):
                return tx, WorkResult(asked.future, error=verdict)
            used = False

    def _rest(self, tx: Tx | None) -> Tx | None:
        """End the read after its answer was sent, so that no caller waits for it."""
        if tx is None:
            return None
        try:
            self.database.end_read(tx)
        except Exception:  # noqa: BLE001 - the connection is lost: the next read opens another
            self.database.discard(tx)
            return None
        return tx


class Writer(Worker):
    """Runs each waiting unit of work in a savepoint, commits once, then sends the answers.

    A transaction that holds one unit's rows never waits for a row that another transaction has locked, because they
    could wait for each other. It commits, and the unit that met the locked row comes first in the next transaction,
    which holds no locks yet.
    """

    def run(self) -> None:
        tx: Tx | None = None
        rest: list[WorkItem] = []
        while batch := rest or self._take():
            try:
                last, tx = tx, None
                tx = self._begin(last)
                answers = self._commit(tx, batch)
                rest = batch[len(answers) :]
                self.store.deliver_results(answers, notified=tx.notified, invalidated=tuple(tx.invalidated))
            except Exception as error:  # noqa: BLE001 - BEGIN, COMMIT or the connection failed: nothing is acknowledged
                rest = []
                self._refuse(batch, error, tx)
                tx = None

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

    def _begin(self, tx: Tx | None) -> Tx:
        """Begin a transaction, on another connection if this one was lost while it was idle."""
        used = tx is not None
        while True:
            tx = tx or self.database.writing()
            try:
                self.database.control(tx, self.database.begin)
            except Exception:
                self.database.discard(tx)
                tx = None
                if not used:
                    raise
                used = False
            else:
                tx.begin()
                return tx

    def _refuse(self, batch: list[WorkItem], error: Exception, tx: Tx | None) -> None:
        """Refuse a batch, and drop what it would have changed from the caches.

        After a failed COMMIT it is unknown whether it took effect.
        """
        failure = Unavailable(str(error))
        failure.__cause__ = error
        self.store.deliver_results(
            [WorkResult(asked.future, error=failure) for asked in batch],
            invalidated=tuple(tx.invalidated) if tx else (),
        )
        if tx:
            self.database.discard(tx)

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
        began, tries = time.perf_counter(), TRIES
        while True:
            mark = tx.mark()
            self.database.control(tx, "SAVEPOINT unit")
            try:
                value = asked.work(tx)
                tx.write_room()
                self.database.control(tx, "RELEASE unit")
                self.store.counters.unit_took(asked.name, time.perf_counter() - began)
                return WorkResult(asked.future, value)
            except Exception as error:  # noqa: BLE001 - an operation's refusal is its answer
                tx.undo(mark)
                self.database.control(tx, "ROLLBACK TO unit")  # fails, like the whole batch, if the database undid all
                self.database.control(tx, "RELEASE unit")
                verdict = self.database.classify_error(error)
            if isinstance(verdict, Conflict):
                tries -= 1
            waits = isinstance(verdict, WAITED) and time.perf_counter() - asked.at < self.database.patience_seconds
            if waits and not first:
                return None
            if not waits and (not isinstance(verdict, Conflict) or not tries):
                return WorkResult(asked.future, error=verdict)
