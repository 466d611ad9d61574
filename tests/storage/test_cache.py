"""Caches of rows: never older than an answer already given."""

import asyncio
from functools import partial

import pytest

from storage.cache import Cache
from storage.store import Store
from storage.transaction import Tx, Unavailable
from tests.support.cached_rows import Clock, fetching, rename
from tests.support.databases import Opening
from tests.support.storage_orders import losing_answers, place


@pytest.fixture
async def store(store: Store) -> Store:
    """A store with a stopped clock, which believes cached rows until they are dropped."""
    store.now_seconds = Clock()
    return store


async def answered(value: str) -> str:
    return value


async def test_a_cached_row_is_read_once(store: Store) -> None:
    placed = await store.write(partial(place, job_id="job_1"))
    fetch = fetching(store, Cache(store))
    assert [await fetch() for _ in range(5)] == [placed] * 5
    assert store.counters.looks == 1


async def test_a_cached_row_is_dropped_before_the_change_is_answered(store: Store) -> None:
    await store.write(partial(place, job_id="job_1"))
    fetch = fetching(store, Cache(store))
    for number in range(30):
        assert await fetch()
        changed = await store.write(partial(rename, job_id="job_1", title=f"title {number}"))
        assert await fetch() == changed


async def test_no_reader_beside_a_writer_sees_a_row_older_than_an_answer(store: Store) -> None:
    """Ten readers use the cache.

    A read that begins after an answered change sees at least that version.
    """
    await store.write(partial(place, job_id="job_1"))
    fetch = fetching(store, Cache(store))
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
    fetch = fetching(store, Cache(store))
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


async def test_what_a_failed_commit_would_have_changed_is_dropped(store: Store) -> None:
    """Its result is unknown, so the cached rows of the transaction are dropped."""
    await store.write(partial(place, job_id="job_1"))
    fetch = fetching(store, Cache(store))
    before = await fetch()
    with losing_answers(store), pytest.raises(Unavailable):
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
    cache = Cache[str](store)
    reading: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    fetching = asyncio.ensure_future(cache.fetch("a", lambda: reading))
    await asyncio.sleep(0)
    cache.invalidate(["a"])
    reading.set_result("old")
    assert await fetching == "old"
    assert cache.get("a") is None


async def test_of_two_reads_around_a_drop_only_the_later_is_kept(store: Store) -> None:
    cache = Cache[str](store)
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
    cache = Cache[str](store)

    async def fail() -> str:
        raise Unavailable("no")

    with pytest.raises(Unavailable):
        await cache.fetch("a", fail)
    assert (cache.get("a"), cache.filling) == (None, {})
    assert await cache.fetch("a", partial(answered, "well")) == cache.get("a") == "well"


async def test_a14_a_cache_holds_no_more_than_its_bound_and_drops_the_least_used(store: Store) -> None:
    cache = Cache[str](store, most=3)
    for name in ("a", "b", "c"):
        await cache.fetch(name, partial(answered, name))
    assert cache.get("a") == "a"
    await cache.fetch("d", partial(answered, "d"))
    assert list(cache.values) == ["c", "a", "d"]


def by_owner(store: Store, most: int = 20_000) -> Cache[str]:
    """Return a cache of texts whose first letter names their owner."""
    return Cache[str](store, most=most, owners="owner", owner_of=lambda value: value[0])


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
    store, clock = opening(sqlite_url), Clock()
    store.now_seconds = clock
    cache = Cache[str](store)
    await cache.fetch("a", partial(answered, "value"))
    clock.seconds += 1e6
    assert cache.get("a") == "value"
