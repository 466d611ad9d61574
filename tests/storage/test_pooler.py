"""PostgreSQL behind a pooler in transaction mode: refused without a direct address, and correct with one."""

import asyncio
from functools import partial

import psycopg
import pytest

from storage.cache import Cache
from storage.migrate import upgrade
from storage.open import open_database, serve
from storage.postgres import NO_SESSION, PostgresStore
from storage.tables import JobRow
from storage.transaction import TooSlow, Tx, Unavailable
from tests.support.cached_rows import fetching, rename
from tests.support.databases import Opening, PostgresDatabase, PostgresServer, close
from tests.support.pooler import pooling
from tests.support.storage_orders import count_jobs, events, job_ids, place

LIMITS = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.postgres.CONNECT_SECONDS", 1)


def limits(tx: Tx) -> list[str]:
    shown = []
    for name in LIMITS:
        tx.cursor.execute(f"SHOW {name}")
        shown += tx.cursor.fetchone()
    return shown


@pytest.mark.parametrize("strict", [True, False], ids=["refuses options", "ignores options"])
def test_a_pooled_address_alone_is_refused_before_the_migrations(postgres: PostgresServer, strict: bool) -> None:
    url = postgres.create("pooled")
    refused = pytest.raises(Unavailable, match="EMPORION_DATABASE_DIRECT_URL")
    with pooling(postgres.folder, "pooled", strict=strict) as pooled, refused:
        upgrade(open_database(pooled))
    with psycopg.connect(url) as admin:
        assert admin.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,)


def test_a_pooled_address_is_refused_because_no_notification_arrives(postgres: PostgresServer) -> None:
    """The options are in force for another reason, so that only the notification is missing."""
    with psycopg.connect(postgres.create("pooled"), autocommit=True) as admin:
        admin.execute("ALTER DATABASE pooled SET lock_timeout = '2ms'")
    with pooling(postgres.folder, "pooled") as pooled, pytest.raises(Unavailable, match="keeps no session"):
        open_database(pooled).check_sessions()


def test_a_direct_address_of_another_database_is_refused(
    postgres: PostgresServer, postgres_database: PostgresDatabase
) -> None:
    with pooling(postgres.folder, postgres_database.name) as pooled:
        database = open_database(pooled, postgres.url())
        with pytest.raises(Unavailable) as refused:
            database.check_sessions()
    assert str(refused.value) == NO_SESSION


async def test_units_reads_and_caches_work_through_a_pooler_with_a_direct_address(
    postgres_url: str, postgres: PostgresServer, postgres_database: PostgresDatabase, opening: Opening
) -> None:
    with pooling(postgres.folder, postgres_database.name) as pooled:
        database = open_database(pooled, postgres_url)
        upgrade(database)
        store = serve(database, scan_seconds=0.5)
        assert isinstance(store, PostgresStore)
        placed = {row.id for row in await asyncio.gather(*(store.write(place) for _ in range(60)))}
        assert await asyncio.gather(*(store.read(lambda tx: tx.one(count_jobs)) for _ in range(60))) == [60] * 60
        assert (await job_ids(store), [event.id for event in await events(store)]) == (placed, list(range(1, 121)))
        assert await store.write(limits) == ["2ms", "10s", "30s"]
        assert (await store.read(limits))[1] == "500ms"
        with pytest.raises(TooSlow):
            await store.scan(lambda tx: tx.cursor.execute("SELECT pg_sleep(10)"))
        fetch = fetching(store, Cache[JobRow](store), min(placed))
        assert await fetch()
        changed = await opening(postgres_url).write(partial(rename, job_id=min(placed), title="changed"))
        heard = store.now_seconds()
        while store.proven_at < heard:  # noqa: ASYNC110 - the listener has no event for a ping
            await asyncio.sleep(0.01)
        assert await fetch() == changed
        await close(store)


async def test_no_session_of_the_pool_keeps_a_limit_or_a_lock(
    postgres_url: str, postgres: PostgresServer, postgres_database: PostgresDatabase
) -> None:
    with pooling(postgres.folder, postgres_database.name) as pooled:
        database = open_database(pooled, postgres_url)
        upgrade(database)
        store = serve(database)
        await asyncio.gather(*(store.write(place) for _ in range(20)), *(store.read(limits) for _ in range(20)))
        await close(store)
        async with await psycopg.AsyncConnection.connect(pooled, autocommit=True) as client:
            shown = [await (await client.execute(f"SHOW {name}")).fetchone() for name in LIMITS for _ in range(3)]
        assert set(shown) == {("0",)}
    with psycopg.connect(postgres_url) as admin:
        assert admin.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone() == (0,)
