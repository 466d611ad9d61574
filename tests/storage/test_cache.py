"""Caches of rows: never older than an answer already given, and at most a second older than another process's data."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import psycopg
import pytest

from storage.cache import Cache
from storage.database import Database
from storage.postgres import PostgresStore
from storage.store import Store
from storage.tables import JobRow
from storage.transaction import Tx, Unavailable
from tests.support.databases import Opening, PostgresDatabase
from tests.support.storage_orders import get_job, place

Fetch = Callable[[], Awaitable[JobRow | None]]


class Clock:
    """A clock in seconds that a test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def rename(tx: Tx, job_id: str, title: str) -> JobRow:
    found = tx.get(JobRow, job_id, lock=True)
    assert found
    tx.invalidate(job_id)
    return tx.change(found, title=title)


def fetching(store: Store, cache: Cache[JobRow], job_id: str = "job_1") -> Fetch:
    return lambda: cache.fetch(job_id, lambda: store.read(partial(get_job, job_id=job_id)))


async def answered(value: str) -> str:
    return value


async def test_a_cached_row_is_read_once(store: Store) -> None:
    placed = await store.write(partial(place, job_id="job_1"))
    fetch = fetching(store, Cache(store, Clock()))
    assert [await fetch() for _ in range(5)] == [placed] * 5
    assert store.counters.looks == 1


async def test_a_cached_row_is_dropped_before_the_change_is_answered(store: Store) -> None:
    await store.write(partial(place, job_id="job_1"))
    fetch = fetching(store, Cache(store, Clock()))
    for number in range(30):
        assert await fetch()
        changed = await store.write(partial(rename, job_id="job_1", title=f"title {number}"))
        assert await fetch() == changed


async def test_no_reader_beside_a_writer_sees_a_row_older_than_an_answer(store: Store) -> None:
    """Ten readers use the cache.

    A read that begins after an answered change sees at least that version.
    """
    await store.write(partial(place, job_id="job_1"))
    fetch = fetching(store, Cache(store, Clock()))
    answered_version, done = 1, asyncio.Event()
    stale: list[tuple[int, int]] = []

    async def read() -> None:
        while not done.is_set():
            least = answered_version
            found = await fetch()
            assert found
            if found.version < least:
                stale.append((found.version, least))
            await asyncio.sleep(0)

    async def write() -> None:
        nonlocal answered_version
        for number in range(60):
            changed = await store.write(partial(rename, job_id="job_1", title=f"title {number}"))
            answered_version = changed.version
        done.set()

    await asyncio.gather(write(), *(read() for _ in range(10)))
    assert stale == []


async def test_a_row_that_is_missing_is_not_remembered_as_missing(store: Store) -> None:
    fetch = fetching(store, Cache(store, Clock()))
    assert await fetch() is None
    placed = await store.write(partial(place, job_id="job_1"))
    assert await fetch() == placed


async def test_what_an_undone_unit_forgot_is_not_dropped(store: Store) -> None:
    dropped: list[str] = []
    store.droppers.append(dropped.extend)

    def fail(tx: Tx) -> None:
        tx.invalidate("undone")
        raise ValueError("no")

    def half(tx: Tx) -> None:
        tx.invalidate("kept")
        with tx.alone():
            tx.invalidate("undone-too")
            raise ValueError("no")

    await asyncio.gather(store.write(fail), store.write(half), return_exceptions=True)
    assert set(dropped) == {"kept"}


async def test_what_a_failed_commit_would_have_changed_is_dropped(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its result is unknown, so the cached rows of the transaction are dropped."""
    await store.write(partial(place, job_id="job_1"))
    fetch = fetching(store, Cache(store, Clock()))
    before = await fetch()
    finish = type(store.database).finish

    def lose(database: Database, tx: Tx) -> None:
        finish(database, tx)
        raise ConnectionError("the answer to COMMIT was lost")

    with monkeypatch.context() as patch:
        patch.setattr(type(store.database), "finish", lose)
        with pytest.raises(Unavailable):
            await store.write(partial(rename, job_id="job_1", title="changed"))
    after = await fetch()
    assert before
    assert after
    assert (before.title, after.title) == ("Translate", "changed")


async def test_a_thousand_names_are_dropped_in_one_commit(store: Store) -> None:
    names = [f"{number:04}{'x' * 71}" for number in range(1000)]
    dropped: list[str] = []
    store.droppers.append(dropped.extend)
    await store.write(lambda tx: tx.invalidate(*names))
    assert set(dropped) == set(names)


@pytest.mark.parametrize(
    "name", ["two words", "", "x" * 76, "grüße", "a\nb"], ids=["space", "empty", "long", "letters", "line"]
)
async def test_a_name_that_would_spoil_the_notification_is_refused_in_its_own_unit(store: Store, name: str) -> None:
    answers = await asyncio.gather(
        store.write(lambda tx: tx.invalidate(name)),
        store.write(lambda tx: tx.invalidate("fine")),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers] == [ValueError, type(None)]


async def test_a_value_read_before_a_drop_is_not_kept_after_it(store: Store) -> None:
    cache = Cache[str](store, Clock())
    reading: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    fetching = asyncio.ensure_future(cache.fetch("a", lambda: reading))
    await asyncio.sleep(0)
    cache.invalidate(["a"])
    reading.set_result("old")
    assert await fetching == "old"
    assert cache.get("a") is None


async def test_of_two_reads_around_a_drop_only_the_later_is_kept(store: Store) -> None:
    cache = Cache[str](store, Clock())
    loop = asyncio.get_running_loop()
    old, new = loop.create_future(), loop.create_future()
    first = asyncio.ensure_future(cache.fetch("a", lambda: old))
    await asyncio.sleep(0)
    cache.invalidate(["a"])
    second = asyncio.ensure_future(cache.fetch("a", lambda: new))
    await asyncio.sleep(0)
    old.set_result("old")
    assert await first == "old"
    assert cache.get("a") is None
    new.set_result("new")
    assert await second == "new"
    assert cache.get("a") == "new"


async def test_a_read_that_fails_leaves_nothing_behind(store: Store) -> None:
    cache = Cache[str](store, Clock())

    async def fail() -> str:
        raise Unavailable("no")

    with pytest.raises(Unavailable):
        await cache.fetch("a", fail)
    assert (cache.get("a"), cache.filling) == (None, {})
    assert await cache.fetch("a", partial(answered, "well")) == cache.get("a") == "well"


async def test_a14_a_cache_holds_no_more_than_its_bound_and_drops_the_least_used(store: Store) -> None:
    cache = Cache[str](store, Clock(), most=3)
    for name in ("a", "b", "c"):
        await cache.fetch(name, partial(answered, name))
    assert cache.get("a") == "a"
    await cache.fetch("d", partial(answered, "d"))
    assert list(cache.values) == ["c", "a", "d"]


def by_owner(store: Store, most: int = 20_000) -> Cache[str]:
    """Return a cache of texts whose first letter names their owner."""
    return Cache[str](store, Clock(), most=most, owners="owner", owner_of=lambda value: value[0])


async def test_an_owners_values_are_dropped_together_and_nobody_elses(store: Store) -> None:
    cache = by_owner(store)
    for name in ("a1", "a2", "b1"):
        await cache.fetch(name, partial(answered, name))
    cache.invalidate(["owner:a", "owner:c", "a"])
    assert (list(cache.values), cache.owned) == (["b1"], {"b": {"b1"}})
    await cache.fetch("a1", partial(answered, "a new"))
    cache.invalidate(["a1"])
    assert (list(cache.values), cache.owned) == (["b1"], {"b": {"b1"}})


async def test_what_is_being_read_when_an_owner_is_dropped_is_not_kept(store: Store) -> None:
    """Its owner is not known yet."""
    cache = by_owner(store)
    reading: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    fetching = asyncio.ensure_future(cache.fetch("x", lambda: reading))
    await asyncio.sleep(0)
    cache.invalidate(["owner:a"])
    reading.set_result("a old")
    assert await fetching == "a old"
    assert (cache.get("x"), cache.owned, cache.filling) == (None, {}, {})


async def test_a14_what_is_known_of_owners_goes_with_what_was_kept_of_them(store: Store) -> None:
    cache = by_owner(store, most=3)
    for number in range(50):
        await cache.fetch(f"n{number}", partial(answered, f"{number % 7}"))
    assert len(cache.values) == 3
    assert sorted(name for names in cache.owned.values() for name in names) == sorted(cache.values)
    cache.invalidate([f"owner:{number}" for number in range(7)])
    assert (list(cache.values), cache.owned) == ([], {})


async def test_on_sqlite_a_cached_value_is_believed_until_it_is_dropped(sqlite_url: str, opening: Opening) -> None:
    clock = Clock()
    cache = Cache[str](opening(sqlite_url), clock)
    await cache.fetch("a", partial(answered, "value"))
    clock.seconds += 1e6
    assert cache.get("a") == "value"


async def test_on_postgres_a_cached_value_is_believed_for_a_second_from_before_it_was_read(
    postgres_url: str, opening: Opening
) -> None:
    clock = Clock()
    cache = Cache[str](opening(postgres_url), clock)

    async def slowly() -> str:
        clock.seconds += 0.75
        return "value"

    await cache.fetch("a", slowly)
    clock.seconds += 0.25
    assert cache.get("a") == "value"
    clock.seconds += 0.01
    assert cache.get("a") is None


async def test_a_change_in_one_process_is_dropped_in_another(postgres_url: str, opening: Opening) -> None:
    one, other = opening(postgres_url), opening(postgres_url)
    await one.write(partial(place, job_id="job_1"))
    await hears(one, other)
    fetch = fetching(other, Cache(other, Clock()))  # its clock does not move, so only the notification can drop the row
    dropped = asyncio.Event()
    other.droppers.append(lambda names: dropped.set() if "job_1" in names else None)
    for number in range(10):
        assert await fetch()
        dropped.clear()
        changed = await one.write(partial(rename, job_id="job_1", title=f"title {number}"))
        await asyncio.wait_for(dropped.wait(), 5)
        assert await fetch() == changed


async def test_a_change_is_seen_within_a_second_while_nobody_listens(
    postgres_url: str, opening: Opening, postgres_database: PostgresDatabase
) -> None:
    """The other store's listening connection is closed, so only the expiry drops the row."""
    one, other = opening(postgres_url), opening(postgres_url)
    await one.write(partial(place, job_id="job_1"))
    assert isinstance(other, PostgresStore)
    other.hearing.cancel()
    await asyncio.wait([other.hearing])
    clock = Clock()
    fetch = fetching(other, Cache(other, clock))
    before = await fetch()
    changed = await one.write(partial(rename, job_id="job_1", title="changed"))
    assert await fetch() == before
    clock.seconds += 1.001
    assert await fetch() == changed


async def test_a_store_whose_listening_connection_was_cut_listens_again(
    postgres_url: str, opening: Opening, postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.postgres.RECONNECT_SECONDS", 0.01)
    one, other = opening(postgres_url), opening(postgres_url)
    await hears(one, other)
    for _ in range(3):
        assert postgres_database.server.disconnect_all(postgres_database.name)
        await hears(one, other)
    assert one.alive
    assert other.alive


async def test_o1_a_store_that_no_longer_hears_is_not_alive(postgres_url: str, opening: Opening) -> None:
    store = opening(postgres_url)
    assert isinstance(store, PostgresStore)
    assert store.alive
    store.hearing.cancel()
    await asyncio.wait([store.hearing])
    assert not store.alive


async def test_a_store_that_is_closed_closes_its_listening_connection_at_once(
    postgres_url: str, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rollback never ends, so a store that waited for it would keep its connection."""
    opened: list[psycopg.AsyncConnection] = []
    connect = psycopg.AsyncConnection.connect

    async def recorded(*given: Any, **more: Any) -> psycopg.AsyncConnection:
        opened.append(await connect(*given, **more))
        return opened[-1]

    monkeypatch.setattr(psycopg.AsyncConnection, "connect", recorded)
    monkeypatch.setattr(psycopg.AsyncConnection, "rollback", lambda _: asyncio.Event().wait())
    one, other = opening(postgres_url), opening(postgres_url)
    await hears(one, other)
    assert isinstance(other, PostgresStore)
    other.hearing.cancel()
    await asyncio.wait([other.hearing], timeout=10)
    assert other.hearing.cancelled()
    assert sorted(connection.closed for connection in opened) == [False, True]


async def hears(one: Store, other: Store) -> None:
    """Wait until a notification of `one` reaches `other`."""
    heard = asyncio.Event()
    other.droppers.append(lambda names: heard.set() if "hello" in names else None)
    async with asyncio.timeout(10):
        while not heard.is_set():
            await one.write(lambda tx: tx.invalidate("hello"))
