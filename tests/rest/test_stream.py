"""The event stream: ready, backlog, live events without a gap; limited, resumable, and closed when the server stops."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import orjson
import pytest

import rest.stream
from rest.stream import EVENTS, send_stream
from storage.store import Store
from storage.transaction import Tx, Unavailable
from tests.support.market import Agent, TestMarket
from tests.support.protocols import served
from tools.catalogue import CATALOGUE
from tools.engine.context import CallRequest, Surface
from tools.events import operations as events
from tools.kernel.ids import event_id


@pytest.fixture
async def running(store: Store) -> AsyncIterator[tuple[TestMarket, httpx.AsyncClient]]:
    market = TestMarket(store)
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=10) as http:
        yield market, http


async def tell(market: TestMarket, agent: Agent, *numbers: int) -> None:
    def say(tx: Tx) -> None:
        for number in numbers:
            tx.emit(agent.id, "test", "webhook.test", orjson.dumps({"n": number}).decode(), market.clock.now())

    await market.store.write(say)


@asynccontextmanager
async def stream(http: httpx.AsyncClient, agent: Agent, **headers: str) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    keyed = {"X-API-Key": agent.keys["test"], **headers}
    async with http.stream("GET", "/v1/events/stream", headers=keyed) as answer:
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        yield frames(answer)


async def frames(answer: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    """Yield the frames as they arrive. A CR would be visible in a value."""
    buffer = ""
    async for text in answer.aiter_text():
        buffer += text
        while "\n\n" in buffer:
            block, buffer = buffer.split("\n\n", 1)
            assert "\r" not in block
            yield dict(line.split(": ", 1) for line in block.split("\n"))


async def take(opened: AsyncIterator[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    found = []
    async for frame in opened:
        if "event" in frame:
            found.append(frame)
        if len(found) == count:
            return found
    raise AssertionError("the stream ended early")


async def key_id(market: TestMarket, agent: Agent) -> str:
    """Return the id of the key that this agent listens with."""
    keys = (await market.call("list_api_keys", by=agent))["data"]
    return next(str(one["id"]) for one in keys if one["env"] == "test")


async def test_a_stream_says_ready_and_then_only_what_is_new(running: tuple[TestMarket, httpx.AsyncClient]) -> None:
    market, http = running
    agent = await market.register()
    await tell(market, agent, 1)
    async with stream(http, agent) as opened:
        (ready,) = await take(opened, 1)
        assert (ready["event"], json.loads(ready["data"])["last_event_id"]) == ("ready", event_id(1))
        await tell(market, agent, 2, 3)
        live = await take(opened, 2)
    assert [json.loads(frame["data"])["data"]["n"] for frame in live] == [2, 3]
    assert [frame["id"] for frame in live] == [event_id(2), event_id(3)]


async def test_o5_a_stream_resumes_after_the_last_event_without_a_gap(
    running: tuple[TestMarket, httpx.AsyncClient],
) -> None:
    market, http = running
    agent = await market.register()
    await tell(market, agent, *range(1, 251))  # more than one page of backlog
    async with stream(http, agent, **{"Last-Event-ID": event_id(5)}) as opened:
        telling = asyncio.create_task(tell(market, agent, 251, 252))
        heard = await take(opened, 1 + 245 + 2)
        await telling
    assert [json.loads(frame["data"])["data"]["n"] for frame in heard[1:]] == list(range(6, 253))


async def test_another_agents_and_environments_events_stay_theirs(
    running: tuple[TestMarket, httpx.AsyncClient],
) -> None:
    market, http = running
    ada, bo = await market.register("Ada"), await market.register("Bo")
    async with stream(http, ada) as opened:
        await take(opened, 1)
        await tell(market, bo, 1)
        await tell(market, ada, 2)
        (heard,) = await take(opened, 1)
    assert json.loads(heard["data"])["data"]["n"] == 2


async def test_a_key_has_five_streams_and_gets_its_place_back(running: tuple[TestMarket, httpx.AsyncClient]) -> None:
    market, http = running
    agent = await market.register()
    async with stream(http, agent), stream(http, agent), stream(http, agent), stream(http, agent):
        async with stream(http, agent):
            refused = await http.get("/v1/events/stream", headers={"X-API-Key": agent.keys["test"]})
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
        for _ in range(200):
            if market.market.notifier.streams.total() < 5:
                break
            await asyncio.sleep(0.01)
        async with stream(http, agent) as opened:
            assert (await take(opened, 1))[0]["event"] == "ready"


async def test_an_agent_has_twenty_streams_whatever_its_keys(running: tuple[TestMarket, httpx.AsyncClient]) -> None:
    market, http = running
    agent, other = await market.register("Ada"), await market.register("Bo")
    made = [(await market.call("create_api_key", by=agent, env="test"))["key"] for _ in range(4)]
    async with AsyncExitStack() as held:
        for key in (agent.keys["test"], *made[:3]):
            for _ in range(5):
                await held.enter_async_context(stream(http, replace(agent, keys={"test": key})))
        for key in (agent.keys["live"], made[3]):
            refused = await http.get("/v1/events/stream", headers={"X-API-Key": key})
            error = refused.json()["error"]
            assert (refused.status_code, error["code"], refused.headers["retry-after"]) == (429, "rate_limited", "5")
            assert ("20 streams" in error["message"], "list_events" in error["hint"]) == (True, True)
        async with stream(http, other) as opened:
            assert (await take(opened, 1))[0]["event"] == "ready"


async def test_a_stream_reads_only_when_its_agent_was_told_something(
    running: tuple[TestMarket, httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.02)
    market, http = running
    ada, bo = await market.register("Ada"), await market.register("Bo")
    async with stream(http, ada) as opened:
        assert [frame["event"] for frame in await take(opened, 2)] == ["ready", "heartbeat"]
        looks = market.store.counters.looks
        await tell(market, bo, 1)
        assert {frame["event"] for frame in await take(opened, 5)} == {"heartbeat"}
        assert market.store.counters.looks == looks
        await tell(market, ada, 2)
        while (heard := (await take(opened, 1))[0])["event"] == "heartbeat":
            pass
    assert json.loads(heard["data"])["data"]["n"] == 2


async def test_a_client_that_leaves_at_once_gives_its_place_back(store: Store) -> None:
    market = TestMarket(store)
    agent = await market.register()

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        pass

    approach = CallRequest(Surface.REST, "127.0.0.1", "req_1", credential=agent.keys["test"])
    opened = await market.market.stream(CATALOGUE["stream_events"], {}, approach)
    assert isinstance(opened, AsyncGenerator)
    assert market.market.notifier.streams.total() == 1
    await send_stream(opened, receive, send, EVENTS)
    assert (market.market.notifier.streams.total(), len(market.market.notifier.ears)) == (0, 0)


async def test_a_client_that_stops_reading_is_dropped_and_gives_its_place_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest.stream, "SEND_SECONDS", 0.05)
    market, sent = TestMarket(store), list[MutableMapping[str, Any]]()
    agent = await market.register()

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)
        if message.get("more_body") and len(sent) > 2:  # a full buffer accepts no frame, but can be closed
            await asyncio.Event().wait()

    approach = CallRequest(Surface.REST, "127.0.0.1", "req_1", credential=agent.keys["test"])
    opened = await market.market.stream(CATALOGUE["stream_events"], {}, approach)
    assert isinstance(opened, AsyncGenerator)
    streaming = asyncio.create_task(send_stream(opened, receive, send, EVENTS))
    await tell(market, agent, *range(100))
    async with asyncio.timeout(20):
        await streaming
    assert (market.market.notifier.streams.total(), len(market.market.notifier.ears)) == (0, 0)
    assert [one.get("more_body") for one in sent] == [None, True, True, None], "one frame waited, and no other"


async def test_streams_end_when_the_server_stops(running: tuple[TestMarket, httpx.AsyncClient]) -> None:
    market, http = running
    agent = await market.register()
    async with stream(http, agent) as opened:
        await take(opened, 1)
        market.market.notifier.close()
        assert [frame async for frame in opened] == []


async def no_answer(read: object) -> None:
    raise Unavailable("the server closed the connection")


async def test_a_stream_outlasts_a_database_that_does_not_answer_and_misses_nothing(
    running: tuple[TestMarket, httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    market, http = running
    agent = await market.register()
    async with stream(http, agent) as opened:
        await take(opened, 1)
        with monkeypatch.context() as outage:
            outage.setattr(market.store, "read", no_answer)
            while market.store.waiting:  # noqa: ASYNC110 - an earlier read; the store has no event for it
                await asyncio.sleep(0)
            await tell(market, agent, 1)
            assert [frame["event"] for frame in await take(opened, 1)] == ["heartbeat"]
        market.store.notify()  # as a store does after it reconnects to its database
        while (heard := (await take(opened, 1))[0])["event"] == "heartbeat":
            pass
    assert (heard["id"], json.loads(heard["data"])["data"]["n"]) == (event_id(1), 1)


async def test_a_stream_that_waits_outlasts_a_database_that_cannot_say_whether_its_key_still_opens(
    running: tuple[TestMarket, httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.02)
    market, http = running
    agent = await market.register()
    own = await key_id(market, agent)
    async with stream(http, agent) as opened:
        await take(opened, 1)
        with monkeypatch.context() as outage:
            outage.setattr(market.store, "read", no_answer)
            market.store.invalidate([*market.market.caches.keys.values])
            assert [frame["event"] for frame in await take(opened, 5)] == ["heartbeat"] * 5
        await market.call("revoke_api_key", by=agent, on="live", key_id=own)
        await tell(market, agent, 1)
        left = [frame["event"] async for frame in opened if "event" in frame]
    assert set(left) <= {"heartbeat"}, "then it is asked, and ends"


async def test_anonymous_and_malformed_requests_are_refused(running: tuple[TestMarket, httpx.AsyncClient]) -> None:
    market, http = running
    agent = await market.register()
    assert (await http.get("/v1/events/stream")).status_code == 401
    bad = await http.get("/v1/events/stream", headers={"X-API-Key": agent.keys["test"], "Last-Event-ID": "17"})
    assert (bad.status_code, bad.json()["error"]["param"]) == (400, "since")


async def test_a_poller_pages_through_everything(running: tuple[TestMarket, httpx.AsyncClient]) -> None:
    market, _ = running
    agent = await market.register()
    await tell(market, agent, *range(1, 46))
    seen: list[int] = []
    since: dict[str, str] = {}
    while True:
        page = await market.call("list_events", by=agent, limit=20, **since)
        seen += [event["data"]["n"] for event in page["data"]]
        since = {"since": page["next_since"]}
        if not page["has_more"]:
            break
    assert seen == list(range(1, 46))
    assert (await market.call("list_events", by=agent, **since))["data"] == []


async def test_a_stream_whose_key_is_revoked_tells_nothing_more_and_ends(
    running: tuple[TestMarket, httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    market, http = running
    agent = await market.register()
    own = await key_id(market, agent)
    async with stream(http, agent) as opened:
        await take(opened, 1)
        await tell(market, agent, 1)
        await take(opened, 1)
        await market.call("revoke_api_key", by=agent, on="live", key_id=own)
        await tell(market, agent, 2)
        assert [frame async for frame in opened if "event" in frame] == []
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.02)
    other = await market.register("Bo")
    async with stream(http, other) as opened:
        await take(opened, 1)
        await market.call("delete_me", by=other, on="live", confirm=other.handle)
        left = [frame["event"] async for frame in opened if "event" in frame]
    assert set(left) <= {"heartbeat"}, "the one that only waits ends with its next heartbeat"
