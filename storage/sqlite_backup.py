"""Online copies of a SQLite database as of one moment, and the metadata of a database file."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from storage.transaction import Unavailable


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
    with _open(source) as one, closing(sqlite3.connect(target)) as other, _told(source):
        one.backup(other)  # all pages in one step: a write between two steps would restart the backup
        found = [row[0] for row in other.execute("PRAGMA quick_check(1)")]
        if found != ["ok"]:
            raise Unavailable(f"{source} is damaged: {found[0]}")
        other.execute("PRAGMA journal_mode=DELETE")  # one file without a WAL beside it; serving it turns WAL on again


def said_of(path: Path) -> BackupMetadata:
    """Read a database's metadata, even while it is served.

    Raises Unavailable if it is not the database of a market.
    """
    with _open(path) as opened, _told(path):
        rows = opened.execute("SELECT version_num FROM alembic_version").fetchall()
        if len(rows) != 1:
            raise Unavailable(f"{path} holds no market")
        return BackupMetadata(rows[0][0], dict(opened.execute("SELECT name, value FROM house")))


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    with _told(path):
        opened = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    with closing(opened):
        yield opened


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise Unavailable(f"{path} cannot be read or copied: {error}") from error
