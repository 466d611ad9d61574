"""Every protocol into one market: the same call over REST, MCP in both eras, and A2A in three forms."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cache
from typing import Any
from uuid import uuid4

import httpx
import uvicorn
from mcp.client import Client

from server.adapters.clock import SystemDice
from server.app import assemble
from server.http_limits import bounded_http
from server.middleware import Edge, hosts_of
from server.settings import Settings
from tests.support.brief_texts import is_short_for
from tests.support.listening import listen
from tests.support.market import TestMarket
from tests.support.untrusted_markers import unfenced
from tools.catalogue import CATALOGUE

Call = Callable[[str, Mapping[str, Any], str | None], Awaitable[Any]]
WIRES = ("rest", "mcp-legacy", "mcp-modern", "a2a-rpc-1.0", "a2a-http-1.0", "a2a-rpc-0.3")


@asynccontextmanager
async def served(market: TestMarket, *, named: bool = False) -> AsyncIterator[str]:
    """Serve the market behind the real edge and server, on a free port.

    If `named`, its documents contain this address.
    """
    listening = listen()
    place = f"127.0.0.1:{listening.getsockname()[1]}"
    hosts = hosts_of([f"http://{place}"])
    if named:
        market.market.services.config = replace(market.market.config, base_url=f"http://{place}")
    surfaces = assemble(market.market, _settings(), hosts)
    edge = Edge(surfaces, hosts, market.market.config.docs_url, SystemDice())
    http = bounded_http(market.market.config.docs_url)
    config = uvicorn.Config(
        edge, http=http, lifespan="off", log_level="warning", access_log=False, ws="none", proxy_headers=False
    )
    server = uvicorn.Server(config)
    stop = asyncio.Event()
    serving = asyncio.create_task(_serve(server, listening, surfaces.mcp.running(), stop))
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.005)
    try:
        yield f"http://{place}"
    finally:
        stop.set()
        await serving


@cache
def _settings() -> Settings:
    return Settings(_env_file=None)  # reading the environment takes 6 ms


async def _serve(
    server: uvicorn.Server, listening: socket.socket, sessions: AbstractAsyncContextManager[Any], stop: asyncio.Event
) -> None:
    """Run the MCP sessions in their own task, because the task that enters them must leave them."""
    async with sessions:
        running = asyncio.create_task(server.serve(sockets=[listening]))
        await stop.wait()
        server.should_exit = True
        await running
    listening.close()


@asynccontextmanager
async def wire(name: str, url: str, left_out: list[list[str]] | None = None) -> AsyncIterator[Call]:
    """Open a function that calls operations over one protocol.

    Answers are the record, or {"error": …}. For `left_out`, see `over_mcp`.
    """
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx.AsyncClient(base_url=url, trust_env=False, timeout=30))
        if name == "rest":
            yield lambda op, given, key: over_rest(http, op, given, key)
        elif name.startswith("mcp"):
            mode = "legacy" if name == "mcp-legacy" else "auto"
            client = await stack.enter_async_context(Client(f"{url}/mcp?toolsets=all", mode=mode))
            yield lambda op, given, key: over_mcp(client, op, given, key, left_out)
        else:
            yield lambda op, given, key: over_a2a(http, name, op, given, key)


async def over_rest(http: httpx.AsyncClient, name: str, given: Mapping[str, Any], key: str | None) -> Any:
    op, rest = CATALOGUE[name], dict(given)
    path = op.path
    for part in op.path_names:
        path = path.replace(f"{{{part}}}", str(rest.pop(part)))
    headers = {"X-API-Key": key} if key else {}
    if op.method == "GET":
        query = {key: ",".join(value) if isinstance(value, list) else value for key, value in rest.items()}
        answer = await http.get(path, params=query, headers=headers)
    else:
        headers["Idempotency-Key"] = f"one-call-{uuid4().hex}"
        answer = await http.request(op.method, path, json=rest, headers=headers)
        if answer.is_success and not op.safe:
            again = await http.request(op.method, path, json=rest, headers=headers)
            replay = (again.status_code, again.content, again.headers.get("idempotent-replayed"))
            assert replay == (answer.status_code, answer.content, "true"), f"{name} was done twice"
    body = answer.json()
    if answer.status_code == 402 and "object" in body:  # the only difference: the answer has the terms and the error
        del body["error"]
    return body


async def over_mcp(
    client: Client, name: str, given: Mapping[str, Any], key: str | None, left_out: list[list[str]] | None = None
) -> Any:
    """Call a tool with full detail, as on every other protocol.

    If `left_out` is given, call it in brief, and append the members that the answer lacks.
    """
    detail = {} if left_out is not None else {"detail": "full"}
    answer = await client.call_tool(name, {**detail, **given} | ({"api_key": key} if key else {}))
    said = unfenced(answer.content[0].text, (answer.meta or {}).get("service/untrusted", ()))
    if left_out is not None:
        left_out.append((answer.meta or {}).get("service/left_out", []))
    if answer.is_error:
        assert answer.structured_content is None
        return said
    if left_out is None:
        assert answer.structured_content == said
    assert is_short_for(said, answer.structured_content)
    return answer.structured_content


async def over_a2a(http: httpx.AsyncClient, form: str, name: str, given: Mapping[str, Any], key: str | None) -> Any:
    old, rest = form == "a2a-rpc-0.3", form == "a2a-http-1.0"
    part = {"data": {"tool": name, "arguments": dict(given)}} | ({"kind": "data"} if old else {})
    role = "user" if old else "ROLE_USER"
    message: dict[str, Any] = {"messageId": uuid4().hex, "role": role, "parts": [part]}
    if key:
        message["metadata"] = {"api_key": key}
    if rest:
        answer = await http.post("/a2a/message:send", json={"message": message}, headers={"A2A-Version": "1.0"})
        return answer.json()["message"]["parts"][0]["data"]
    method, headers = ("message/send", {}) if old else ("SendMessage", {"A2A-Version": "1.0"})
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}
    result = (await http.post("/a2a", json=body, headers=headers)).json()["result"]
    return (result if old else result["message"])["parts"][0]["data"]
