"""Snapshots: a database as of one moment, only read, even while a market serves it."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from psycopg.errors import UndefinedTable

from storage.database import Database
from storage.migrate import knows, newer_sentence, newest
from storage.open import SQLITE
from storage.postgres import Postgres
from storage.sqlite import UnlockedSQLite
from storage.store import Store
from storage.transaction import Cursor, Tx, Unavailable

T = TypeVar("T")
PATIENCE_SECONDS = 600.0  # per statement of a snapshot, because a table may have any number of rows
REVISION = "SELECT version_num FROM alembic_version"
LOST = "the connection was lost, and with it the moment that was being read: nothing of it is whole"


class OneConnection(Database):
    """A single connection. If it is lost, the snapshot is lost too, and no other replaces it."""

    writers, readers = 0, 1
    begun = False

    def reading(self, seconds: float) -> Tx:
        if self.begun:
            raise Unavailable(LOST)
        self.begun = True
        return super().reading(seconds)

    def end_read(self, tx: Tx) -> None:
        """Do nothing: the snapshot ends with the store."""


class SQLiteReader(UnlockedSQLite):
    """The file for reads, each of another moment, so that the market can begin its WAL again."""

    writers, readers = 0, 1


class SQLiteMoment(OneConnection, SQLiteReader):
    """The same as of one moment."""

    def read_cursor(self, seconds: float) -> Cursor:
        cursor = super().read_cursor(seconds)
        cursor.execute("BEGIN")
        return cursor

    def start_read(self, tx: Tx, seconds: float) -> None:
        """Do nothing: the snapshot began with the first read."""


class PostgresMoment(OneConnection, Postgres):
    """One transaction, REPEATABLE READ and READ ONLY, for all reads."""


class SnapshotStore(Store):
    """A database that is only read, of one moment or of the moment of each read."""

    async def write(self, work: Callable[[Tx], T], name: str = "unit") -> T:
        raise Unavailable("a snapshot is only read")


async def open_moment(url: str) -> SnapshotStore:
    """Open a read-only store of everything committed before this call.

    Raises Unavailable if the tables are not those of this version.
    """
    is_file = url.startswith(SQLITE)
    return await _opened(SQLiteMoment(_path(url)) if is_file else PostgresMoment(url))


async def open_reader(url: str) -> SnapshotStore:
    """Open a read-only store of a SQLite file that a market serves.

    Each read is of the newest moment. Raises Unavailable if the tables are not those of this version.
    """
    return await _opened(SQLiteReader(_path(url)))


def _path(url: str) -> Path:
    return Path(url.removeprefix(SQLITE))


async def _opened(database: Database) -> SnapshotStore:
    opened = SnapshotStore(database, scan_seconds=PATIENCE_SECONDS)
    try:
        check_revision(await opened.read(revision_of))
    except BaseException:
        opened.close()
        raise
    return opened


def check_revision(found: str | None) -> None:
    """Raise Unavailable if the tables of a database are not those of this version."""
    if found is not None and not knows(found):
        raise Unavailable(newer_sentence(found))
    if found != newest():
        raise Unavailable(
            f"the tables ({found or 'none'}) are not those of this version ({newest()}): use the version that serves "
            "them, or bring them up to date with `emporion migrate`"
        )


def revision_of(tx: Tx) -> str | None:
    """Return the revision of the tables; None if there are none."""
    try:
        tx.cursor.execute(REVISION)
    except (sqlite3.OperationalError, UndefinedTable):
        return None
    found = tx.cursor.fetchone()
    return None if found is None else str(found[0])
