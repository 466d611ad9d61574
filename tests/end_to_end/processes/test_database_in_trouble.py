"""A full, read-only or killed database under load: clear refusals, no lost acknowledged call, and full recovery.

The service is never restarted.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from functools import partial
from itertools import chain as joined
from typing import Any

import httpx
import pytest

from tests.end_to_end.faults.standing import half_states, standing
from tests.end_to_end.processes.listening import Listener, Listening, told
from tests.end_to_end.processes.load import CLIENTS, Shared, documented, refusal
from tests.end_to_end.processes.pair import Pair
from tests.end_to_end.processes.trouble import (
    MAX_FILE_BYTES,
    Place,
    Trouble,
    before_postgres,
    before_sqlite,
    killed,
    slow_commits,
)
from tests.support.databases import PostgresServer
from tests.support.market import Agent
from tests.support.protocols import wire
from tests.support.trade import OFFER

WIRES = ("rest", "mcp-modern", "a2a-rpc-1.0")
SECONDS = 120
LONG = "Do you also translate from Dutch? " * 500
MAX_GAPS = 20


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server for these tests only, because they damage it."""
    server = PostgresServer(most_file_bytes=MAX_FILE_BYTES)
    yield server
    server.stop()


@pytest.fixture
def pair(forged: Pair, own_server: PostgresServer) -> Iterator[Pair]:
    """Two processes with slow commits, so that faults of the database occur during a commit."""
    url = own_server.create("market")
    slow_commits(url)
    forged.serve(url)
    yield forged
    forged.kill()


@pytest.fixture
async def place(database: str, forged: Pair, tmp_path: Any, request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    if database == "postgres":
        yield before_postgres(request.getfixturevalue("pair"), request.getfixturevalue("own_server"))
        return
    async with before_sqlite(request.getfixturevalue("sqlite_url"), forged.chain, tmp_path) as served:
        yield served


@pytest.fixture
async def https(place: Place) -> AsyncIterator[list[httpx.AsyncClient]]:
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(httpx.AsyncClient(base_url=url, trust_env=False, timeout=30))
            for url in place.urls
        ]


async def endure(load: Shared, *troubles: Trouble, inside: Any) -> None:
    """Cause each fault under load; then let all started purchases finish."""
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        for number in range(CLIENTS):
            group.create_task(load.client(f"client-{number}"))
        for trouble in troubles:
            await load.more(acknowledged=60)
            async with trouble():
                await load.more(refused=8)
                await inside()
        await load.more(acknowledged=60)
        load.stopping = True


async def nothing_lost(load: Shared, place: Place) -> None:
    """Check that each acknowledged call is still answered alike, and no write is partial.

    Messages (start_thread) are not part of the load: the test that sends one compares them.
    """
    assert await load.losses() == []
    found = standing(place.database_url)
    found["answers"] = [kept for kept in found["answers"] if kept["operation"] != "start_thread"]
    assert half_states(found) == []
    assert len(found["answers"]) == len({one.key for one in load.acknowledged})
    assert [job["status"] for job in found["jobs"]] == ["completed"] * load.purchases


async def reads_answer(load: Shared, https: list[httpx.AsyncClient]) -> None:
    listing = load.sold_by("client-0")
    key = {"X-API-Key": load.party("client-0-buyer").keys["test"]}
    for http in https:
        for path in (
            f"/v1/listings/{listing}?env=test",
            "/v1/listings?env=test&q=translate",
            "/v1/agents/me",
            "/v1/jobs",
            "/v1/events",
        ):
            answer = await http.get(path, headers=key)
            assert answer.status_code == 200, answer.text


async def writes_are_refused(load: Shared, place: Place) -> list[str]:
    """Check for the same refusal in each process over each protocol.

    Return messages accepted before. A refused transaction leaves a dead row, whose space a full table can use again
    for a small write.
    """
    by, taken = load.party("client-0-buyer"), []
    for url, name in joined.from_iterable([(url, name) for name in WIRES] for url in place.urls):
        async with wire(name, url) as call:
            for _ in range(MAX_GAPS):
                answer = await call("start_thread", long_letter(load), by.keys["test"])
                if "error" in answer:
                    break
                taken.append(answer["message"]["id"])
            refusal(answer["error"])
    return taken


async def writes_are_taken(load: Shared, place: Place) -> list[str]:
    """Check that each process accepts the refused message after recovery. Return the messages."""
    taken, by = [], load.party("client-0-buyer")
    for url in place.urls:
        async with wire("rest", url) as call:
            taken.append((await call("start_thread", long_letter(load), by.keys["test"]))["message"]["id"])
    return taken


def long_letter(load: Shared) -> dict[str, str]:
    return {"to": load.party("client-1-buyer").id, "body": LONG}


@pytest.mark.parametrize("trouble", ["full", "read_only"])
async def test_a_database_that_takes_no_writes_is_read_and_refuses_them_clearly_until_it_does(
    place: Place, https: list[httpx.AsyncClient], forged: Pair, trouble: str
) -> None:
    load, taken = Shared.of(forged.chain, https), []

    async def inside() -> None:
        await reads_answer(load, https)
        taken.extend(await writes_are_refused(load, place))

    await endure(load, getattr(place, trouble), inside=inside)
    taken.extend(await writes_are_taken(load, place))
    await nothing_lost(load, place)
    standing_ones = [one["id"] for one in standing(place.database_url)["messages"] if one["body"] == LONG]
    assert sorted(standing_ones) == sorted(taken)


async def test_a_killed_postgresql_loses_no_acknowledged_write_and_both_processes_go_on_with_it(
    pair: Pair, own_server: PostgresServer
) -> None:
    place = before_postgres(pair, own_server)
    async with AsyncExitStack() as stack:
        https = [
            await stack.enter_async_context(httpx.AsyncClient(base_url=url, trust_env=False, timeout=30))
            for url in place.urls
        ]
        load = Shared.of(pair.chain, https)
        quiet, seller = await load.agent("quiet"), await load.agent("client-0-seller")
        idle, streamer = (Listener(https[1], one.keys["test"]) for one in (quiet, seller))
        poller = Listener(https[0], seller.keys["test"])
        async with asyncio.timeout(SECONDS), Listening(idle.stream(), streamer.stream(), poller.poll()):
            for one in (idle, streamer):
                await one.until(lambda heard: heard.opened == 1)

            async def inside() -> None:
                for http in https:
                    documented(await http.get("/v1/jobs", headers={"X-API-Key": seller.keys["test"]}))
                assert await writes_are_refused(load, place) == []

            await endure(load, *[partial(killed, own_server)] * 2, inside=inside)
            await nothing_lost(load, place)
            events = told(place.database_url, seller.id)
            for listener in (streamer, poller):
                await listener.until(lambda heard: heard.last == events[-1])
                assert listener.heard == events
            for refused in poller.refusals:
                documented(refused)
            await drops_what_the_other_changed(load, https, quiet, idle)
            for one in (idle, streamer):
                assert (one.opened, one.refusals) == (1, []), "it lasted through both"


async def drops_what_the_other_changed(
    load: Shared, https: list[httpx.AsyncClient], seller: Agent, told: Listener
) -> None:
    """Check that commits reach the other process: a stale listing and search, then an order."""
    listing = await load.write("create_listing", OFFER, "quiet-listing", seller)
    path = f"/v1/listings/{listing['id']}"
    order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
    for number, title in enumerate(("From now on it listens again", "And now it is told"), 1):
        await https[1].get(path, params={"env": "test"})  # now it is in the cache
        words = {"env": "test", "q": title.split()[-1]}  # a single word, because any of several is enough
        assert (await https[1].get("/v1/listings", params=words)).json()["data"] == []  # and so is this
        changed = await https[0].patch(path, json={"title": title}, headers={"X-API-Key": seller.keys["test"]})
        buyer = load.party(f"client-{number}-buyer").keys["test"]  # each holds one place of a new seller's listing
        ordered = await https[0].post("/v1/jobs", json=order, headers={"X-API-Key": buyer})
        assert (changed.status_code, ordered.status_code) == (200, 201)
        await told.until(lambda heard, orders=number: heard.kinds.count("job.created") == orders)
        assert [one["title"] for one in (await https[1].get("/v1/listings", params=words)).json()["data"]] == [title]
    assert (await https[1].get(path, params={"env": "test"})).json()["title"] == title
