"""Opens the store of a URL: sqlite:///market.db or postgresql://host/database."""

from pathlib import Path

from storage.migrate import upgrade
from storage.postgres import Postgres, PostgresStore
from storage.sqlite import SQLite, SQLiteStore
from storage.store import SCAN_SECONDS, Store

SQLITE = "sqlite:///"


def open_store(url: str, scan_seconds: float = SCAN_SECONDS) -> Store:
    """Open the store of `url` and migrate its tables under the database's own lock.

    Raises Unavailable.
    """
    database = open_database(url)
    try:
        upgrade(database)
    except BaseException:
        database.close()
        raise
    return serve(database, scan_seconds)


def open_database(url: str) -> SQLite | Postgres:
    """Return the database alone, before its tables are migrated.

    Raises ValueError if `url` names neither kind of database.
    """
    if url.startswith("postgresql://"):
        return Postgres(url)
    path = url.removeprefix(SQLITE)
    if path in {url, "", ":memory:"}:
        raise ValueError(f"the database is named by sqlite:///market.db or postgresql://host/database, not by {url!r}")
    return SQLite(Path(path))


def serve(database: SQLite | Postgres, scan_seconds: float = SCAN_SECONDS) -> Store:
    """Return a running store for a database whose tables are up to date."""
    if isinstance(database, SQLite):
        return SQLiteStore(database, scan_seconds=scan_seconds)
    return PostgresStore(database, scan_seconds=scan_seconds)
