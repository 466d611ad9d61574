"""/mcp as HTTP: methods, hosts, headers and bodies, in front of the SDK and behind the edge."""

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import mcp_types as t
import pytest

from protocol.mcp.server import CACHING, McpSurface
from protocol.mcp.texts import instructions
from protocol.mcp.toolsets import USUAL
from server.middleware import Edge, hosts_of
from tests.support.echo_operations import SAID, echoing
from tests.support.fixed_market import HOST, FixedTexts, approach_of, edged, serve
from tests.support.mcp_client import ERAS, HANDSHAKE, MODERN, Mcp, add_tools, connected, headers_of, heard, request
from tools.engine.dispatch import Market

LOCAL = "127.0.0.1:8000"


@pytest.fixture(autouse=True)
def _echoes() -> Iterator[None]:
    with echoing():
        yield


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD", "TRACE"])
@pytest.mark.parametrize("era", ERAS)
async def test_only_post_is_served(market: Market, method: str, era: str) -> None:
    """The SDK would keep a stream open for every GET, and there is no session to delete."""
    async with connected(market) as mcp:
        answer = await mcp.http.request(
            method, "/mcp", headers={"accept": "text/event-stream", "mcp-protocol-version": era}
        )
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    if method != "HEAD":
        assert answer.json()["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize("era", ERAS)
async def test_a_trailing_slash_is_no_redirect(market: Market, era: str) -> None:
    body = request(era, "tools/call", {"name": "show_tree"})
    async with connected(market) as mcp:
        answer = heard(await mcp.http.post("/mcp/", json=body, headers=headers_of(era, body)))
    assert (answer.status, answer.result["isError"]) == (200, False)


@pytest.mark.parametrize("era", ERAS)
async def test_blanks_behind_header_values_mean_nothing(market: Market, era: str) -> None:
    """httptools keeps them, and a routing header with a blank would not match the body."""
    body = request(era, "tools/call", {"name": "show_tree"})
    padded = [(name, f"{value} \t") for name, value in headers_of(era, body)]
    surface = McpSurface(market, approach_of, FixedTexts(), (HOST,))
    headers = [(b"Host", HOST.encode()), *((name.encode(), value.encode()) for name, value in padded)]
    async with surface.running():
        status, answer = await post(edged(surface, market), json.dumps(body).encode(), headers)
    assert (status, b'"isError":false' in answer) == (200, True)


async def post(surface: McpSurface | Edge, body: bytes, headers: list[tuple[bytes, bytes]]) -> tuple[int, bytes]:
    """Send a POST with its body in two parts; return status and body."""
    scope = {
        "type": "http", "method": "POST", "path": "/mcp", "raw_path": b"/mcp", "query_string": b"", "scheme": "http",
        "headers": headers, "client": ("203.0.113.7", 5), "server": ("x", 80), "state": {"request_id": "req_12345678"},
    }  # fmt: skip
    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    parts = [{"type": "http.request", "body": body[:9], "more_body": True}, {"type": "http.request", "body": body[9:]}]

    async def receive() -> Any:
        if not parts:
            await asyncio.Event().wait()  # the client stays connected
        return parts.pop(0)

    await surface(scope, receive, send)
    return said[0]["status"], b"".join(part.get("body", b"") for part in said[1:])


async def test_a_client_that_leaves_in_the_middle_of_its_body_is_not_answered(market: Market) -> None:
    surface = McpSurface(market, approach_of, FixedTexts(), ())
    parts: list[Any] = [{"type": "http.request", "body": b'{"json', "more_body": True}, {"type": "http.disconnect"}]
    said: list[Any] = []
    scope = {
        "type": "http",
        "method": "POST",
        "headers": [],
        "query_string": b"",
        "state": {"request_id": "req_12345678"},
    }

    async def receive() -> Any:
        return parts.pop(0)

    async def send(message: Any) -> None:
        said.append(message)

    async with surface.running():
        await surface(scope, receive, send)
    assert said == []


# --- Host and Origin ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host, origin, status",
    [
        (HOST, None, 200),
        (HOST.upper(), None, 200),
        (HOST, "https://elsewhere.example", 200),
        (HOST, "null", 200),
        (LOCAL, None, 200),
        (LOCAL, "http://localhost:3000", 200),
        (LOCAL, "https://[::1]", 200),
        (LOCAL, "https://elsewhere.example", 403),
        (LOCAL, "http://localhost.elsewhere.example", 403),
        (LOCAL, "null", 403),
        ("elsewhere.example", None, 421),
        ("elsewhere.example", "https://elsewhere.example", 421),
        (f"{HOST}:81", None, 421),
        ("", None, 421),
    ],
)
@pytest.mark.parametrize("era", ERAS)
async def test_hosts_and_origins_are_judged_as_at_the_edge(
    market: Market, era: str, host: str, origin: str | None, status: int
) -> None:
    body = request(era, "tools/call", {"name": "show_tree"})
    headers = [("host", host), *headers_of(era, body), *([("origin", origin)] if origin else [])]
    surface = McpSurface(market, approach_of, FixedTexts(), (HOST, LOCAL))
    async with surface.running():
        alone, _ = await post(
            surface, json.dumps(body).encode(), [(name.encode(), value.encode()) for name, value in headers]
        )
        wire = httpx.ASGITransport(edged(surface, market, frozenset({HOST, LOCAL})))
        async with httpx.AsyncClient(transport=wire, base_url="http://x") as http:
            behind = (await http.post("/mcp", json=body, headers=headers)).status_code
    assert (alone, behind) == (status, status)


async def test_without_hosts_of_its_own_the_surface_leaves_them_to_the_edge(market: Market) -> None:
    body = request(MODERN, "tools/call", {"name": "show_tree"})
    headers = [("host", "anything"), ("origin", "https://elsewhere.example"), *headers_of(MODERN, body)]
    surface = McpSurface(market, approach_of, FixedTexts(), ())
    async with surface.running():
        status, _ = await post(
            surface, json.dumps(body).encode(), [(name.encode(), value.encode()) for name, value in headers]
        )
    assert status == 200


# --- bodies other than a single request
# ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        b"[]",
        b"7",
        b"null",
        b'"text"',
        b"{}",
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":7}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}',
    ],
)
@pytest.mark.parametrize("era", ERAS)
async def test_a_body_that_is_no_single_request_is_refused_and_never_our_fault(
    market: Market, era: str, raw: bytes
) -> None:
    headers = headers_of(era, request(era, "tools/call", {"name": "say_json"}))
    async with connected(market) as mcp:
        answer = await mcp.post(raw, headers)
    assert answer.status in (200, 400)
    assert answer.error["code"] in (-32600, -32602, -32020)
    assert SAID == []


@pytest.mark.parametrize("era", ERAS)
async def test_an_unknown_method_is_said_to_be_unknown(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        answer = await mcp.ask(era, "no/such")
    assert answer.error["code"] == -32601


@pytest.mark.parametrize("era", ERAS)
async def test_a_notification_is_taken_and_not_answered(market: Market, era: str) -> None:
    body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    async with connected(market) as mcp:
        answer = await mcp.post(json.dumps(body).encode(), headers_of(era, body))
    assert (answer.status, answer.messages) == (202, [])


async def test_a_body_over_a_mebibyte_is_refused_while_it_is_read(market: Market) -> None:
    body = request(MODERN, "tools/call", {"name": "say_json", "arguments": {"value": "x" * 2**20}})
    async with connected(market) as mcp:
        answer = await mcp.http.post("/mcp", json=body, headers=headers_of(MODERN, body))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "payload_too_large")


# --- eras, sessions, progress -------------------------------------------------------------------------------------------


async def test_the_handshake_hands_out_no_session(market: Market) -> None:
    params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    async with connected(market) as mcp:
        answer = await mcp.ask(HANDSHAKE, "initialize", params)
    assert answer.result["protocolVersion"] == HANDSHAKE
    assert "mcp-session-id" not in answer.headers


async def test_discovery_names_the_server_and_may_be_shared(market: Market) -> None:
    async with connected(market) as mcp:
        result = (await mcp.ask(MODERN, "server/discover")).result
        tools = mcp.surface.tools
    assert result == {
        "resultType": "complete",
        "supportedVersions": [MODERN],
        "capabilities": {
            "completions": {},
            "extensions": {"io.modelcontextprotocol/tasks": {}, "io.modelcontextprotocol/skills": {}},
            "prompts": {"listChanged": False},
            "resources": {"listChanged": False, "subscribe": False},
            "tools": {"listChanged": False},
        },
        "instructions": instructions(tools.operations, tools.wording(USUAL)),
        "ttlMs": 60_000,
        "cacheScope": "public",
        "_meta": {
            "io.modelcontextprotocol/serverInfo": {
                "name": "emporion",
                "version": "0.1.0",
                "description": "A market where software agents hire each other.",
                "websiteUrl": "https://market.example",
            }
        },
    }


async def test_whatever_depends_on_the_caller_is_private_to_it(market: Market) -> None:
    assert {method for method, hint in CACHING.items() if hint.scope == "private"} == {"tools/list"}


async def test_no_tracing_is_paid_for_on_each_call(market: Market) -> None:
    surface = McpSurface(market, approach_of, FixedTexts(), ())
    assert surface.server.middleware == [surface.instruct]


@pytest.mark.parametrize("era", ERAS)
async def test_progress_reaches_a_client_that_asks_for_it(market: Market, era: str) -> None:
    async def work(rc: Any, asked: t.CallToolRequestParams) -> t.CallToolResult:
        await rc.session.report_progress(1, 2, "half")
        return t.CallToolResult(content=[t.TextContent(text="done")])

    tools = (t.Tool(name="work", input_schema={"type": "object"}),)
    params = {"name": "work", "_meta": {"progressToken": "p"}}
    async with connected(market, partial(add_tools, tools=tools, calls={"work": work})) as mcp:
        answer = await mcp.ask(era, "tools/call", params)
    told, result = answer.messages
    assert told["method"] == "notifications/progress"
    assert told["params"] == {"progressToken": "p", "progress": 1, "total": 2, "message": "half"}
    assert result["result"]["content"] == [{"type": "text", "text": "done"}]


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_of_its_own_process_serves_real_connections(market: Market, era: str) -> None:
    surfaces = []

    def app_of(place: str) -> Any:
        surfaces.append(McpSurface(market, approach_of, FixedTexts(), (place,)))
        return edged(surfaces[0], market, hosts_of([f"http://{place}"]))

    async with serve(app_of) as base, surfaces[0].running(), httpx.AsyncClient(base_url=base) as http:
        result = await Mcp(http, surfaces[0]).call(era, "show_tree")
    assert result["structuredContent"] == {"object": "node", "inner": {"object": "node", "inner": None}}
