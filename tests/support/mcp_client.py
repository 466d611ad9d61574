"""Raw MCP over HTTP for tests: send one JSON-RPC request in either era of the protocol, and read the answer."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import mcp_types as t
from mcp.server.lowlevel import Server
from starlette.types import Receive, Scope, Send

from protocol.mcp.request import Request
from protocol.mcp.server import McpSurface
from tests.support.fixed_market import HOST, FixedTexts, approach_of, edged
from tools.engine.dispatch import Market

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
ERAS = (HANDSHAKE, MODERN)
TASK_METHODS = ("tasks/get", "tasks/update", "tasks/cancel")
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri", **dict.fromkeys(TASK_METHODS, "taskId")}


@dataclass(frozen=True)
class Heard:
    """An HTTP answer and the JSON-RPC messages in it, notifications first."""

    status: int
    headers: httpx.Headers
    messages: list[Any]

    @property
    def result(self) -> Any:
        return self.messages[-1]["result"]

    @property
    def error(self) -> Any:
        return self.messages[-1]["error"]


class Mcp:
    """A client of one surface that sends exactly what a test gives."""

    def __init__(self, http: httpx.AsyncClient, surface: McpSurface) -> None:
        self.http, self.surface = http, surface

    async def ask(
        self, era: str, method: str, params: Mapping[str, Any] | None = None, /, headers: Any = (), query: str = ""
    ) -> Heard:
        body = request(era, method, params or {})
        return await self.post(json.dumps(body).encode(), [*headers_of(era, body), *headers], query)

    async def call(
        self, era: str, tool: str, arguments: Mapping[str, Any] | None = None, /, headers: Any = (), query: str = ""
    ) -> Any:
        """Call a tool; return the result."""
        params = {"name": tool, "arguments": arguments or {}}
        return (await self.ask(era, "tools/call", params, headers=headers, query=query)).result

    async def post(self, body: bytes, headers: Any, query: str = "") -> Heard:
        answer = await self.http.post(f"/mcp{query}", content=body, headers=list(headers))
        return heard(answer)


def request(era: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON-RPC request as a client of that era sends it."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    own = {**params, "_meta": {**meta, **params.get("_meta", {})}} if era == MODERN else dict(params)
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": own}


def headers_of(era: str, body: Mapping[str, Any]) -> list[tuple[str, str]]:
    headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", era),
    ]
    if era == HANDSHAKE:
        return headers
    headers.append(("mcp-method", body["method"]))
    named = NAMED.get(body["method"])
    value = body["params"].get(named) if named else None
    return [*headers, ("mcp-name", value)] if isinstance(value, str) else headers


def heard(answer: httpx.Response) -> Heard:
    kind = answer.headers.get("content-type", "")
    if kind.startswith("text/event-stream"):  # split on LF only: a line may contain U+2028
        lines = [line.rstrip("\r") for line in answer.content.decode().split("\n")]
        said = [
            json.loads(line.removeprefix("data:")) for line in lines if line.startswith("data:") and line[5:].strip()
        ]
        return Heard(answer.status_code, answer.headers, said)
    said = [answer.json()] if kind.startswith("application/json") and answer.content else []
    return Heard(answer.status_code, answer.headers, said)


Call = Callable[[Request, t.CallToolRequestParams], Awaitable[t.Result | dict[str, Any]]]


class Streaming:
    """A session manager that streams the calls of some tools."""

    def __init__(self, surface: McpSurface, names: Collection[str]) -> None:
        self.plain, self.streaming, self.names = surface.plain, surface.streaming, names

    def run(self) -> Any:
        return self.plain.run()

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        manager = self.streaming if scope["state"]["arrived"].tool in self.names else self.plain
        await manager.handle_request(scope, receive, send)


def extended(server: Server[Any], method: str, name: str, more: Sequence[Any]) -> None:
    """Add items to the list with which the server answers a method."""
    usual = server.get_request_handler(method)

    async def listed(request: Request, asked: t.PaginatedRequestParams) -> Any:
        made = await usual.handler(request, asked)
        return made.model_copy(update={name: [*getattr(made, name), *more]})

    server.add_request_handler(method, t.PaginatedRequestParams, listed)


def add_tools(surface: McpSurface, tools: Sequence[t.Tool], calls: Mapping[str, Call]) -> None:
    """Add tools to a surface that serves no client yet; their calls are streamed."""
    schemas, known = {tool.name: tool.input_schema for tool in tools}, surface.tools.input_schema
    surface.server.get_tool_input_schema = lambda name: schemas.get(name) or known(name)
    surface.plain = Streaming(surface, calls)
    usual = surface.server.get_request_handler("tools/call")

    async def call(request: Request, asked: t.CallToolRequestParams) -> Any:
        return await calls.get(asked.name, usual.handler)(request, asked)

    extended(surface.server, "tools/list", "tools", tools)
    surface.server.add_request_handler("tools/call", t.CallToolRequestParams, call)


@asynccontextmanager
async def connected(
    market: Market,
    prepare: Callable[[McpSurface], None] = lambda surface: None,
    client: tuple[str, int] = ("203.0.113.7", 5),
) -> AsyncIterator[Mcp]:
    """Run the surface behind the edge; open a client at that address."""
    surface = McpSurface(market, approach_of, FixedTexts(), (HOST,))
    prepare(surface)
    wire = httpx.ASGITransport(edged(surface, market), client=client)
    async with surface.running(), httpx.AsyncClient(transport=wire, base_url=f"https://{HOST}") as http:
        yield Mcp(http, surface)


def from_address(mcp: Mcp, market: Market, ip: str) -> Mcp:
    """Return another client of the same surface, at another address."""
    wire = httpx.ASGITransport(edged(mcp.surface, market), client=(ip, 5))
    return Mcp(httpx.AsyncClient(transport=wire, base_url=f"https://{HOST}"), mcp.surface)
