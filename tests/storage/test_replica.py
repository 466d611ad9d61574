"""Reads from a real streaming replica: within the bound it answers; a caller sees its own writes; else the primary."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from functools import partial

import psycopg
import pytest
from structlog.testing import capture_logs

from storage.cache import Cache
from storage.open import open_database, serve
from storage.replica import NO_REPLICA, Position, Positions, check_replica, includes
from storage.store import Store
from storage.tables import JobRow
from storage.transaction import TooSlow, Unavailable
from tests.support.cached_rows import fetching, rename
from tests.support.databases import PostgresDatabase, PostgresServer, close, suspended_server
from tests.support.replica import LAG, Following, Replica, look, until
from tests.support.storage_orders import count_jobs, place

BUYER, SELLER = "agt_buyer", "agt_seller"  # the parties of each placed order
STRANGER = "agt_stranger"


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.postgres.PING_SECONDS", 0.01)
    monkeypatch.setattr("storage.replica.WATCH_SECONDS", 0.05)


@pytest.fixture
async def following(
    postgres_url: str, replica: Replica, postgres_database: PostgresDatabase
) -> AsyncIterator[Following]:
    made = Following(postgres_url, replica.url(postgres_database.name))
    await made.follows()
    yield made
    await close(made.store)


@pytest.fixture
async def other(postgres_url: str, replica: Replica, postgres_database: PostgresDatabase) -> AsyncIterator[Following]:
    """Another process."""
    made = Following(postgres_url, replica.url(postgres_database.name))
    await made.follows()
    yield made
    await close(made.store)


async def test_the_replica_answers_reads_and_scans_that_may_lag_and_no_others(following: Following) -> None:
    store = following.store
    await store.write(place)
    await following.follows(BUYER)
    assert await following.seen() == (True, 1)
    assert await store.lagging(None).scan(look) == (True, 1)
    assert await store.read(look) == (False, 1)
    assert await store.scan(look) == (False, 1)
    looks = store.counters.looks
    answered = store.counters.replica_reads
    await following.seen()
    assert (store.counters.looks, store.counters.replica_reads) == (looks, answered + 1)


async def test_each_read_leaves_its_statements_on_the_replica(following: Following, replica: Replica) -> None:
    """The four sessions of the readers are the only ones of the database there."""
    await asyncio.gather(*(following.seen() for _ in range(20)))
    with psycopg.connect(replica.url()) as admin:
        sessions = admin.execute(
            "SELECT state, query FROM pg_stat_activity WHERE datname = 'market' AND backend_type = 'client backend'"
        ).fetchall()
    assert 1 <= len(sessions) <= following.store.replica.readers
    assert set(sessions) == {("idle in transaction", "ROLLBACK AND CHAIN")}


async def test_an_idle_primary_makes_no_replica_old(following: Following, replica: Replica) -> None:
    for _ in range(3):
        following.clock.by += 3_600
        await following.follows()
    with replica.paused():
        following.clock.by += 3_600
        await following.follows(STRANGER)


async def test_a_replica_that_stopped_to_replay_answers_nothing_older_than_the_bound(
    following: Following, replica: Replica
) -> None:
    with replica.paused(), capture_logs() as logged:
        await following.store.write(place)
        assert await following.seen() == (True, 0), "the primary's newest state would prove nothing"
        following.clock.by += LAG
        assert await following.seen() == (False, 1)
        await until(lambda: following.is_in_state("behind"))
        assert await following.seen(STRANGER) == (False, 1)
    await following.follows()
    assert await following.seen() == (True, 1)
    states = [(line["state"], line["log_level"]) for line in logged if line["event"] == "replica"]
    assert ("behind", "warning") in states


async def test_an_agent_sees_what_it_wrote_while_nothing_is_replayed(following: Following, replica: Replica) -> None:
    with replica.paused():
        await following.store.write(lambda tx: tx.note_writer(STRANGER) or place(tx))
        assert await following.seen(STRANGER) == (False, 1)
        assert await following.seen("agt_another") == (True, 0)
    await following.follows(STRANGER)


async def test_an_agent_sees_what_it_was_notified_of(following: Following, replica: Replica) -> None:
    with replica.paused():
        await following.store.write(place)
        for party in (BUYER, SELLER):
            assert await following.seen(party) == (False, 1)
    await following.follows(BUYER)
    assert await following.seen(SELLER) == (True, 1)


async def test_an_agent_sees_what_it_wrote_through_another_process(
    following: Following, other: Following, replica: Replica
) -> None:
    with replica.paused():
        await other.store.write(lambda tx: tx.note_writer(STRANGER) or place(tx))
        began = following.store.now_seconds()
        while following.store.proven_at < began:  # noqa: ASYNC110 - the listener has no event for a ping
            await asyncio.sleep(0.01)
        assert await following.seen(STRANGER) == (False, 1)
        assert await following.seen(BUYER) == (False, 1)
        assert await following.seen("agt_another") == (True, 0)


async def test_a_process_that_does_not_hear_of_writes_asks_the_primary(following: Following) -> None:
    store = following.store
    store.hearing.cancel()
    await asyncio.wait([store.hearing])
    following.clock.by += 1.01
    assert not await following.answers_from_replica(STRANGER)
    assert await following.answers_from_replica()
    following.clock.by += LAG
    assert not await following.answers_from_replica()


async def test_after_a_reconnect_every_write_may_have_been_missed(
    following: Following, replica: Replica, postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.postgres.RECONNECT_SECONDS", 0.01)
    since = following.store.listening_since
    with replica.paused():
        postgres_database.server.disconnect_all(postgres_database.name)
        writing = serve(open_database(postgres_database.url))
        await writing.write(lambda tx: tx.note_writer(STRANGER) or place(tx))
        while following.store.listening_since == since:  # noqa: ASYNC110 - the listener has no event for it
            await asyncio.sleep(0.01)
        assert await following.seen(STRANGER) == (False, 1)
        await close(writing)
    await following.follows(STRANGER)


async def test_a_row_that_the_replica_lacks_is_read_from_the_primary(following: Following, replica: Replica) -> None:
    with replica.paused():
        await following.store.write(partial(place, job_id="job_1"))
        title = await following.store.lagging(STRANGER).read(lambda tx: tx.need(JobRow, "job_1").title)
    assert title == "Translate"


async def test_no_cache_is_filled_from_the_replica(following: Following, replica: Replica) -> None:
    store = following.store
    await store.write(partial(place, job_id="job_1"))
    fetch = fetching(store, Cache[JobRow](store))
    await fetch()
    with replica.paused():
        changed = await store.write(partial(rename, job_id="job_1", title="changed"))
        assert await fetch() == changed
    assert await fetch() == changed


async def test_answers_go_on_without_the_replica_and_it_is_used_when_it_is_back(
    following: Following, replica: Replica
) -> None:
    await following.store.write(place)
    replica.kill()
    try:
        assert await asyncio.gather(*(following.seen() for _ in range(20))) == [(False, 1)] * 20
        await until(lambda: following.is_in_state("unreachable"))
        asked = following.store.counters.replica_misses
        assert await following.seen() == (False, 1)
        assert following.store.counters.replica_misses == asked + 1
    finally:
        replica.start()
    await following.follows()
    assert await following.seen() == (True, 1)


async def test_a_store_starts_without_its_replica(
    postgres_url: str, replica: Replica, postgres_database: PostgresDatabase
) -> None:
    replica.kill()
    try:
        made = Following(postgres_url, replica.url(postgres_database.name))
        await until(lambda: made.is_in_state("unreachable"))
        assert await made.seen() == (False, 0)
    finally:
        replica.start()
    await made.follows()
    await close(made.store)


async def test_a_replica_that_hangs_delays_the_reads_that_met_it_and_no_others(
    postgres_url: str, replica: Replica, postgres_database: PostgresDatabase
) -> None:
    made = Following(postgres_url, replica.url(postgres_database.name), scan_seconds=0.2)
    await made.follows()
    with suspended_server(replica):
        assert await asyncio.gather(*(made.seen() for _ in range(8))) == [(False, 0)] * 8
        assert made.store.replica_state == "unreachable"
        waiting = made.store.waiting
        assert await made.seen() == (False, 0)
        assert made.store.waiting <= waiting
    await made.follows()
    assert made.store.alive
    await close(made.store)


async def test_a_store_closes_though_its_replica_hangs(
    postgres_url: str, replica: Replica, postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.replica.LEAVE_SECONDS", 0.05)
    made = Following(postgres_url, replica.url(postgres_database.name), scan_seconds=0.2)
    await made.follows()
    with suspended_server(replica):
        await made.seen()
        await close(made.store)
        with pytest.raises(Unavailable):
            await made.seen()


async def test_a_store_that_closes_before_its_replica_answered_loses_no_error(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def refuse(_: object, __: object) -> None:
        asked.set()
        may_answer.wait()
        raise Unavailable(NO_REPLICA)

    monkeypatch.setattr("storage.replica.Replica.replayed", refuse)
    lost: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: lost.append(context["message"]))
    made = Following(postgres_url, postgres_url)
    await asyncio.to_thread(asked.wait)
    may_answer.set()
    made.store.close()
    await asyncio.sleep(0.01)
    del made
    gc.collect()
    assert lost == []


async def test_a_read_that_is_too_slow_for_the_replica_is_not_repeated(
    postgres_url: str, replica: Replica, postgres_database: PostgresDatabase
) -> None:
    made = Following(postgres_url, replica.url(postgres_database.name), scan_seconds=0.3)
    await made.follows()
    misses = made.store.counters.replica_misses
    with pytest.raises(TooSlow):
        await made.store.lagging(None).scan(lambda tx: tx.cursor.execute("SELECT pg_sleep(10)"))
    assert made.store.counters.replica_misses == misses
    await close(made.store)


async def test_a_session_cut_by_the_replica_is_replaced_unnoticed(
    following: Following, replica: Replica, postgres_database: PostgresDatabase
) -> None:
    for _ in range(3):
        assert replica.disconnect_all(postgres_database.name)
        assert (await following.seen())[1] == 0, "the replica answers on another session, or the primary"
        await following.follows()


@pytest.mark.parametrize("where", ["the primary itself", "another server"])
async def test_a_server_that_is_no_replica_of_the_database_answers_nothing(postgres_url: str, where: str) -> None:
    server = PostgresServer() if where == "another server" else None
    try:
        address = server.create("market") if server else postgres_url
        with capture_logs() as logged:
            made = Following(postgres_url, address)
            await until(lambda: made.is_in_state("unreachable"))
        assert not await made.answers_from_replica()
        assert "is not a replica" in next(line["why"] for line in logged if line["event"] == "replica")
        await close(made.store)
    finally:
        if server:
            server.stop()


@pytest.mark.parametrize("question", ["PRIMARY", "REPLAYED"])
async def test_a_server_that_does_not_tell_its_position_is_not_used(
    postgres_url: str,
    replica: Replica,
    postgres_database: PostgresDatabase,
    question: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Aurora refuses such questions. The caches and the market work without the answer."""
    monkeypatch.setattr(f"storage.replica.{question}", "SELECT no_such_function()")
    made = Following(postgres_url, replica.url(postgres_database.name))
    await until(lambda: made.is_in_state("not comparable" if question == "PRIMARY" else "unreachable"))
    await until(made.proves)
    assert await made.seen() == (False, 0)
    assert made.store.alive
    await close(made.store)


async def test_a_promoted_replica_answers_nothing_that_the_primary_wrote_later(
    postgres_url: str, postgres: PostgresServer, postgres_database: PostgresDatabase
) -> None:
    replica = Replica(postgres)
    try:
        made = Following(postgres_url, replica.url(postgres_database.name))
        await made.follows()
        replica.promote()
        await made.store.write(place)
        following_state = partial(made.is_in_state, "unreachable")
        await until(following_state)
        assert await made.seen() == (False, 1)
        await close(made.store)
    finally:
        replica.stop()


async def test_a_read_that_may_lag_cannot_write(following: Following) -> None:
    with pytest.raises(Unavailable, match="read-only"):
        await following.store.lagging(None).read(lambda tx: tx.cursor.execute("DELETE FROM jobs"))


async def test_no_session_of_the_replica_listens_or_locks(following: Following, replica: Replica) -> None:
    await following.store.write(place)
    await following.follows(BUYER)
    with psycopg.connect(replica.url()) as admin:
        assert admin.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone() == (0,)
        assert admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query LIKE '%stale_numbers%'"
            " AND pid <> pg_backend_pid()"
        ).fetchone() == (0,)


def test_a_position_counts_only_if_it_was_asked_for_after_the_write() -> None:
    positions = Positions(LAG)
    before, after = Position(10, "a"), Position(20, "a")
    positions.keep(100.0, before)
    positions.change([BUYER], 100.0)
    assert positions.needed(BUYER, 100.1) is None
    assert positions.needed(STRANGER, 100.1) == before
    positions.keep(100.4, after)
    assert positions.needed(BUYER, 100.5) == after
    assert positions.needed(STRANGER, 100.5) == before
    assert positions.needed(None, 105.0 + 0.2) == after
    assert positions.needed(None, 105.5) is None


def test_what_is_older_than_the_bound_is_forgotten() -> None:
    positions = Positions(LAG)
    for second in range(1_000):
        positions.keep(float(second), Position(second, "a"))
        positions.change([f"agt_{second}"], float(second))
    assert len(positions.taken) == len(positions.changed) == LAG + 1


@pytest.mark.parametrize(
    ("replayed", "is_included"),
    [(None, False), (Position(9, "a"), False), (Position(10, "a"), True), (Position(11, "b"), False)],
)
def test_a_replica_shows_a_position_of_the_same_database_and_timeline(
    replayed: Position | None, is_included: bool
) -> None:
    assert includes(replayed, Position(10, "a")) is is_included


async def test_without_a_replica_the_newest_state_answers(store: Store) -> None:
    await store.write(place)
    assert await store.lagging(BUYER).read(lambda tx: tx.one(count_jobs)) == 1
    assert not store.has_replica


async def test_the_doctor_names_an_address_that_is_no_replica(
    following: Following, postgres_url: str, replica: Replica, postgres_database: PostgresDatabase
) -> None:
    check_replica(postgres_url, replica.url(postgres_database.name))
    for wrong, why in (
        (postgres_url, "is not a replica"),
        (replica.url(), "is not a replica"),  # another database of the same server
        ("postgresql://127.0.0.1:9/market", "connection"),
    ):
        with pytest.raises(Unavailable, match=why):
            check_replica(postgres_url, wrong)
