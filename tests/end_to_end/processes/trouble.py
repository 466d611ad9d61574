"""Database faults under a running market: full, read-only or killed, without root or a mount."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import psycopg
from psycopg import errors, sql

from server.app import Service
from server.serve import Server, uvicorn_config
from server.settings import read_settings
from storage.sqlite import WRITER
from storage.store import Store
from storage.transaction import Unavailable
from tests.end_to_end.processes.pair import Chain, Pair
from tests.support.databases import PostgresServer
from tests.support.listening import listen

Trouble = Callable[[], AbstractAsyncContextManager[None]]
MAX_FILE_BYTES = 17 * 1024 * 1024  # a segment of PostgreSQL's own log has 16 MiB and must not be limited
FILL = """
INSERT INTO events (agent_id, env, kind, data, created_at)
SELECT 'nobody', 'test', 'long', repeat('x', %s), created_at FROM (SELECT created_at FROM events LIMIT 1) AS one,
generate_series(1, %s)
"""
SLOW_COMMITS = ("commit_delay = 5000", "commit_siblings = 0")  # microseconds, before the commit is confirmed
NOT_PAGES, ALL_PAGES = "PRAGMA max_page_count = 1", "PRAGMA max_page_count = 4294967294"  # 1 means the current number


@dataclass(frozen=True)
class Place:
    """A market of one or two processes, and faults of its database.

    A fault lasts while its context is open.
    """

    database_url: str
    urls: list[str]
    full: Trouble
    read_only: Trouble


@asynccontextmanager
async def before_sqlite(url: str, chain: Chain, folder: Path) -> AsyncIterator[Place]:
    """Serve the whole service in this process, where its connections can be changed."""
    listening = listen()
    port = listening.getsockname()[1]
    settings = read_settings(
        _env_file=None,
        data_dir=folder,
        port=port,
        database_url=url,
        signing_seed="11" * 32,
        key_pepper="22" * 32,
        test_rpc_url=chain.url,
        rate_limits=False,
    )
    service, ready = Service(settings, chain.url), asyncio.Event()
    server = Server(uvicorn_config(service, settings), service, ready.set)
    serving = asyncio.create_task(server.serve([listening]))
    await asyncio.wait([serving, asyncio.create_task(ready.wait())], return_when=asyncio.FIRST_COMPLETED)
    assert ready.is_set()
    full = partial(connected_with, service, NOT_PAGES, ALL_PAGES)
    read_only = partial(connected_with, service, "PRAGMA query_only = ON", "PRAGMA query_only = OFF")
    yield Place(url, [f"http://127.0.0.1:{port}"], full, read_only)
    server.should_exit = True
    await serving


@asynccontextmanager
async def connected_with(service: Service, words: str, after: str) -> AsyncIterator[None]:
    """Run this SQL on the writing connection, and on each that replaces it."""
    assert service.served is not None
    store = service.served.market.store
    with patch("storage.sqlite.WRITER", f"{WRITER} {words};"):
        await said_to_writer(store, words)
        yield
    await said_to_writer(store, after)


async def said_to_writer(store: Store, words: str) -> None:
    """Run SQL on the writer's connection.

    If it fails together with another write, the next connection is new.
    """
    with suppress(Unavailable):
        await store.write(lambda tx: tx.cursor.execute(words))


def before_postgres(pair: Pair, server: PostgresServer) -> Place:
    """Return the place of both serving processes."""
    urls = [f"http://127.0.0.1:{forge.port}" for forge in pair.forges]
    return Place(pair.url, urls, partial(full, pair.url), partial(read_only, server.url()))


@asynccontextmanager
async def full(url: str) -> AsyncIterator[None]:
    """Fill the file of events to the maximum size of a file of this server.

    The filling rows are never visible, because they are not committed.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER TABLE events SET (autovacuum_enabled = off)")
    with psycopg.connect(url) as filler:
        await asyncio.to_thread(fill, filler)
        yield
        filler.rollback()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM events")


def fill(filler: psycopg.Connection) -> None:
    """Insert as many large and small rows as fit, in a transaction that stays open.

    Rows that were rolled back would give up their space as soon as the page is read.
    """
    filler.execute("SELECT 1")
    for rows, characters in ((1000, 1500), (50, 60), (1, 60)):
        with suppress(errors.InternalError_):
            while True:
                with filler.transaction():
                    filler.execute(FILL, [characters, rows])


@asynccontextmanager
async def read_only(url: str) -> AsyncIterator[None]:
    """Make the server read-only, as an operator, a provider or a failover does."""
    alter = "ALTER SYSTEM SET default_transaction_read_only = {}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(alter.format("on"))
        connection.execute("SELECT pg_reload_conf()")
        yield
        connection.execute(alter.format("off"))
        connection.execute("SELECT pg_reload_conf()")


@asynccontextmanager
async def killed(server: PostgresServer) -> AsyncIterator[None]:
    """Kill all processes of the server; start it again at the end, so that it recovers."""
    await asyncio.to_thread(server.kill)
    yield
    await asyncio.to_thread(server.start)


def slow_commits(url: str) -> None:
    """Slow down each COMMIT of later connections to this database."""
    with psycopg.connect(url, autocommit=True) as connection:
        name = sql.Identifier(connection.info.dbname)
        for setting in SLOW_COMMITS:
            connection.execute(sql.SQL("ALTER DATABASE {} SET ").format(name) + sql.SQL(setting))
