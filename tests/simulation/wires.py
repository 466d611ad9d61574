"""Calls to a market in this process: through its door, and through the ASGI application as REST, MCP or A2A."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

import orjson
from starlette.types import ASGIApp

from tests.simulation.loop import SimulatedLoop
from tests.support.mcp_requests import call as mcp_call
from tools.catalogue import CATALOGUE
from tools.engine.caller import CallRequest, Surface
from tools.engine.dispatch import Market
from tools.engine.registry import Operation
from tools.kernel.errors import MarketError

HOST = "market.test"
MCP_VERSION = "2025-11-25"
UNSURE = (500, 503)  # answers that say nothing about the effect of a call
WIRES = ("door", "rest", "mcp", "a2a")
ADDRESS = "203.0.113.9"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an agent; `number` is its place in the run."""

    number: int
    operation: str
    arguments: Mapping[str, Any]
    key: str | None = None
    idempotency_key: str | None = None
    wire: str = "door"
    ip: str = ADDRESS
    dry_run: bool = False
    payment: str | None = None  # a signed payment (x402)

    @property
    def env(self) -> str:
        """The environment of the key; test without one."""
        return "live" if (self.key or "").startswith("as_live_") else "test"

    @property
    def op(self) -> Operation:
        return CATALOGUE[self.operation]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a call: REST's status, and the record or {"error": …}."""

    status: int
    body: Any

    @property
    def refused(self) -> bool:
        return self.status >= 400

    @property
    def code(self) -> str | None:
        """The code of the error, or the text of x402's; None for a record."""
        error = self.body.get("error") if self.refused else None
        return error["code"] if isinstance(error, dict) else error


def address_of(number: int) -> str:
    """Return one of 131,072 addresses (RFC 2544)."""
    return f"198.{18 + (number >> 16 & 1)}.{number >> 8 & 255}.{number & 255}"


async def through_door(market: Market, call: Call) -> Answer:
    request = CallRequest(
        Surface.REST, call.ip, f"req_{call.number:08d}", credential=call.key, dry_run=call.dry_run, payment=call.payment
    )
    if call.op.auth == "admin":
        request = replace(request, credential=None, admin_token=call.key)
    answer = await market.call(call.op, dict(call.arguments), request, call.idempotency_key)
    return Answer(answer.status, orjson.loads(answer.body))


async def over_rest(app: ASGIApp, loop: SimulatedLoop, call: Call) -> Answer:
    path, rest = call.op.path, dict(call.arguments)
    for name in call.op.path_names:
        path = path.replace(f"{{{name}}}", quote(str(rest.pop(name)), safe=""))
    headers = [("x-api-key", call.key)] if call.key else []
    if call.idempotency_key and not call.op.safe:
        headers.append(("idempotency-key", call.idempotency_key))
    if call.dry_run:
        headers.append(("dry-run", "true"))
    if call.op.method in ("GET", "DELETE"):
        listed = {name: ",".join(value) if isinstance(value, list) else value for name, value in rest.items()}
        status, body = await request(app, loop, call, call.op.method, path, headers, query=urlencode(listed))
    else:
        headers.append(("content-type", "application/json"))
        status, body = await request(app, loop, call, call.op.method, path, headers, orjson.dumps(rest))
    return Answer(status, orjson.loads(body) if body else {})


async def over_mcp(app: ASGIApp, loop: SimulatedLoop, call: Call) -> Answer:
    given = dict(call.arguments) | {"detail": "full"}
    if call.key:
        given["api_key"] = call.key
    if call.idempotency_key and not call.op.safe:
        given["idempotency_key"] = call.idempotency_key
    if call.dry_run:
        given["dry_run"] = True
    posted = mcp_call(MCP_VERSION, call.operation, given)
    headers = [pair for pair in posted.headers if pair[0] != "host"]
    _, body = await request(app, loop, call, "POST", "/mcp", headers, posted.body, "toolsets=all")
    streamed = [line.removeprefix(b"data: ") for line in body.splitlines() if line.startswith(b"data: ")]
    result = orjson.loads(streamed[-1] if streamed else body)["result"]  # a call that waits is answered by a stream
    if not result.get("isError"):
        return Answer(200, result["structuredContent"])
    return _refusal(orjson.loads(result["content"][0]["text"]))


async def over_a2a(app: ASGIApp, loop: SimulatedLoop, call: Call) -> Answer:
    metadata = {"api_key": call.key} if call.key else {}
    if call.idempotency_key and not call.op.safe:
        metadata["idempotency_key"] = call.idempotency_key
    message = {
        "messageId": f"m{call.number}",
        "role": "ROLE_USER",
        "parts": [{"data": {"tool": call.operation, "arguments": dict(call.arguments)}}],
        "metadata": metadata | ({"dry_run": True} if call.dry_run else {}),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    headers = [("content-type", "application/json"), ("a2a-version", "1.0")]
    _, answer = await request(app, loop, call, "POST", "/a2a", headers, orjson.dumps(body))
    record = orjson.loads(answer)["result"]["message"]["parts"][0]["data"]
    return _refusal(record) if set(record) == {"error"} else Answer(200, record)


def _refusal(body: Any) -> Answer:
    return Answer(STATUS_OF.get(body["error"]["code"], 400), body)


def _statuses(kind: type[MarketError] = MarketError) -> dict[str, int]:
    """Return the HTTP status of each error code."""
    found = {kind.code: kind.status} if "code" in kind.__dict__ else {}
    for more in kind.__subclasses__():
        found |= _statuses(more)
    return found


async def request(
    app: ASGIApp,
    loop: SimulatedLoop,
    call: Call,
    method: str,
    path: str,
    headers: list[tuple[str, str]],
    body: bytes = b"",
    query: str = "",
) -> tuple[int, bytes]:
    """Send one request to the application; return status and body."""
    said: list[Any] = []
    parts = [{"type": "http.request", "body": body, "more_body": False}]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode(), "scheme": "http", "root_path": "", "query_string": query.encode(),
        "client": (call.ip, 5), "server": (HOST, 80), "state": {},
        "headers": [(b"host", HOST.encode())] + [(name.encode(), value.encode()) for name, value in headers],
    }  # fmt: skip

    async def receive() -> Any:
        return parts.pop() if parts else await loop.create_future()  # the client never disconnects

    async def send(message: Any) -> None:
        said.append(message)

    await app(scope, receive, send)
    return said[0]["status"], b"".join(part.get("body", b"") for part in said[1:])


STATUS_OF = _statuses()
OVER: Mapping[str, Callable[[ASGIApp, SimulatedLoop, Call], Any]] = {
    "rest": over_rest,
    "mcp": over_mcp,
    "a2a": over_a2a,
}
