"""Open the store a URL names: sqlite:///market.db or postgresql://host/database."""

from pathlib import Path

from storage.migrate import upgrade
from storage.postgres import Postgres, PostgresStore
from storage.sqlite import SQLite, SQLiteStore
from storage.store import SCAN_SECONDS, Store

SQLITE = "sqlite:///"


def open_store(url: str, scan_seconds: float = SCAN_SECONDS) -> Store:
    """The store behind `url`, its tables brought up to date under the database's own lock; else Unavailable."""
    database = open_database(url)
    try:
        upgrade(database)
    except BaseException:
        database.close()
        raise
    return serve(database, scan_seconds)


def open_database(url: str) -> SQLite | Postgres:
    """The database alone, before its tables; ValueError where `url` names neither kind."""
    if url.startswith("postgresql://"):
        return Postgres(url)
    path = url.removeprefix(SQLITE)
    if path in {url, "", ":memory:"}:
        raise ValueError(f"the database is named by sqlite:///market.db or postgresql://host/database, not by {url!r}")
    return SQLite(Path(path))


def serve(database: SQLite | Postgres, scan_seconds: float = SCAN_SECONDS) -> Store:
    """The threads and the door before a database whose tables stand."""
    if isinstance(database, SQLite):
        return SQLiteStore(database, scan_seconds=scan_seconds)
    return PostgresStore(database, scan_seconds=scan_seconds)
