"""A task started in one process is followed through the other, because a stream reads only the table of events."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.end_to_end.processes.pair import Pair
from tests.support.a2a_requests import RPC_1, VERSION
from tests.support.a2a_tasks import event_in, states_in
from tests.support.databases import PostgresServer
from tests.support.trade import Trade


@pytest.fixture
def pair(forged: Pair, postgres: PostgresServer) -> Iterator[Pair]:
    forged.serve(postgres.create("tasks"))
    yield forged
    forged.kill()


async def streamed(http: httpx.AsyncClient, key: str, method: str, params: Any, heard: list[Any]) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"x-api-key": key, **VERSION}
    async with http.stream("POST", "/a2a", json=body, headers=headers, timeout=60) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data:"):
                heard.append(event_in(RPC_1, json.loads(line[5:])))  # noqa: PERF401 - the list is read while it grows


async def test_a_task_started_in_one_process_is_followed_through_the_other(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    one, other = trade.market.http  # type: ignore[attr-defined]
    key = buyer.keys["test"]
    order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
    message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"data": order}]}
    asked, followed = list[Any](), list[Any]()
    async with asyncio.timeout(60):
        sent = asyncio.create_task(streamed(one, key, "SendStreamingMessage", {"message": message}, asked))
        while not asked:  # noqa: ASYNC110 - no event for received messages
            await asyncio.sleep(0.01)
        task = asked[0]["task"]["id"]
        following = asyncio.create_task(streamed(other, key, "SubscribeToTask", {"id": task}, followed))
        while not followed:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await trade.market.call("accept_job", by=seller, job_id=task)
        await trade.deliver(seller, {"id": task})
        await asyncio.gather(sent, following)
    for events in (asked, followed):
        assert states_in(events)[0] == "SUBMITTED"
        assert {"WORKING", "INPUT_REQUIRED"} <= set(states_in(events))
        assert states_in(events)[-1] == "INPUT_REQUIRED"
