"""Failures of the database, a transaction or the caller: fast errors, no lost acknowledged write, and full recovery."""

import asyncio
import socket
import time
from functools import partial

import psycopg
import pytest
from psycopg import errors
from sqlalchemy import func, select, text

from storage.database import Database
from storage.postgres import Postgres
from storage.query import Query
from storage.sqlite import WRITER
from storage.store import Store
from storage.tables import JobRow
from storage.transaction import LockTimeout, Overloaded, TooSlow, Tx, Unavailable
from tests.support.databases import Opening, PostgresDatabase, SQLiteTemplate
from tests.support.storage_orders import (
    add_one,
    all_jobs,
    count_jobs,
    count_threads,
    events,
    job_ids,
    kinds,
    losing_answers,
    place,
    the_job,
)

endless = text(
    "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000000) SELECT i FROM n) AS numbers"
)
count_for_ever: Query[int] = Query(select(func.count()).select_from(endless))
unknown_column = Query(select(text("no_such_column")).select_from(JobRow.__table__))


async def test_too_much_waiting_is_refused_at_once(store: Store) -> None:
    store.most_waiting = 10
    answers = await asyncio.gather(*(store.write(place) for _ in range(50)), return_exceptions=True)
    assert kinds(answers) == {JobRow: 10, Overloaded: 40}
    assert store.waiting == 0
    assert await store.write(place)


async def test_a_slow_scan_is_stopped_at_its_deadline(store: Store) -> None:
    store.scan_seconds = 0.2
    began = time.monotonic()
    with pytest.raises(TooSlow):
        await store.scan(lambda tx: tx.all(count_for_ever))
    assert 0.2 <= time.monotonic() - began < 1.5
    assert await store.scan(lambda tx: tx.one(count_jobs)) == 0


async def test_a_scan_of_endlessly_many_statements_is_stopped_too(store: Store) -> None:
    store.scan_seconds = 0.2

    def read(tx: Tx) -> None:
        while True:
            tx.one(count_jobs)

    began = time.monotonic()
    with pytest.raises(TooSlow):
        await store.scan(read)
    assert 0.2 <= time.monotonic() - began < 1.5


async def test_the_deadline_of_one_scan_is_not_the_next_ones(store: Store) -> None:
    store.scan_seconds = 0.3
    for _ in range(8):
        assert await store.scan(lambda tx: [tx.one(count_jobs) for _ in range(20)]) == [0] * 20


async def test_a_slow_scan_keeps_nobody_from_looking(store: Store) -> None:
    store.scan_seconds = 0.5
    slow = asyncio.ensure_future(store.scan(lambda tx: tx.all(count_for_ever)))
    for _ in range(20):
        assert await store.read(lambda tx: tx.one(count_jobs)) == 0
    assert not slow.done()
    with pytest.raises(TooSlow):
        await slow


@pytest.mark.parametrize("way", ["read", "scan"])
async def test_a_reader_cannot_write(store: Store, way: str) -> None:
    with pytest.raises(Exception, match=r"read.?only"):
        await getattr(store, way)(place)
    assert await getattr(store, way)(lambda tx: tx.one(count_jobs)) == 0


@pytest.mark.parametrize("way", ["read", "scan", "write"])
async def test_what_a_unit_raises_reaches_its_caller_as_it_is(store: Store, way: str) -> None:
    def refuse(tx: Tx) -> None:
        tx.one(count_jobs)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await getattr(store, way)(refuse)
    assert await getattr(store, way)(lambda tx: tx.one(count_jobs)) == 0


@pytest.mark.parametrize("way", ["read", "scan", "write"])
async def test_a_wrong_statement_is_a_fault_of_ours_and_not_an_outage(store: Store, way: str) -> None:
    with pytest.raises(Exception, match="no_such_column") as caught:
        await getattr(store, way)(lambda tx: tx.all(unknown_column))
    assert not isinstance(caught.value, Unavailable)
    assert await getattr(store, way)(lambda tx: tx.one(count_jobs)) == 0


async def test_a_stray_stop_iteration_leaves_nobody_unanswered(store: Store) -> None:
    def stray(tx: Tx) -> JobRow:
        return next(iter(tx.all(all_jobs)[:0]))  # another writer may have placed the job already

    answers = await asyncio.wait_for(asyncio.gather(store.write(stray), store.write(place), return_exceptions=True), 5)
    assert kinds(answers) == {RuntimeError: 1, JobRow: 1}
    with pytest.raises(RuntimeError, match="StopIteration"):
        await store.scan(lambda tx: next(iter(())))


async def test_a_lost_connection_holds_nothing_though_its_error_is_still_held(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The traceback of an error refers to the connection's last statement.

    So code that keeps the error also keeps the statement.
    """

    def fail(database: Database, tx: Tx) -> None:
        tx.add(tx.all(all_jobs)[0])

    with monkeypatch.context() as patch:
        patch.setattr(type(store.database), "finish", fail)
        with pytest.raises(Unavailable) as held:
            await store.write(place)
    assert await asyncio.wait_for(store.write(place), 3)
    assert held.value.__cause__ is not None


async def test_a_failing_commit_fails_its_whole_batch_and_keeps_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(database: Database, tx: Tx) -> None:
        raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr(type(store.database), "finish", fail)
        answers = await asyncio.gather(*(store.write(place) for _ in range(20)), return_exceptions=True)
    assert kinds(answers) == {Unavailable: 20}
    assert (await job_ids(store), await events(store)) == (set(), [])
    placed = await store.write(place)
    assert await job_ids(store) == {placed.id}


async def test_after_a_commit_whose_answer_was_lost_the_rows_are_there_whole(store: Store) -> None:
    def lose(when: str, names: object) -> None:
        if when == "after":
            raise ConnectionError("the answer to COMMIT was lost")

    store.fault_hook = lose
    with pytest.raises(Unavailable, match="lost"):
        await store.write(partial(place, job_id="job_1"), "order")
    store.fault_hook = None
    assert await job_ids(store) == {"job_1"}
    assert (await store.read(lambda tx: tx.one(count_threads)), len(await events(store))) == (1, 2)


async def test_the_fault_points_name_the_units_of_each_commit(store: Store) -> None:
    seen: list[tuple[str, list[str]]] = []
    store.fault_hook = lambda when, names: seen.append((when, list(names)))
    await store.write(place, "order")
    assert seen == [("before", ["order"]), ("after", ["order"])]


async def test_a_closed_store_refuses_and_never_leaves_a_caller_waiting(store: Store) -> None:
    placed = asyncio.ensure_future(store.write(place))
    await asyncio.sleep(0)
    store.close()
    assert isinstance(await placed, JobRow), "what was asked before is done"
    for way in (store.read, store.scan, store.write):
        with pytest.raises(Unavailable, match="closed"):
            await way(lambda tx: tx.one(count_jobs))


async def test_o1_a_store_whose_writer_died_is_not_alive(store: Store) -> None:
    assert await store.write(place)
    assert store.alive
    writer = store.writers[0]
    writer.queue.put(None)
    for worker in store.writers:
        worker.join()
    assert not store.alive


async def test_a_full_disk_loses_its_batch_and_nothing_acknowledged(
    sqlite_url: str, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = SQLiteTemplate.pages(sqlite_url)
    monkeypatch.setattr("storage.sqlite.WRITER", f"{WRITER} PRAGMA max_page_count = {pages + 60};")
    store = opening(sqlite_url)
    answers: list[object] = []
    while len(kinds(answers)) < 2 or not all(isinstance(answer, Unavailable) for answer in answers[-8:]):
        calls = [store.write(partial(place, document="x" * 4_000)) for _ in range(4)]
        answers += await asyncio.gather(*calls, return_exceptions=True)
    assert set(kinds(answers)) == {JobRow, Unavailable}
    kept = {answer.id for answer in answers if isinstance(answer, JobRow)}
    assert await job_ids(store) == kept
    assert (await store.read(lambda tx: tx.one(count_threads)), len(await events(store))) == (len(kept), 2 * len(kept))
    monkeypatch.undo()
    after = await store.write(place)
    assert await job_ids(store) == kept | {after.id}


async def test_a_commit_that_the_disk_refuses_fails_its_batch(sqlite_url: str, opening: Opening) -> None:
    """The disk becomes full when the events of a batch are written, which is last."""
    store = opening(sqlite_url)

    def shout(tx: Tx) -> None:
        place(tx, "job_1")
        tx.cursor.execute("PRAGMA max_page_count = 1")  # SQLite sets it to the current number of pages
        tx.emit("agt_1", "test", "long", "x" * 100_000, the_time)

    the_time = (await store.write(partial(place, job_id="job_0"))).created_at
    with pytest.raises(Unavailable, match="full"):
        await store.write(shout)
    assert (await job_ids(store), len(await events(store))) == ({"job_0"}, 2)
    await store.write(partial(place, job_id="job_2"))
    assert await job_ids(store) == {"job_0", "job_2"}


async def test_events_of_a_commit_whose_answer_is_lost_wake_what_waits(store: Store) -> None:
    """The COMMIT took effect, although its caller is refused, and no later one tells of it."""
    woken = asyncio.Event()
    store.listeners.append(lambda told: woken.set() if told & {"agt_buyer", "*"} else None)

    with losing_answers(store), pytest.raises(Unavailable):
        await store.write(place)
    await asyncio.wait_for(woken.wait(), 5)


async def test_a_commit_that_rolled_back_quietly_is_no_commit(
    postgres_url: str, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL answers COMMIT of a failed transaction with ROLLBACK, without an error."""
    store, finish = opening(postgres_url), Postgres.finish

    def break_first(database: Postgres, tx: Tx) -> None:
        with pytest.raises(psycopg.errors.DivisionByZero):
            tx.cursor.execute("SELECT 1 / 0")
        tx.events.clear()
        tx.daily.clear()
        finish(database, tx)

    with monkeypatch.context() as patch:
        patch.setattr(Postgres, "finish", break_first)
        with pytest.raises(Unavailable, match="ROLLBACK"):
            await store.write(place)
    placed = await store.write(place)
    assert await job_ids(store) == {placed.id}


async def test_connections_cut_while_idle_are_replaced_unnoticed(
    postgres_url: str, opening: Opening, postgres_database: PostgresDatabase
) -> None:
    store = opening(postgres_url)
    await asyncio.gather(
        *(store.write(place) for _ in range(50)), *(store.read(lambda tx: tx.all(all_jobs)) for _ in range(8))
    )
    assert postgres_database.server.disconnect_all(postgres_database.name) >= 2
    answers = await asyncio.gather(*(store.write(place) for _ in range(50)), return_exceptions=True)
    assert kinds(answers) == {JobRow: 50}
    counts = await asyncio.gather(*(store.read(lambda tx: tx.one(count_jobs)) for _ in range(20)))
    assert counts == [100] * 20


async def test_connections_cut_at_work_fail_their_batch_once(
    postgres_url: str, opening: Opening, postgres_database: PostgresDatabase
) -> None:
    store = opening(postgres_url)
    acknowledged: set[str] = set()
    refused: list[BaseException] = []

    async def call() -> None:
        for _ in range(60):
            try:
                acknowledged.add((await store.write(place)).id)
            except Unavailable as error:
                refused.append(error)

    async def cut() -> None:
        for _ in range(3):
            await asyncio.to_thread(postgres_database.server.disconnect_all, postgres_database.name)

    await asyncio.gather(*(call() for _ in range(8)), cut())
    assert len(acknowledged) + len(refused) == 480
    assert acknowledged <= await job_ids(store)
    assert await store.read(lambda tx: tx.one(count_jobs)) == await store.read(lambda tx: tx.one(count_threads))
    assert store.alive
    assert await store.write(place)


async def test_a_server_that_never_answers_is_an_outage_within_seconds(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.postgres.CONNECT_SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = opening(f"postgresql://postgres@127.0.0.1:{silent.getsockname()[1]}/market")
        calls = [way(lambda tx: tx.one(count_jobs)) for way in (store.read, store.scan, store.write)]
        answers = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 10)
    assert kinds(answers) == {Unavailable: 3}


async def test_a_row_held_by_a_stranger_for_too_long_is_refused_and_the_rest_goes_on(
    postgres_url: str, opening: Opening
) -> None:
    store = opening(postgres_url)
    store.database.patience_seconds = 0.3
    for job_id in ("job_1", "job_2"):
        await store.write(partial(place, job_id=job_id))
    with psycopg.connect(postgres_url) as stranger:
        stranger.execute("SELECT 1 FROM jobs WHERE id = 'job_1' FOR UPDATE")
        calls = [store.write(partial(add_one, job_id=f"job_{1 + n % 2}")) for n in range(8)]
        began = time.monotonic()
        answers = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 10)
    assert time.monotonic() - began < 1.2, "they wait together, not one after the other"
    assert kinds(answers[0::2]) == {LockTimeout: 4}
    assert kinds(answers[1::2]) == {type(None): 4}
    await store.write(partial(add_one, job_id="job_1"))
    assert ((await the_job(store, "job_1")).units, (await the_job(store, "job_2")).units) == (2, 5)


async def test_a_row_held_by_a_stranger_for_a_moment_is_waited_for(postgres_url: str, opening: Opening) -> None:
    store = opening(postgres_url)
    await store.write(partial(place, job_id="job_1"))
    with psycopg.connect(postgres_url) as stranger:
        stranger.execute("SELECT 1 FROM jobs WHERE id = 'job_1' FOR UPDATE")
        held = asyncio.ensure_future(store.write(partial(add_one, job_id="job_1")))
        assert await store.write(place)
        assert not held.done()
    await asyncio.wait_for(held, 5)
    assert (await the_job(store, "job_1")).units == 2


async def test_an_idle_reader_keeps_no_old_rows_from_being_cleaned_up(postgres_url: str, opening: Opening) -> None:
    """It waits in a transaction that has begun but has no snapshot yet."""
    store = opening(postgres_url)
    await asyncio.gather(*(store.read(lambda tx: tx.all(all_jobs)) for _ in range(8)))
    with psycopg.connect(postgres_url) as admin:
        holding = "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_xmin IS NOT NULL AND datname = 'market'"
        for _ in range(50):  # a reader ends its transaction after the answer
            if admin.execute(holding).fetchone() == (0,):
                break
            admin.rollback()
        assert admin.execute(holding).fetchone() == (0,)


@pytest.mark.parametrize(
    "trouble", [errors.DiskFull, errors.ReadOnlySqlTransaction, errors.AdminShutdown, errors.CannotConnectNow]
)
def test_what_ails_postgresql_is_an_outage_and_no_fault_of_the_unit(trouble: type[psycopg.Error]) -> None:
    verdict = Postgres("postgresql://nobody@/nowhere").classify_error(trouble("not now"))
    assert (type(verdict), str(verdict)) == (Unavailable, "not now")
