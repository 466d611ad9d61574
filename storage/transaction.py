"""A unit of work: what an operation reads and writes in one transaction. It never commits; its store does."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any, NamedTuple, Protocol, TypeVar

from sqlalchemy.engine import Dialect

from storage.query import Plan, Query, adding_once, adding_to, by_key, changing, inserting, inserting_values
from storage.rows import Row
from storage.tables.daily import DailyCountRow
from storage.tables.events import EventRow
from storage.tables.quotas import RoomRow

R = TypeVar("R", bound=Row)
T = TypeVar("T")
Verdict = Callable[[Exception], Exception]
Holder = tuple[str, str]  # an agent and an environment
DailyKey = tuple[str, str, int, int]  # the key of a DailyCountRow
ROWS_AT_ONCE = 1_000  # in memory, of `each`
FORGETTABLE = re.compile(r"[!-~]{1,75}")
WROTE = "wrote:"
EVENT = tuple(name for name in EventRow.__names__ if name != "id")  # the database numbers them


class StorageError(Exception):
    """The base class of storage errors.

    StorageError
    ├── Conflict      a row changed between read and write: run the unit of work again
    ├── Overloaded    too many units of work are waiting: answer 503 with Retry-After
    ├── TooSlow       a read passed its deadline
    └── Unavailable   the database failed; nothing was written, or (lost COMMIT) that is unknown
        ├── Held             another transaction locked a row for too long
        └── ServedElsewhere  another process serves the SQLite file
    """


class Conflict(StorageError): ...


class Overloaded(StorageError): ...


class TooSlow(StorageError): ...


class Unavailable(StorageError): ...


class ServedElsewhere(Unavailable): ...


class LockTimeout(Unavailable): ...


class MissingRow(Exception):
    """A row that another row refers to does not exist."""


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
class SavepointMark:
    """A savepoint's state of events, stale names and counters, so that `undo` can return to it."""

    events: int
    invalidated: int
    room: dict[Holder, int]
    asking: dict[Holder, int]
    daily: dict[DailyKey, int]


class Taken(NamedTuple):
    """The bytes an agent uses after a unit of work that asked for more."""

    used: int
    by: int  # bytes more than before
    leaving: int  # bytes that must be left beside them


class SavepointResult:
    """The outcome of a part of a unit that ran in its own savepoint."""

    error: Exception | None = None


class Tx:
    """Typed access to the rows inside one transaction."""

    def __init__(self, cursor: Cursor, dialect: Dialect, verdict: Verdict) -> None:
        self.cursor = cursor
        self.dialect = dialect
        self.verdict = verdict
        self.deadline = inf  # deadline of reads, in time.monotonic()
        self.events: list[dict[str, object]] = []
        self.invalidated: list[str] = []
        self.room: dict[Holder, int] = {}
        self.asking: dict[Holder, int] = {}
        self.daily: dict[DailyKey, int] = {}
        self.statements = 0

    @property
    def notified(self) -> frozenset[str]:
        """The ids of the agents that are notified."""
        return frozenset(str(event["agent_id"]) for event in self.events)

    @property
    def is_sqlite(self) -> bool:
        return self.dialect.name == "sqlite"

    def get(self, kind: type[R], *key: object, lock: bool = False) -> R | None:
        """Return the row with this primary key.

        `lock` it if your decision must still be true when you write.
        """
        found: R | None = self.one(by_key(kind.__table__, lock), **dict(zip(kind.__key__, key, strict=True)))
        return found

    def need(self, kind: type[R], *key: object, lock: bool = False) -> R:
        """Return the row with this primary key, which another row refers to.

        Raises MissingRow if it does not exist, because the data then contradicts itself.
        """
        found = self.get(kind, *key, lock=lock)
        if found is None:
            raise MissingRow(f"{kind.__table__.name} has no row {key}")
        return found

    def one(self, query: Query[T], /, **values: object) -> T | None:
        plan = self._run(query, values)
        found = self.cursor.fetchone()
        return None if found is None else plan.read(found)

    def all(self, query: Query[T], /, **values: object) -> list[T]:
        plan = self._run(query, values)
        rows = self.cursor.fetchall()
        return rows if plan.plain else [plan.read(found) for found in rows]

    def all_within(self, query: Query[Any], most: int, /, **values: object) -> tuple[list[Any], bool]:
        """Return rows whose last column is text, and whether they are all rows.

        On SQLite the rows end with the one that brings the texts to `most` characters; the others are never read.
        PostgreSQL has sent all rows by then, so `unless_large` must bound their texts.
        """
        self._run(query, values)
        if not self.is_sqlite:
            return self.cursor.fetchall(), True
        rows, size = list[Any](), 0
        while (found := self.cursor.fetchone()) is not None:
            rows.append(found)
            size += len(found[-1])
            if size >= most:
                return rows, False
        return rows, True

    def each(self, query: Query[T], /, **values: object) -> Iterator[T]:
        """Yield any number of rows, of which only some are in memory at once.

        Other statements may run meanwhile. On PostgreSQL they may not be another `each`.
        """
        plan = query.plan(self.dialect)
        self.statements += 1
        connection = self.cursor.connection
        rows = connection.cursor() if self.is_sqlite else connection.cursor(name="each")
        with closing(rows):
            rows.execute(plan.sql, plan.bind(values))
            while some := rows.fetchmany(ROWS_AT_ONCE):
                self._check_deadline()
                yield from map(plan.read, some)

    def run(self, query: Query[Any], /, **values: object) -> int:
        """Run a statement that returns no rows; return the number of rows it affected."""
        self._run(query, values)
        return self.cursor.rowcount

    def run_each(self, query: Query[Any], rows: Iterable[Mapping[str, object]]) -> None:
        """Run a statement once with the values of each row, in few round trips to the database."""
        plan = query.plan(self.dialect)
        if bound := [plan.bind(row) for row in rows]:
            self.statements += 1
            self.cursor.executemany(plan.sql, bound)

    def add(self, row: R) -> R:
        """Insert a row.

        Raises Conflict if the key exists: the unit runs again and sees why.
        """
        self._run(inserting_values(row), row.__dict__)
        return row

    def add_or_change(self, kind: type[R], known: R | None, key: Mapping[str, object], /, **values: object) -> R:
        """Write these values to the known row; insert a row with this key if there is none."""
        return self.add(kind(**key, **values)) if known is None else self.change(known, **values)

    def append(self, kind: type[Row], **values: object) -> None:
        """Insert a row whose `id` the database assigns."""
        self._run(inserting(kind.__table__, tuple(values)), values)

    def insert_if_absent(self, row: Row) -> None:
        """Insert a row unless its key exists.

        The key identifies the content, so that an existing row is the same one.
        """
        self._run(adding_once(row.__table__, row.__names__, self.dialect.name), row.__dict__)

    def change(self, row: R, **values: object) -> R:
        """Write these columns and return the new row.

        Raises Conflict if the row is no longer the version that was read.
        """
        guard = {f"_{name}": row.__dict__[name] for name in (*row.__key__, "version")}
        changed: R | None = self.one(changing(row.__table__, tuple(values)), **values, **guard)
        if changed is None:
            raise Conflict(f"{row.__table__.name} moved on: {guard}")
        return changed

    def emit(self, to: str, env: str, kind: str, data: str, at: datetime) -> None:
        """Notify an agent: adds one event row, which is numbered when the unit commits."""
        self.events.append({"agent_id": to, "env": env, "kind": kind, "data": data, "created_at": at})

    def invalidate(self, *names: str) -> None:
        """Name what caches must drop, in every process, once this unit is committed.

        Each name is one word of at most 75 bytes.
        """
        if not all(FORGETTABLE.fullmatch(name) for name in names):
            raise ValueError(f"not one short word: {names}")  # it would break the notification, and the batch with it
        self.invalidated.extend(names)

    def note_writer(self, agent_id: str) -> None:
        """Note that this unit is an agent's, so that its reads from a replica show it."""
        self.invalidate(WROTE + agent_id)

    def count_bytes(self, agent_id: str, env: str, by: int, *, asks: bool = False, leaving: int = 0) -> None:
        """Count bytes that this unit adds or frees for an agent.

        With `asks`, the agent may be refused them, also if less than `leaving` bytes of its limit would be left.
        """
        holder = (agent_id, str(env))
        self.room[holder] = self.room.get(holder, 0) + by
        if asks:
            self.asking[holder] = max(leaving, self.asking.get(holder, 0))

    def count_day(self, env: str, name: str, day: int, by: int = 1, *, at: int = 0) -> None:
        """Add to a count of one day (days since 1970); `name` begins with a word of Counted."""
        key = (str(env), str(name), day, at)
        self.daily[key] = self.daily.get(key, 0) + by

    def write_room(self) -> dict[Holder, Taken]:
        """Write the counters that changed; return those that grew and may be refused.

        A unit writes them last, so that a busy agent's counter is locked for the shortest time.
        """
        room, asking = self.room, self.asking
        self.room, self.asking = {}, {}
        grown: dict[Holder, Taken] = {}
        for holder in sorted(room):
            by = room[holder]
            if not by:
                continue
            row = RoomRow(agent_id=holder[0], env=holder[1], used=by)
            used = self.one(adding_to(row.__table__, "used", self.dialect.name), **row.__dict__)
            if holder in asking and by > 0:
                grown[holder] = Taken(used or 0, by, asking[holder])
        return grown

    @contextmanager
    def alone(self) -> Iterator["SavepointResult"]:
        """Run a part of the unit in a savepoint; keep its error instead of raising it.

        If it fails, only this part is rolled back. A StorageError is raised, because it concerns the whole
        unit, which may have to run again.
        """
        kept, mark = SavepointResult(), self.mark()
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

    def mark(self) -> SavepointMark:
        counters = dict(self.room), dict(self.asking), dict(self.daily)
        return SavepointMark(len(self.events), len(self.invalidated), *counters)

    def undo(self, mark: SavepointMark) -> None:
        del self.events[mark.events :]
        del self.invalidated[mark.invalidated :]
        self.room, self.asking, self.daily = dict(mark.room), dict(mark.asking), dict(mark.daily)

    def begin(self) -> None:
        self.undo(SavepointMark(0, 0, {}, {}, {}))

    def write_counts(self) -> None:
        """Add the counts of days to their rows, once for all units of a COMMIT.

        The store calls this after the last unit. On PostgreSQL the caller has the lock that orders events. So these
        rows, which all processes change, are locked only while commits run one after the other anyway, and no unit of
        work ever meets a locked one.
        """
        rows = [dict(zip(DailyCountRow.__names__, (*key, by), strict=True)) for key, by in self.daily.items() if by]
        self.run_each(adding_to(DailyCountRow.__table__, "number", self.dialect.name), rows)

    def write_events(self) -> None:
        """Insert the events. The store calls this last before COMMIT."""
        self.run_each(inserting(EventRow.__table__, EVENT), self.events)

    def _run(self, query: Query[Any], values: dict[str, Any]) -> Plan:
        self._check_deadline()
        plan = query.plan(self.dialect)
        self.statements += 1
        self.cursor.execute(plan.sql, plan.bind(values))
        return plan

    def _check_deadline(self) -> None:
        if time.monotonic() > self.deadline:
            raise TooSlow("many statements passed the deadline of their read")
