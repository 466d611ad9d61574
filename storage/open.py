"""Opens the store of a URL, sqlite:///market.db or postgresql://host/database, and migrates its tables.

The driver of PostgreSQL takes 10 MB of memory, so it is imported only for a URL that needs it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from storage.migrate import upgrade
from storage.sqlite import SQLite, SQLiteStore
from storage.store import SCAN_SECONDS, Store

if TYPE_CHECKING:
    from storage.postgres import Postgres

SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class ReadReplica:
    """The address of a replica, and how old its answers may be."""

    url: str
    lag_seconds: float


def open_store(
    url: str,
    scan_seconds: float = SCAN_SECONDS,
    direct: str | None = None,
    replica: ReadReplica | None = None,
) -> Store:
    """Open the store of `url` and migrate its tables under the database's own lock.

    `direct` is the address of the database itself if `url` leads through a pooler. A `replica` need not be reachable.
    Raises Unavailable.
    """
    database = open_database(url, direct)
    try:
        upgrade(database)
    except BaseException:
        database.close()
        raise
    return serve(database, scan_seconds, replica)


def open_database(url: str, direct: str | None = None) -> "SQLite | Postgres":
    """Return the database alone, before its tables are migrated.

    Raises ValueError if `url` names neither kind of database.
    """
    if url.startswith("postgresql://"):
        from storage.pooled import PooledPostgres
        from storage.postgres import Postgres

        return Postgres(url) if direct is None else PooledPostgres(url, direct)
    path = url.removeprefix(SQLITE)
    if path in {url, "", ":memory:"}:
        raise ValueError(f"the database is named by sqlite:///market.db or postgresql://host/database, not by {url!r}")
    return SQLite(Path(path))


def serve(
    database: "SQLite | Postgres", scan_seconds: float = SCAN_SECONDS, replica: ReadReplica | None = None
) -> Store:
    """Return a running store for a database whose tables are up to date."""
    if isinstance(database, SQLite):
        return SQLiteStore(database, scan_seconds=scan_seconds)
    if replica is not None:
        from storage.replica import Replica, ReplicatedStore

        return ReplicatedStore(database, Replica(replica.url), replica.lag_seconds, scan_seconds=scan_seconds)
    from storage.postgres import PostgresStore

    return PostgresStore(database, scan_seconds=scan_seconds)
