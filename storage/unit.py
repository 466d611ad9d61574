"""A unit of work: what an operation holds while it looks, decides and writes. It never commits; its store does."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any, Protocol, TypeVar

from sqlalchemy.engine import Dialect

from storage.query import Plan, Query, adding_once, by_key, changing, inserting
from storage.rows import Row
from storage.tables.events import EventRow

R = TypeVar("R", bound=Row)
T = TypeVar("T")
Verdict = Callable[[Exception], Exception]
FORGETTABLE = re.compile(r"[!-~]{1,75}")
EVENT = tuple(name for name in EventRow.__names__ if name != "id")  # the database numbers them


class StorageError(Exception):
    """The root of what storage raises.

    StorageError
    ├── Conflict      the world moved between look and write: run the unit again
    ├── Overloaded    too much is waiting: answer 503 with Retry-After
    ├── TooSlow       a read passed its deadline
    └── Unavailable   the database failed; nothing of the unit was kept, or (lost COMMIT) nobody can tell
        └── Held      somebody else kept a row locked for too long
    """


class Conflict(StorageError): ...


class Overloaded(StorageError): ...


class TooSlow(StorageError): ...


class Unavailable(StorageError): ...


class Held(Unavailable): ...


class Cursor(Protocol):
    """The part of a DB-API cursor that sqlite3 and psycopg share."""

    @property
    def connection(self) -> Any: ...
    @property
    def rowcount(self) -> int: ...
    def execute(self, sql: Any, parameters: Any = ..., /) -> object: ...
    def executemany(self, sql: Any, parameters: Any, /) -> object: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...


@dataclass(frozen=True, slots=True)
class Mark:
    """How much had been said and forgotten when a unit began, so that undoing it undoes that too."""

    events: int
    stale: int


class Alone:
    """How a part of a unit that was run alone ended."""

    error: Exception | None = None


def _as_it_is(error: Exception) -> Exception:
    return error


class Tx:
    """Typed access to the rows inside one transaction."""

    def __init__(self, cursor: Cursor, dialect: Dialect, verdict: Verdict = _as_it_is) -> None:
        self.cursor = cursor
        self.dialect = dialect
        self.verdict = verdict
        self.until = inf  # of time.monotonic(): the reads inside end then
        self.events: list[dict[str, object]] = []
        self.stale: list[str] = []
        self.statements = 0

    @property
    def told(self) -> frozenset[str]:
        """Who was told something, as agent ids."""
        return frozenset(str(event["agent_id"]) for event in self.events)

    @property
    def is_sqlite(self) -> bool:
        return self.dialect.name == "sqlite"

    def get(self, kind: type[R], *key: object, lock: bool = False) -> R | None:
        """The row with this primary key. `lock` it when what you decide must still hold when you write."""
        found: R | None = self.one(by_key(kind.__table__, lock), **dict(zip(kind.__key__, key, strict=True)))
        return found

    def one(self, query: Query[T], /, **values: object) -> T | None:
        plan = self._run(query, values)
        found = self.cursor.fetchone()
        return None if found is None else plan.read(found)

    def all(self, query: Query[T], /, **values: object) -> list[T]:
        plan = self._run(query, values)
        rows = self.cursor.fetchall()
        return rows if plan.plain else [plan.read(found) for found in rows]

    def run(self, query: Query[Any], /, **values: object) -> int:
        """Run a statement that answers nothing; the number of rows it touched."""
        self._run(query, values)
        return self.cursor.rowcount

    def add(self, row: R) -> R:
        """Insert a row. A key already taken is a Conflict: the unit runs again and sees why."""
        self._run(inserting(row.__table__, row.__names__), row.__dict__)
        return row

    def append(self, kind: type[Row], **values: object) -> None:
        """Insert a row whose `id` the database numbers."""
        self._run(inserting(kind.__table__, tuple(values)), values)

    def add_once(self, row: Row) -> None:
        """Insert a row whose key names its content: one that is there already is the same one."""
        self._run(adding_once(row.__table__, row.__names__, self.dialect.name), row.__dict__)

    def change(self, row: R, **values: object) -> R:
        """Write these columns if the row is still the version that was read; the row as it now stands."""
        guard = {f"_{name}": row.__dict__[name] for name in (*row.__key__, "version")}
        changed: R | None = self.one(changing(row.__table__, tuple(values)), **values, **guard)
        if changed is None:
            raise Conflict(f"{row.__table__.name} moved on: {guard}")
        return changed

    def say(self, to: str, env: str, kind: str, data: str, at: datetime) -> None:
        """Tell an agent what happened: one event row, numbered when the unit commits."""
        self.events.append({"agent_id": to, "env": env, "kind": kind, "data": data, "created_at": at})

    def forget(self, *names: str) -> None:
        """Name what caches must drop, in every process, once this unit is committed. One word each, of 75 bytes at most."""
        if not all(FORGETTABLE.fullmatch(name) for name in names):
            raise ValueError(f"not one short word: {names}")  # it would spoil the notification, and the batch with it
        self.stale.extend(names)

    @contextmanager
    def alone(self) -> Iterator["Alone"]:
        """Undo what happens inside, and only that, if it raises; the error is kept, not raised.

        What storage raises is raised: it speaks of the whole unit, which may have to run again.
        """
        kept, mark = Alone(), self.mark()
        self.cursor.execute("SAVEPOINT alone")
        try:
            yield kept
        except Exception as error:
            verdict = self.verdict(error)
            if isinstance(verdict, StorageError):
                raise verdict from error
            self.undo(mark)
            self.cursor.execute("ROLLBACK TO alone")
            kept.error = error
        self.cursor.execute("RELEASE alone")

    def mark(self) -> Mark:
        return Mark(len(self.events), len(self.stale))

    def undo(self, mark: Mark) -> None:
        del self.events[mark.events :]
        del self.stale[mark.stale :]

    def begin(self) -> None:
        self.events.clear()
        self.stale.clear()

    def write_events(self) -> None:
        """Insert what was said. Called by the store, last thing before COMMIT."""
        plan = inserting(EventRow.__table__, EVENT).plan(self.dialect)
        self.cursor.executemany(plan.sql, [plan.bind(event) for event in self.events])

    def _run(self, query: Query[Any], values: dict[str, Any]) -> Plan:
        if time.monotonic() > self.until:
            raise TooSlow("many statements passed the deadline of their read")
        plan = query.plan(self.dialect)
        self.statements += 1
        self.cursor.execute(plan.sql, plan.bind(values))
        return plan
