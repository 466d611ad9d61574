"""A SQLite file that is written in short units of work while another process may serve it.

SQLite lets one connection write at a time; the others wait and try again. The serving process must not wait for long,
so a pause follows each unit of work. Only rows that no process caches may be written here: on SQLite a cache drops a
row only if its own process changed it.
"""

import asyncio
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from storage.migrate import newest, upgrade
from storage.open import SQLITE, open_database
from storage.snapshots import PATIENCE_SECONDS, check_revision, revision_of
from storage.sqlite import SQLiteStore, UnlockedSQLite, said_of
from storage.transaction import Cursor, ServedElsewhere, Tx

T = TypeVar("T")
# A waiting connection tries again after at most 0.1 s (sqliteDefaultBusyCallback in main.c of SQLite).
PAUSE_SECONDS = 0.15
BUSY_MILLISECONDS = 60_000  # of waiting for a serving process that writes all the time


class SQLiteBeside(UnlockedSQLite):
    """A file whose tables another process may bring to another revision at any time."""

    readers = 1

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.revision = newest()

    def write_cursor(self) -> Cursor:
        cursor = super().write_cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
        return cursor

    def control(self, tx: Tx, *commands: str) -> None:
        """Run transaction commands; a unit that begins on tables of another version is refused."""
        super().control(tx, *commands)
        if self.begin in commands and (found := revision_of(tx)) != self.revision:
            check_revision(found)


class BesideStore(SQLiteStore):
    """A store that pauses after each unit of work, so that other processes can write."""

    async def write(self, work: Callable[[Tx], T], name: str = "unit") -> T:
        try:
            return await super().write(work, name)
        finally:
            await asyncio.sleep(PAUSE_SECONDS)


def open_beside(url: str) -> BesideStore:
    """Open a SQLite file beside the market that serves it, if one does.

    If none does, the tables are brought up to date first. Raises Unavailable if they are of another version.
    """
    path = Path(url.removeprefix(SQLITE))
    if said_of(path).revision != newest():
        with suppress(ServedElsewhere), closing(open_database(url)) as database:
            upgrade(database)
        check_revision(said_of(path).revision)
    return BesideStore(SQLiteBeside(path), scan_seconds=PATIENCE_SECONDS)
