"""Processes that are killed or share a database: no acknowledged write is lost, and no write is partial."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.daily_counts import totals
from storage.store import Store
from storage.transaction import Tx, Unavailable
from storage.vocabulary import Counted
from tests.support.databases import Opening, PostgresDatabase, PostgresServer
from tests.support.storage_orders import all_jobs, count_threads, events, events_since, job_ids, place

FOR_EVER = 10**9


async def writing(url: str, orders: int, *end: str) -> Process:
    command = (sys.executable, "-m", "tests.support.writing_process", url, str(orders), *end)
    return await asyncio.create_subprocess_exec(*command, cwd=Path(__file__).parents[2], stdout=PIPE)


async def acknowledged(process: Process, least: int = 0) -> set[str]:
    """Return the ids that the process printed.

    Kills it after `least` of them, or waits for its end.
    """
    assert process.stdout
    lines = [await process.stdout.readline() for _ in range(least)]
    if least:
        process.kill()
    lines += (await process.stdout.read()).splitlines()
    await process.wait()
    return {line.decode().strip() for line in lines}


def what_stands(tx: Tx) -> tuple[set[str], int | None, int, list[int]]:
    """Return the ids of jobs, the number of threads, the count of their day, the ids of events.

    All are from one snapshot.
    """
    jobs = {found.id for found in tx.all(all_jobs)}
    counted = dict(tx.all(totals, env="test", names=[Counted.CREATED])).get(Counted.CREATED, 0)
    return jobs, tx.one(count_threads), counted, [event.id for event in tx.all(events_since, since=0)]


async def whole_orders(store: Store) -> set[str]:
    """Return the ids of all jobs.

    Each must have its thread, its count and two events, numbered without a gap.
    """
    found = await store.scan(what_stands)
    while (
        again := await store.scan(what_stands)
    ) != found:  # the server may still process the last order of a killed process
        found = again
    jobs, threads, counted, event_ids = found
    assert (threads, counted, event_ids) == (len(jobs), len(jobs), list(range(1, 2 * len(jobs) + 1)))
    return jobs


async def test_a_killed_process_loses_no_acknowledged_write(database_url: str, opening: Opening) -> None:
    process = await writing(database_url, FOR_EVER)
    kept = await acknowledged(process, least=400)
    assert process.returncode == -9
    assert len(kept) >= 400
    store = opening(database_url)
    assert kept <= await whole_orders(store)
    assert await store.write(place)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_process_that_ends_around_a_commit_leaves_whole_orders(
    database_url: str, opening: Opening, when: str
) -> None:
    process = await writing(database_url, FOR_EVER, when, "4")
    kept = await acknowledged(process)
    assert process.returncode == 9
    store = opening(database_url)
    found = await whole_orders(store)
    assert kept <= found
    assert kept
    assert when == "before" or len(found) > len(kept), "what was committed last is there, though nobody was told"
    assert await store.write(place)


async def test_o5_two_processes_number_their_events_in_the_order_they_commit(
    postgres_url: str, opening: Opening
) -> None:
    store = opening(postgres_url)
    woken, seen = asyncio.Event(), list[int]()
    store.listeners.append(lambda told: woken.set())
    processes = [await writing(postgres_url, 300) for _ in range(2)]
    outputs = [asyncio.ensure_future(acknowledged(process)) for process in processes]
    async with asyncio.timeout(60):
        while len(seen) < 1200:
            await woken.wait()
            woken.clear()
            seen += [event.id for event in await events(store, since=seen[-1] if seen else 0)]
        kept = [await output for output in outputs]
    assert seen == list(range(1, 1201)), "an event that came late, or never, would be missing"
    assert [process.returncode for process in processes] == [0, 0]
    assert await whole_orders(store) == kept[0] | kept[1]


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server for these tests only, because they kill it."""
    server = PostgresServer()
    yield server
    server.stop()


async def test_a_killed_postgres_loses_no_acknowledged_write_and_the_store_recovers_with_it(
    own_server: PostgresServer, opening: Opening
) -> None:
    store = opening(PostgresDatabase(own_server).url)
    kept: set[str] = set()

    async def call(enough: asyncio.Event, many: int) -> None:
        while True:
            try:
                kept.add((await store.write(place)).id)
            except Unavailable:
                return
            if len(kept) > many:
                enough.set()

    for _ in range(2):
        enough = asyncio.Event()
        calls = [asyncio.ensure_future(call(enough, len(kept) + 100)) for _ in range(16)]
        await enough.wait()
        own_server.kill()
        await asyncio.wait_for(asyncio.gather(*calls), 10)
        with pytest.raises(Unavailable):
            await store.read(lambda tx: tx.all(all_jobs))
        own_server.start()
        assert kept <= await job_ids(store)
        kept.add((await store.write(place)).id)
    assert store.alive
    jobs, threads, counted, event_ids = await store.scan(what_stands)
    assert (kept <= jobs, threads, counted, len(event_ids)) == (True, len(jobs), len(jobs), 2 * len(jobs))
    assert event_ids == sorted(set(event_ids))
