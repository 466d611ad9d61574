"""Faults of a database, conflicts of its rows, and crashes around its COMMIT, at seeded moments."""

import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import psycopg

from storage.database import Database
from storage.postgres import Postgres
from storage.sqlite import SQLite
from storage.tables import PurchaseRow
from storage.transaction import Cursor, Tx

LOST_ANSWER = "lost_answer"  # COMMIT takes effect, and its answer is lost
KINDS = {
    "busy": sqlite3.SQLITE_BUSY,
    "full": sqlite3.SQLITE_FULL,
    "read_only": sqlite3.SQLITE_READONLY,
    "gone": sqlite3.SQLITE_CANTOPEN,
    LOST_ANSWER: sqlite3.SQLITE_IOERR,
}
PURCHASES = str(PurchaseRow.__table__.name)
CONFLICT = "conflict"  # a row that another transaction inserts first, so that the unit of work must run again


class CrashNow(BaseException):
    """The process ends at this point."""


class Conflicts:
    """Lets one in `every` INSERTs of a unit of work meet a conflict.

    If `next` is set, the next INSERT meets one too.
    """

    def __init__(self, random: Random, every: int) -> None:
        self.random, self.every, self.next = random, every, False

    def __call__(self, sql: str) -> bool:
        if not (self.every and sql.startswith("INSERT")):
            return False
        found, self.next = self.next or self.random.random() * self.every < 1, False
        return found


class Conflicting:
    """A cursor whose statements may meet a conflict."""

    database: "Faulty"

    def execute(self, sql: Any, *parameters: Any, **options: Any) -> Any:
        self.database.clash(sql)
        self.database.purchases_changed |= PURCHASES in sql and not sql.startswith("SELECT")
        return super().execute(sql, *parameters, **options)  # type: ignore[misc]


class ConflictingSQLite(Conflicting, sqlite3.Cursor):
    pass


class ConflictingPostgres(Conflicting, psycopg.Cursor[Any]):
    pass


class Faulty(Database):
    """A database with at most one fault at a time, and with conflicts.

    `fault` is one of KINDS; `note` counts the effects of all. `purchases_changed` is set by each change of purchases.
    """

    fault: str | None = None
    purchases_changed = False
    conflicts: Conflicts | None = None
    note: Callable[[str], None]

    def write_cursor(self) -> Cursor:
        connection = super().write_cursor().connection  # type: ignore[safe-super]
        cursor: Any = self.cursor_of(connection)
        cursor.database = self
        return cursor  # type: ignore[no-any-return]

    def clash(self, sql: str) -> None:
        """Raise the driver's error of a conflict, at seeded moments."""
        if self.conflicts is not None and self.conflicts(sql):
            self.note(CONFLICT)
            raise self.conflict()

    def control(self, tx: Tx, *commands: str) -> None:
        if self.begin in commands:
            self._fail("busy", "gone")
        super().control(tx, *commands)  # type: ignore[safe-super]

    def finish(self, tx: Tx) -> None:
        self._fail("full", "read_only")
        super().finish(tx)  # type: ignore[safe-super]
        self._fail(LOST_ANSWER)

    def read_cursor(self, seconds: float) -> Cursor:
        self._fail("gone")
        return super().read_cursor(seconds)  # type: ignore[safe-super]

    def _fail(self, *kinds: str) -> None:
        if self.fault in kinds:
            self.note(self.fault)
            raise self.error()

    @abstractmethod
    def error(self) -> Exception:
        """Return the driver's error of the present fault."""

    @abstractmethod
    def conflict(self) -> Exception:
        """Return the driver's error of a conflict."""

    @abstractmethod
    def cursor_of(self, connection: Any) -> Conflicting:
        """Open a cursor that may meet conflicts."""


class FaultySQLite(Faulty, SQLite):
    def error(self) -> Exception:
        error: Any = sqlite3.OperationalError(f"simulated: {self.fault}")
        error.sqlite_errorcode = KINDS[str(self.fault)]
        return error

    def conflict(self) -> Exception:
        return sqlite3.IntegrityError("UNIQUE constraint failed: simulated")

    def cursor_of(self, connection: Any) -> Conflicting:
        return connection.cursor(ConflictingSQLite)  # type: ignore[no-any-return]


class FaultyPostgres(Faulty, Postgres):
    def discard(self, tx: Tx) -> None:
        """Roll back before closing, because a server that does so later keeps locks for a real time."""
        with suppress(psycopg.Error):
            tx.cursor.connection.rollback()
        super().discard(tx)

    def error(self) -> Exception:
        kind = psycopg.errors.ReadOnlySqlTransaction if self.fault == "read_only" else psycopg.OperationalError
        return kind(f"simulated: {self.fault}")

    def conflict(self) -> Exception:
        return psycopg.errors.SerializationFailure("simulated")

    def cursor_of(self, connection: Any) -> Conflicting:
        return ConflictingPostgres(connection)


class CommitCrashes:
    """Ends the process before or after one in `every` commits.

    If `next` is one of these moments, it ends there too, once.
    """

    def __init__(self, random: Random, every: int) -> None:
        self.random, self.every = random, every
        self.next: str | None = None

    def __call__(self, moment: str, names: Sequence[str]) -> None:
        if moment == self.next or (self.every and self.random.random() * self.every < 1):
            self.next = None
            raise CrashNow(moment)
