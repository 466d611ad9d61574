"""Open the store a URL names: sqlite:///market.db or postgresql://host/database."""

from pathlib import Path

from storage.migrate import upgrade
from storage.postgres import Postgres, PostgresStore
from storage.sqlite import SQLite, SQLiteStore
from storage.store import Store

SQLITE = "sqlite:///"


def open_store(url: str) -> Store:
    """The store behind `url`, its tables brought up to date under the database's own lock."""
    database = open_database(url)
    try:
        upgrade(database)
    except BaseException:
        database.close()
        raise
    return serve(database)


def open_database(url: str) -> SQLite | Postgres:
    if url.startswith(SQLITE):
        return SQLite(Path(url.removeprefix(SQLITE)))
    return Postgres(url)


def serve(database: SQLite | Postgres) -> Store:
    """The threads and the door before a database whose tables stand."""
    return SQLiteStore(database) if isinstance(database, SQLite) else PostgresStore(database)
