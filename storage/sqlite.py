"""SQLite: one file, one process, one writer; and online copies of the file as of one moment."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from sqlalchemy import create_engine
from sqlalchemy.engine import URL
from sqlalchemy.pool import NullPool

from storage.database import Database
from storage.store import SCAN_SECONDS, Store
from storage.transaction import Conflict, Cursor, ServedElsewhere, TooSlow, Tx, Unavailable

T = TypeVar("T")
WRITER = "PRAGMA cache_size=-32768; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA journal_size_limit=67108864;"
READER = "PRAGMA query_only=ON;"
FAILURES = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOTADB,
}  # fmt: skip
STEPS = 1_000  # virtual machine steps between two checks of the clock, about 20 µs
QUICK_SECONDS = 0.001  # of the event loop's time, for one scan
REST = 50  # pause after a slow scan, in multiples of its time: the loop loses at most 2 %


class SQLite(Database):
    """A file in WAL mode. A lock beside it excludes other processes."""

    begin = "BEGIN IMMEDIATE"
    writers, readers, batch = 1, 2, 256

    def __init__(self, path: Path, module: ModuleType = sqlite3) -> None:
        self.path, self.module = path, module
        self.lock = _lock(path)
        try:
            self._connect("rwc", WRITER).close()
        except module.Error as error:
            self.lock.close()
            raise Unavailable(f"{path} cannot be opened: {error}") from error
        self.engine = create_engine(URL.create("sqlite", database=str(path)), module=module, poolclass=NullPool)
        super().__init__(self.engine.dialect)

    def check_sessions(self) -> None:
        """Do nothing: no pooler is between this process and its file."""

    def write_cursor(self) -> Cursor:
        return self._connect("rw", WRITER).cursor()

    def read_cursor(self, seconds: float) -> Cursor:
        return self._connect("ro", READER).cursor()

    def start_read(self, tx: Tx, seconds: float) -> None:
        until = tx.deadline = time.monotonic() + seconds
        tx.cursor.execute("BEGIN")
        tx.cursor.connection.set_progress_handler(lambda: time.monotonic() > until, STEPS)

    def end_read(self, tx: Tx) -> None:
        tx.cursor.connection.set_progress_handler(None, STEPS)  # otherwise the next BEGIN or ROLLBACK would call it too
        tx.cursor.execute("ROLLBACK")

    def control(self, tx: Tx, *commands: str) -> None:
        for command in commands:
            tx.cursor.execute(command)

    def finish(self, tx: Tx) -> None:
        tx.write_counts()
        tx.write_events()
        tx.cursor.execute("COMMIT")

    def classify_error(self, error: Exception) -> Exception:
        if isinstance(error, self.module.IntegrityError) and str(error).startswith("UNIQUE constraint failed"):
            return Conflict(str(error))  # by its message, because pysqlite3 has no extended error codes
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
        if code == sqlite3.SQLITE_INTERRUPT:
            return TooSlow(str(error))
        return Unavailable(str(error)) if code in FAILURES else error

    def discard(self, tx: Tx) -> None:
        """Roll back, then close the connection.

        A connection whose statement is still referenced, for example by an error's traceback, stays open when
        it is closed. Its transaction would block all writers until that error is released.
        """
        with suppress(self.module.Error):
            tx.cursor.execute("ROLLBACK")
        super().discard(tx)

    def close(self) -> None:
        super().close()
        self.lock.close()

    def _connect(self, mode: str, pragmas: str) -> sqlite3.Connection:
        connection: sqlite3.Connection = self.module.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=512,
        )
        connection.executescript(pragmas)
        return connection


class UnlockedSQLite(SQLite):
    """A file without the lock beside it, so that another process can serve it."""

    def __init__(self, path: Path) -> None:
        self.path, self.module = path, sqlite3
        self.engine = create_engine(URL.create("sqlite", database=str(path)), poolclass=NullPool)
        Database.__init__(self, self.engine.dialect)

    def close(self) -> None:
        Database.close(self)


class SQLiteStore(Store):
    """A store that runs quick reads on the event loop, because a thread takes longer."""

    def __init__(self, database: SQLite, most_waiting: int = 1024, scan_seconds: float = SCAN_SECONDS) -> None:
        super().__init__(database, most_waiting, scan_seconds)
        self.inline: Tx | None = None
        self.driver_error: type[Exception] = database.module.Error
        self.threads_until = 0.0  # loop time; after a slow scan, scans go directly to a thread until then

    async def read(self, read: Callable[[Tx], T]) -> T:
        self.counters.looks += 1
        return self._read(read)

    async def scan(self, read: Callable[[Tx], T]) -> T:
        """Run a read on the event loop for a millisecond; if it is not done then, on a thread.

        Most scans are done by then, and the loop is not blocked by the others.
        """
        now = self.loop.time()
        if now < self.threads_until:
            return await super().scan(read)
        began = time.thread_time()  # CPU time: waiting for a processor does not block the loop's other tasks
        try:
            answer = self._read(read, lambda: time.thread_time() > began + QUICK_SECONDS)
        except TooSlow:
            pass
        else:
            self.counters.scans += 1
            return answer
        finally:
            took = time.thread_time() - began  # may be more, because full-text search checks the time rarely
            if took > QUICK_SECONDS:
                self.threads_until = now + REST * took
        return await super().scan(read)

    def _read(self, read: Callable[[Tx], T], ends: Callable[[], bool] | None = None) -> T:
        """Run `read` in one snapshot and return its result.

        Raises TooSlow when `ends` returns true.
        """
        self._refuse_if_closed()
        try:
            tx = self.inline = self.inline or self.database.reading(self.scan_seconds)
            tx.cursor.execute("BEGIN")
            if ends:
                tx.cursor.connection.set_progress_handler(ends, STEPS)
            try:
                return read(tx)
            finally:
                if ends:
                    tx.cursor.connection.set_progress_handler(None, STEPS)
                tx.cursor.execute("ROLLBACK")
        except self.driver_error as error:
            verdict = self.database.classify_error(error)
            if self.inline and not isinstance(verdict, TooSlow):  # the next read opens the file again
                self.database.discard(self.inline)
                self.inline = None
            raise verdict from error


def holds_mark(path: Path, name: str) -> bool:
    """Check whether a database that is not served has this row of `house`.

    True if the database is too damaged to tell.
    """
    try:
        with _open(path) as opened:
            return opened.execute("SELECT 1 FROM house WHERE name = ?", [name]).fetchone() is not None
    except Unavailable:
        return True


@dataclass(frozen=True, slots=True)
class BackupMetadata:
    """A database's metadata: the revision of its tables, and the rows of `house`."""

    revision: str
    house: dict[str, str]


def copy_online(source: Path, target: Path) -> None:
    """Copy a database as of one moment, even while it is written.

    Everything committed before the call is in the copy. Writers do not wait, because a reader does not block the
    WAL. Raises Unavailable if the copy fails or the database is damaged.
    """
    with _open(source) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)  # all pages in one step: a write between two steps would restart the backup
        found = [row[0] for row in other.execute("PRAGMA quick_check(1)")]
        if found != ["ok"]:
            raise Unavailable(f"{source} is damaged: {found[0]}")
        other.execute("PRAGMA journal_mode=DELETE")  # one file without a WAL beside it; serving it turns WAL on again


def said_of(path: Path) -> BackupMetadata:
    """Read a database's metadata, even while it is served.

    Raises Unavailable if it is not the database of a market.
    """
    with _open(path) as opened:
        rows = opened.execute("SELECT version_num FROM alembic_version").fetchall()
        if len(rows) != 1:
            raise Unavailable(f"{path} holds no market")
        return BackupMetadata(rows[0][0], dict(opened.execute("SELECT name, value FROM house")))


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            yield opened
    except sqlite3.Error as error:
        raise Unavailable(f"{path} cannot be read or copied: {error}") from error


def _lock(path: Path) -> sqlite3.Connection:
    """Lock a file beside the database with SQLite's own lock.

    The lock is released when the process ends, however it ends. Raises ServedElsewhere if another process holds it,
    otherwise Unavailable.
    """
    lock: sqlite3.Connection | None = None
    try:
        lock = sqlite3.connect(f"{path}.lock", timeout=0, isolation_level=None, check_same_thread=False)
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        if lock:
            lock.close()
        busy = error.sqlite_errorcode == sqlite3.SQLITE_BUSY
        reason = (
            "is served by another process; several processes need PostgreSQL" if busy else f"cannot be opened: {error}"
        )
        raise (ServedElsewhere if busy else Unavailable)(f"{path} {reason}") from error
    return lock
