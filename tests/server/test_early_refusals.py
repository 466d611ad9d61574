"""Early refusals: hostile requests never reach the SDKs, which take milliseconds for each hundred values."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

import rest.arguments
from storage.store import Store
from tests.protocol.test_rate_limits import ACCEPT, META, RPC
from tests.support.market import TestMarket
from tests.support.protocols import served
from tools.catalogue import CATALOGUE
from tools.engine.protocol_requests import READ_FOR_ALL
from tools.engine.rate_limits import ALLOWANCES, Rate
from tools.kernel import strict_json as jsontext
from tools.kernel.strict_json import read_leniently

CALL = {"name": "get_payments_info", "arguments": {"env": "test"}, "_meta": META}
ROUTED = ACCEPT | {"mcp-method": "tools/call", "mcp-name": "get_payments_info"}


@pytest.fixture
async def http(store: Store) -> AsyncIterator[httpx.AsyncClient]:
    async with served(TestMarket(store)) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
        yield http


def message(**given: Any) -> dict[str, Any]:
    part = {"data": {"tool": "get_payments_info", "arguments": {"env": "test"}}}
    return {"message": {"messageId": "1", "role": "ROLE_USER", "parts": [part]} | given}


@pytest.mark.parametrize(
    "params",
    [
        message() | {"metadata": {"m": [1] * 600}},
        message(metadata={"m": [{}] * 600}),
        message(parts=[{"text": "x"}] * 600),
        message(parts=[{"data": {}}] * 600),
        message(extensions=["x"] * 600),
    ],
    ids=["request metadata", "message metadata", "texts", "data parts", "extensions"],
)
@pytest.mark.parametrize("path", ["/a2a", "/a2a/message:send"])
async def test_an_a2a_envelope_of_many_values_is_refused(
    http: httpx.AsyncClient, params: dict[str, Any], path: str
) -> None:
    body = {**RPC, "method": "SendMessage", "params": params} if path == "/a2a" else params
    answer = await http.post(path, json=body, headers={"A2A-Version": "1.0"})
    assert "at most 500 values" in answer.text
    ordinary = message(metadata={"m": [1] * 300})
    body = {**RPC, "method": "SendMessage", "params": ordinary} if path == "/a2a" else ordinary
    assert '"payments"' in (await http.post(path, json=body, headers={"A2A-Version": "1.0"})).text


async def test_the_arguments_of_a_call_may_hold_many_values(http: httpx.AsyncClient) -> None:
    part = {"data": {"tool": "register_agent", "arguments": {"name": "Ada", "metadata": {"m": [1] * 2_000}}}}
    body = {**RPC, "method": "SendMessage", "params": message(parts=[part])}
    answer = await http.post("/a2a", json=body, headers={"A2A-Version": "1.0"})
    assert '"agent.created"' in answer.text


@pytest.mark.parametrize("identity", [None, 1.5, True, [], {}], ids=repr)
async def test_an_mcp_request_with_an_id_that_is_none_is_answered(http: httpx.AsyncClient, identity: Any) -> None:
    """The SDK would treat it as a notification and not answer."""
    body = {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": CALL}
    answer = await http.post("/mcp", json=body, headers=ROUTED)
    assert (answer.status_code, answer.json()["error"]["code"], answer.json()["id"]) == (400, -32600, None)


async def test_an_mcp_batch_is_refused(http: httpx.AsyncClient) -> None:
    answer = await http.post("/mcp", json=[{**RPC, "method": "tools/list"}], headers=ACCEPT)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)
    assert "batches" in answer.json()["error"]["message"]


@pytest.mark.parametrize("kind", ["text/plain", None])
async def test_a_body_is_json_whatever_it_is_called(http: httpx.AsyncClient, kind: str | None) -> None:
    content = httpx.Request("POST", "http://x", json={**RPC, "method": "tools/call", "params": CALL}).content
    answer = await http.post("/mcp", content=content, headers=ROUTED | ({} if kind is None else {"content-type": kind}))
    assert (answer.status_code, answer.json()["result"]["isError"]) == (200, False)


async def test_one_mcp_call_has_one_idempotency_key(http: httpx.AsyncClient) -> None:
    params = {"name": "register_agent", "arguments": {"name": "Ada", "idempotency_key": "k" * 30}, "_meta": META}
    headers = ROUTED | {"mcp-name": "register_agent"}
    body = {**RPC, "method": "tools/call", "params": params}
    refused = (await http.post("/mcp", json=body, headers=headers | {"idempotency-key": "j" * 30})).json()["result"]
    assert (refused["isError"], "two different values" in refused["content"][0]["text"]) == (True, True)
    taken = (await http.post("/mcp", json=body, headers=headers | {"idempotency-key": "k" * 30})).json()["result"]
    assert taken["isError"] is False


@pytest.mark.parametrize("raw", [b"[" + b"[]," * 60_000 + b"NaN]", b'{"a":NaN,"b":"' + b"x" * 70_000 + b'"}'])
def test_a_refused_text_is_not_read_again_when_it_is_large(raw: bytes) -> None:
    with pytest.raises(ValueError, match="too large"):
        read_leniently(raw)


MANY = b'{"a":[' + b",".join([b"[]"] * 340_000) + b"]}"
OVER_A2A = b'{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"data":{"tool":"get_health","arguments":%s}}]}}'
IN_RPC = b'{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}'


@pytest.mark.parametrize(
    "path, body",
    [
        ("/v1/receipts/verify", MANY),
        ("/mcp", IN_RPC % (b"tools/call", b'{"name":"get_health","arguments":%s}' % MANY)),
        ("/a2a", IN_RPC % (b"SendMessage", OVER_A2A % MANY)),
        ("/a2a/message:send", OVER_A2A % MANY),
    ],
)
async def test_a_body_of_too_many_lists_is_refused_on_every_wire_before_any_list_is_made(
    http: httpx.AsyncClient, path: str, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[bytes]()
    monkeypatch.setattr(jsontext.jiter, "from_json", lambda raw, **_: read.append(raw))
    answer = await http.post(path, content=body, headers=ACCEPT | {"A2A-Version": "1.0"})
    assert ("objects and lists" in answer.text, read) == (True, [])


@pytest.mark.parametrize(
    "name", [op.name for op in CATALOGUE.values() if op.auth in ("key", "signed") and op.method != "GET"]
)
async def test_without_a_key_no_body_is_read_over_rest(
    http: httpx.AsyncClient, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[bytes]()
    monkeypatch.setattr(rest.arguments, "parse", read.append)
    op = CATALOGUE[name]
    for headers in ({}, {"X-API-Key": "as_test_" + "x" * 43}):
        answer = await http.request(op.method, op.path, content=b"[nonsense", headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")
    assert read == []


async def test_beyond_its_window_no_callers_body_is_read_and_a_stranger_is_counted_all_the_same(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    market, read = TestMarket(store, enforced=True, registrations_per_hour=1), list[bytes]()
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
        assert (await http.post("/v1/agents", json={"name": "Ada"})).status_code == 201
        monkeypatch.setattr(rest.arguments, "parse", read.append)
        assert (await http.post("/v1/agents", content=b"[nonsense")).status_code == 429
        refused = [await http.post("/v1/jobs", content=b"[nonsense") for _ in range(2)]
        refused.append(await http.get("/v1/events/stream"))
    left = [int(answer.headers["ratelimit-remaining"]) for answer in refused]
    most = ALLOWANCES[Rate.ANONYMOUS_FAILURES].calls
    assert ([answer.status_code for answer in refused], left, read) == ([401] * 3, [most - 1, most - 2, most - 3], [])


LARGE = b'{"x":"%s"}' % (b"x" * READ_FOR_ALL)
LARGE_CALLS = {
    "/mcp": IN_RPC % (b"tools/call", b'{"name":"get_health","arguments":%s}' % LARGE),
    "/a2a": IN_RPC % (b"SendMessage", OVER_A2A % LARGE),
    "/a2a/message:send": OVER_A2A % LARGE,
}


@pytest.mark.parametrize("rate", [Rate.PROTOCOL_REQUESTS, Rate.ANONYMOUS_FAILURES])
@pytest.mark.parametrize("path", LARGE_CALLS)
async def test_beyond_its_window_no_strangers_large_body_is_read_over_a_protocol(
    store: Store, path: str, rate: Rate, monkeypatch: pytest.MonkeyPatch
) -> None:
    market, read, parse = TestMarket(store, enforced=True), list[bytes](), jsontext.jiter.from_json
    agent, door = await market.register(), market.market
    monkeypatch.setattr(jsontext.jiter, "from_json", lambda raw, **given: read.append(raw) or parse(raw, **given))
    small = LARGE_CALLS[path].replace(LARGE, b"{}")
    headers = ACCEPT | {"A2A-Version": "1.0", "mcp-method": "tools/call", "mcp-name": "get_health"}
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:

        async def is_read(body: bytes, **more: str) -> bool:
            read.clear()
            answer = await http.post(path, content=body, headers=headers | more)
            if answer.status_code == 429:
                assert (answer.json()["error"]["code"], 0 < int(answer.headers["retry-after"]) <= 60) == (
                    "rate_limited",
                    True,
                )
            assert (answer.status_code == 429) == (read == [])
            return read != []

        assert await is_read(LARGE_CALLS[path])
        for _ in range(ALLOWANCES[rate].calls - 1):
            door.services.rate_limits.windows.count(rate, ALLOWANCES[rate], "127.0.0.1", market.clock.monotonic())
        assert await is_read(LARGE_CALLS[path])
        door.services.rate_limits.windows.count(rate, ALLOWANCES[rate], "127.0.0.1", market.clock.monotonic())
        assert not await is_read(LARGE_CALLS[path])
        assert not await is_read(LARGE_CALLS[path], **{"X-API-Key": "as_test_" + "x" * 43})
        assert await is_read(LARGE_CALLS[path], **{"X-API-Key": agent.keys["test"]}), "a key has windows of its own"
        assert await is_read(small), "calls are counted apart"
        market.pass_seconds(61)
        assert await is_read(LARGE_CALLS[path])


async def test_the_head_of_a_stream_needs_a_key_like_the_stream(store: Store) -> None:
    market = TestMarket(store)
    agent = await market.register()
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
        assert (await http.head("/v1/events/stream")).status_code == 401
        headed = await http.head("/v1/events/stream", headers={"X-API-Key": agent.keys["test"]})
        assert (headed.status_code, headed.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert market.market.services.notifier.streams.total() == 0
