"""The listener of PostgreSQL: while it is proven, cached rows cost no read; otherwise none is older than a second."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg
import pytest

import storage.postgres
from storage.cache import Cache
from storage.postgres import BELIEVED_SECONDS, LAST_STALE, PostgresStore
from storage.store import Store
from storage.tables import JobRow
from tests.support.cached_rows import Clock, Fetch, fetching, rename
from tests.support.databases import Opening, PostgresDatabase, PostgresServer, suspended, suspended_server
from tests.support.storage_orders import place

LISTENERS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = %s"
LOSE = "SELECT nextval('stale_numbers'), %s"  # numbers a notification and sends none
PAST = BELIEVED_SECONDS + 0.001


class Watched:
    """A store whose clock a test moves, and a cache of it; another store changes the rows."""

    def __init__(self, opening: Opening, url: str) -> None:
        store = opening(url)
        assert isinstance(store, PostgresStore)
        self.store, self.clock, self.url = store, Clock(), url
        store.now_seconds = self.clock
        self.cache = Cache[JobRow](store)
        self.fetch: Fetch = fetching(store, self.cache)

    async def proven(self) -> None:
        """Wait until a ping that is sent after this call was answered, and nothing is missing."""
        self.clock.seconds += 0.001
        await until(lambda: self.store.proven_at == self.clock.seconds)

    async def is_cached(self) -> bool:
        looks = self.store.counters.looks
        await self.fetch()
        return self.store.counters.looks == looks

    def listener(self) -> int:
        """Return the server's process for the listening connection, the only one of the database."""
        with psycopg.connect(self.url) as admin:
            ((pid,),) = admin.execute(LISTENERS, [LAST_STALE]).fetchall()
        return int(pid)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_so():  # noqa: ASYNC110 - the listener has no event for a ping
            await asyncio.sleep(0.005)


async def change(store: Store, title: str = "changed") -> JobRow:
    return await store.write(partial(rename, job_id="job_1", title=title))


@pytest.fixture
def pings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The answers to the pings of all stores: the last number of each."""
    answers: list[int] = []
    asked = storage.postgres._last_stale

    async def recorded(connection: psycopg.AsyncConnection) -> int:
        answers.append(await asked(connection))
        return answers[-1]

    monkeypatch.setattr("storage.postgres._last_stale", recorded)
    monkeypatch.setattr("storage.postgres.PING_SECONDS", 0.01)
    monkeypatch.setattr("storage.postgres.RECONNECT_SECONDS", 0.01)
    return answers


@pytest.fixture
async def watched(postgres_url: str, opening: Opening, pings: list[int]) -> Watched:
    """A store that is proven and has cached job_1."""
    other = Watched(opening, postgres_url)
    await other.store.write(partial(place, job_id="job_1"))
    await other.proven()
    other.clock.seconds += PAST
    await other.fetch()
    return other


async def test_a_row_is_believed_as_long_as_pings_are_answered(watched: Watched) -> None:
    for _ in range(3):
        watched.clock.seconds += 3_600
        await watched.proven()
        assert await watched.is_cached()


async def test_a_change_in_one_process_is_dropped_in_another(watched: Watched, opening: Opening) -> None:
    one = opening(watched.url)
    for number in range(10):
        changed = await change(one, f"title {number}")
        await watched.proven()
        assert not await watched.is_cached()
        assert await watched.fetch() == changed
        assert await watched.is_cached()


async def test_without_a_listener_a_row_is_believed_for_a_second_from_before_it_was_read(
    postgres_url: str, opening: Opening
) -> None:
    other = Watched(opening, postgres_url)
    other.store.hearing.cancel()
    await asyncio.wait([other.store.hearing])
    cache = Cache[str](other.store)

    async def slowly() -> str:
        other.clock.seconds += 0.75
        return "value"

    await cache.fetch("a", slowly)
    other.clock.seconds += 0.25
    assert cache.get("a") == "value"
    other.clock.seconds += 0.01
    assert cache.get("a") is None


async def test_a_killed_listener_shows_no_row_older_than_a_second(
    watched: Watched, opening: Opening, postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.postgres.RECONNECT_SECONDS", 3_600)
    await watched.proven()
    assert postgres_database.server.disconnect_all(postgres_database.name)
    before, changed = await watched.fetch(), await change(opening(watched.url))
    watched.clock.seconds += BELIEVED_SECONDS - 0.001
    assert await watched.fetch() == before
    watched.clock.seconds += 0.002
    assert await watched.fetch() == changed
    assert await watched.is_cached(), "a row that was read meanwhile is believed for a second too"
    watched.clock.seconds += PAST
    assert not await watched.is_cached()


async def test_after_a_reconnect_no_row_is_believed_that_was_read_before(
    watched: Watched, opening: Opening, postgres_database: PostgresDatabase
) -> None:
    """One row is cached, and the read of another ends after the reconnect."""
    one, since = opening(watched.url), watched.store.listening_since
    reading: asyncio.Future[JobRow] = asyncio.get_running_loop().create_future()
    pending = asyncio.ensure_future(watched.cache.fetch("job_2", lambda: reading))
    old = await watched.fetch()
    assert old
    watched.clock.seconds += 0.5
    postgres_database.server.disconnect_all(postgres_database.name)
    changed = await change(one)
    await until(lambda: watched.store.listening_since > since)
    reading.set_result(old)
    assert await pending == old
    watched.clock.seconds += PAST
    await watched.proven()
    assert watched.cache.get("job_2") is None
    assert await watched.fetch() == changed
    watched.clock.seconds += PAST
    await watched.proven()
    assert await watched.is_cached(), "it was read after the reconnect"


async def test_a_listener_behind_a_paused_process_of_the_server_proves_nothing(
    watched: Watched, opening: Opening
) -> None:
    pid = watched.listener()
    one = opening(watched.url)
    await watched.proven()
    with suspended(pid):
        changed = await change(one)
        watched.clock.seconds += PAST
        assert await watched.fetch() == changed
        watched.clock.seconds += PAST
        assert not await watched.is_cached()
    await watched.proven()
    assert await watched.fetch() == changed


async def test_a_paused_server_delays_an_answer_and_gives_no_old_one(opening: Opening, pings: list[int]) -> None:
    server = PostgresServer()
    try:
        watched = Watched(opening, PostgresDatabase(server).url)
        await watched.store.write(partial(place, job_id="job_1"))
        await watched.proven()
        before = await watched.fetch()
        with suspended_server(server):
            watched.clock.seconds += BELIEVED_SECONDS
            assert await watched.fetch() == before
            watched.clock.seconds += 0.001
            asked = asyncio.ensure_future(watched.fetch())
            await asyncio.wait([asked], timeout=0.2)
            assert not asked.done()
        assert await asked == before
        await watched.proven()
        watched.store.close()
    finally:
        server.stop()


async def test_a_lost_notification_shows_no_row_older_than_a_second(
    watched: Watched, opening: Opening, pings: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = opening(watched.url)
    await watched.proven()
    with monkeypatch.context() as patch:
        patch.setattr("storage.postgres.STALE", LOSE)
        changed = await change(one)
    answered = len(pings)
    watched.clock.seconds += PAST
    await until(lambda: len(pings) > answered)
    await asyncio.sleep(0.05)  # a proof would follow at once
    assert await watched.fetch() == changed


async def test_a_store_that_lost_a_notification_listens_anew_and_believes_again(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.postgres.PROOF_SECONDS", 0.5)
    since = watched.store.listening_since
    with psycopg.connect(watched.url, autocommit=True) as admin:
        admin.execute(LOSE, [""])
    watched.clock.seconds += PAST
    await until(lambda: watched.store.listening_since > since)
    watched.clock.seconds += PAST
    await watched.proven()
    await watched.fetch()
    watched.clock.seconds += PAST
    await watched.proven()
    assert await watched.is_cached()


async def test_a_ping_proves_nothing_until_what_was_numbered_before_it_is_heard(
    watched: Watched, pings: list[int]
) -> None:
    """A number is assigned before its COMMIT, so a ping may be answered before the notification."""
    with psycopg.connect(watched.url) as late:
        found = late.execute("SELECT nextval('stale_numbers')").fetchone()
        assert found
        await until(lambda: bool(pings) and pings[-1] == found[0])
        proven_at = watched.store.proven_at  # an earlier ping may have been under way before
        watched.clock.seconds += 0.5
        await asyncio.sleep(0.05)
        assert watched.store.proven_at == proven_at
        late.execute("SELECT pg_notify('market', %s)", [f"stale {found[0]} job_1"])
    await watched.proven()
    assert watched.cache.get("job_1") is None


async def test_numbers_are_heard_in_any_order(watched: Watched) -> None:
    store = watched.store
    first = store.heard_up_to
    for number in (3, 1, 4, 2):
        store._heard(f"stale {first + number} name")
    assert (store.heard_up_to, store.heard_beyond) == (first + 4, set())


async def test_a_process_that_was_stopped_believes_no_row_when_it_continues(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped between a ping and its answer, so the answer is old when it is read."""
    await watched.proven()
    asked = storage.postgres._last_stale

    async def stopped(connection: psycopg.AsyncConnection) -> int:
        found = await asked(connection)
        watched.clock.seconds += 60
        monkeypatch.setattr("storage.postgres._last_stale", asked)
        return found

    began = watched.clock.seconds
    monkeypatch.setattr("storage.postgres._last_stale", stopped)
    await until(lambda: watched.clock.seconds == began + 60)
    assert watched.cache.get("job_1") is None


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
