"""Rate limits of requests that call no operation. A list of tools is more expensive than most calls."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from storage.store import Store
from tests.support.market import Agent, TestMarket
from tests.support.protocols import served
from tools.engine.rate_limits import ALLOWANCES, Rate

MODERN = "2026-07-28"
CLIENT = {"name": "test", "version": "1"}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
RPC = {"jsonrpc": "2.0", "id": 1}
ACCEPT = {"accept": "application/json, text/event-stream", "mcp-protocol-version": MODERN}
PROTOCOL_REQUESTS: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "a list of tools": ("/mcp", {**RPC, "method": "tools/list", "params": {"_meta": META}}, {"mcp-method": "tools/list"}),
    "an unknown tool": (
        "/mcp",
        {**RPC, "method": "tools/call", "params": {"name": "no_tool", "_meta": META}},
        {"mcp-method": "tools/call", "mcp-name": "no_tool"},
    ),
    "an extended card": ("/a2a", {**RPC, "method": "GetExtendedAgentCard"}, {"a2a-version": "1.0"}),
    "talk": (
        "/a2a",
        {**RPC, "method": "SendMessage", "params": {"message": {"messageId": "m", "role": "ROLE_USER",
         "parts": [{"text": "hello"}]}}},
        {"a2a-version": "1.0"},
    ),
}  # fmt: skip


@pytest.fixture
async def limited(store: Store) -> AsyncIterator[tuple[TestMarket, httpx.AsyncClient]]:
    market = TestMarket(store)
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
        yield market, http


def exhaust(market: TestMarket, bucket: str) -> None:
    """Use up the rate limit of this address or key, and enforce limits from now on."""
    door = market.market
    door.config = replace(door.config, limits=replace(door.config.limits, enforced=True))
    for _ in range(ALLOWANCES[Rate.PROTOCOL_REQUESTS].calls):
        door.windows.count(Rate.PROTOCOL_REQUESTS, ALLOWANCES[Rate.PROTOCOL_REQUESTS], bucket, market.clock.monotonic())


async def knock(http: httpx.AsyncClient, what: str, agent: Agent | None = None) -> httpx.Response:
    path, body, headers = PROTOCOL_REQUESTS[what]
    keyed = {"X-API-Key": agent.keys["test"]} if agent else {}
    return await http.post(path, json=body, headers=ACCEPT | headers | keyed)


@pytest.mark.parametrize("what", PROTOCOL_REQUESTS)
async def test_an_address_that_knocks_too_often_waits(limited: tuple[TestMarket, httpx.AsyncClient], what: str) -> None:
    market, http = limited
    agent = await market.register()
    assert (await knock(http, what)).status_code < 429
    exhaust(market, "127.0.0.1")
    refused = await knock(http, what)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert (await knock(http, what, agent)).status_code < 429, "a key has a window of its own"
    called = await http.get(f"/v1/agents/{agent.id}")
    assert called.status_code == 200, "calls are counted apart"
    market.pass_seconds(61)
    assert (await knock(http, what)).status_code < 429


@pytest.mark.parametrize("what", PROTOCOL_REQUESTS)
async def test_a_key_that_knocks_too_often_waits_and_a_wrong_one_counts_for_its_address(
    limited: tuple[TestMarket, httpx.AsyncClient], what: str
) -> None:
    market, http = limited
    agent, other = await market.register("Ada"), await market.register("Bo")
    before = {name for name in market.market.windows.counts if name.startswith(Rate.PROTOCOL_REQUESTS)}
    assert before == set()
    door = market.market
    door.config = replace(door.config, limits=replace(door.config.limits, enforced=True))
    await knock(http, what, agent)
    name, together = (name for name in market.market.windows.counts if name.startswith(Rate.PROTOCOL_REQUESTS))
    assert together == f"{Rate.PROTOCOL_REQUESTS}:{agent.id} test", "the keys of an agent together"
    exhaust(market, name.partition(":")[2])
    assert (await knock(http, what, agent)).status_code == 429
    assert (await knock(http, what, other)).status_code < 429
    other.keys["test"] = "as_test_" + "x" * 43
    exhaust(market, "127.0.0.1")
    assert (await knock(http, what, other)).status_code == 429
