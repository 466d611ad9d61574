"""Copies of a SQLite database while it is served: one moment of it, page by page, and what a copy says of itself."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from storage.unit import Unavailable


@dataclass(frozen=True, slots=True)
class Said:
    """What a database says of itself: the revision of its tables, and the rows of `house`."""

    revision: str
    house: dict[str, str]


def copy_online(source: Path, target: Path) -> None:
    """Copy a database as of one moment, whoever writes it meanwhile; Unavailable where that fails.

    Everything committed before this began is in the copy. Writers wait for nothing: a reader of a WAL does not hold them.
    """
    with _open(source) as one, closing(sqlite3.connect(target)) as other, _told(source):
        one.backup(other)  # all pages in one step: between two, a writer would have it begin again
        found = [row[0] for row in other.execute("PRAGMA quick_check(1)")]
        if found != ["ok"]:
            raise Unavailable(f"{source} is damaged: {found[0]}")
        other.execute(
            "PRAGMA journal_mode=DELETE"
        )  # one file, without others beside it; whoever serves it turns it back


def said_of(path: Path) -> Said:
    """Read from beside whoever serves it; Unavailable where this is no database of a market."""
    with _open(path) as opened, _told(path):
        rows = opened.execute("SELECT version_num FROM alembic_version").fetchall()
        if len(rows) != 1:
            raise Unavailable(f"{path} holds no market")
        return Said(rows[0][0], dict(opened.execute("SELECT name, value FROM house")))


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
