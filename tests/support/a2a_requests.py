"""Raw A2A over HTTP for tests: send a message in any of the four forms of the protocol, and read the answer."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from protocol.a2a.server import A2aSurface
from rest.routes import Rest
from tests.support.fixed_market import HOST, approach_of, edged
from tools.engine.context import Surface
from tools.engine.dispatch import Market
from tools.engine.registry import CATALOGUE

RPC_1, RPC_03, HTTP_1, HTTP_03 = "JSON-RPC 1.0", "JSON-RPC 0.3", "HTTP+JSON 1.0", "HTTP+JSON 0.3"
FORMS = (RPC_1, RPC_03, HTTP_1, HTTP_03)
RPC_FORMS = (RPC_1, RPC_03)
VERSION = {"a2a-version": "1.0"}
METHODS = {(RPC_1, False): "SendMessage", (RPC_1, True): "SendStreamingMessage"}
METHODS |= {(RPC_03, False): "message/send", (RPC_03, True): "message/stream"}


@dataclass(frozen=True)
class Heard:
    """An HTTP answer. `body` is its JSON; for a stream, the JSON of the first event."""

    form: str
    status: int
    headers: httpx.Headers
    raw: str
    body: Any

    @property
    def message(self) -> Any:
        """Return the message in the answer, in any of its wrappers."""
        found = self.body["result"] if self.form in RPC_FORMS else self.body
        return found if self.form == RPC_03 else found["message"]

    @property
    def data(self) -> Any:
        """The value of its only data part."""
        parts = [
            part["data"] for part in self.message["content" if self.form == HTTP_03 else "parts"] if "data" in part
        ]
        (value,) = parts
        return value["data"] if self.form == HTTP_03 else value

    @property
    def error(self) -> tuple[int, str]:
        """Code and message of the error, which is JSON-RPC's or HTTP's."""
        error = self.body["error"]
        return error["code"], error["message"]


class A2a:
    """A client of one surface that sends exactly what a test gives."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def call(
        self, form: str, tool: str, arguments: Any = None, /, *, stream: bool = False, headers: Any = (), **message: Any
    ) -> Heard:
        """Send a message with one data part {tool, arguments}.

        Keywords are other members of the message.
        """
        return await self.say(
            form, [{"tool": tool, "arguments": arguments or {}}], stream=stream, headers=headers, **message
        )

    async def say(
        self, form: str, parts: Iterable[Any], *, stream: bool = False, headers: Any = (), **message: Any
    ) -> Heard:
        """Send a message of these parts: objects become data, strings become text."""
        path, body = request(form, message_of(form, parts, **message), stream)
        return await self.post(form, json.dumps(body).encode(), path, headers)

    async def ask(self, form: str, method: str, params: Any, headers: Any = ()) -> Heard:
        """Call any JSON-RPC method."""
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        return await self.post(form, json.dumps(body).encode(), "/a2a", headers)

    async def post(self, form: str, body: bytes, path: str = "/a2a", headers: Any = ()) -> Heard:
        sent = {"content-type": "application/json", **(VERSION if form in (RPC_1, HTTP_1) else {}), **dict(headers)}
        return heard(form, await self.http.post(path, content=body, headers=sent))

    async def fetch(self, form: str, path: str, method: str = "GET", headers: Any = ()) -> Heard:
        sent = {**(VERSION if form in (RPC_1, HTTP_1) else {}), **dict(headers)}
        return heard(form, await self.http.request(method, path, headers=sent))


def message_of(form: str, parts: Iterable[Any], **more: Any) -> dict[str, Any]:
    """Return a message as a client of that form writes it."""
    old_http = form == HTTP_03
    message: dict[str, Any] = {"messageId": "m-1", "role": "user" if form == RPC_03 else "ROLE_USER", **more}
    message |= {"kind": "message"} if form == RPC_03 else {}
    return {**message, "content" if old_http else "parts": [_part(form, part) for part in parts]}


def request(form: str, message: Mapping[str, Any], stream: bool = False) -> tuple[str, dict[str, Any]]:
    """Return the path and body that send a message."""
    params = {"message": message}
    if form in RPC_FORMS:
        return "/a2a", {"jsonrpc": "2.0", "id": 7, "method": METHODS[form, stream], "params": params}
    prefix = "/a2a/v1" if form == HTTP_03 else "/a2a"
    return f"{prefix}/message:{'stream' if stream else 'send'}", params


def _part(form: str, part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"kind": "text", "text": part} if form == RPC_03 else {"text": part}
    return {
        RPC_1: {"data": part, "mediaType": "application/json"},
        HTTP_1: {"data": part},
        RPC_03: {"kind": "data", "data": part},
        HTTP_03: {"data": {"data": part}},
    }[form]


def heard(form: str, answer: httpx.Response) -> Heard:
    kind, raw = answer.headers.get("content-type", ""), answer.text
    if kind.startswith("text/event-stream"):
        events = [line.removeprefix("data:") for line in raw.split("\n") if line.startswith("data:")]
        (event,) = events
        return Heard(form, answer.status_code, answer.headers, raw, json.loads(event))
    return Heard(form, answer.status_code, answer.headers, raw, json.loads(raw) if raw else None)


@asynccontextmanager
async def connected(market: Market, ip: str = "203.0.113.7") -> AsyncIterator[A2a]:
    """Serve the surface behind the edge to a client at that address."""
    wire = httpx.ASGITransport(edged(A2aSurface(market, approach_of), market), client=(ip, 5))
    async with httpx.AsyncClient(transport=wire, base_url=f"https://{HOST}") as http:
        yield A2a(http)


async def over_rest(market: Market, method: str, path: str, **options: Any) -> Any:
    """Return the same market's answer over REST."""
    wire = httpx.ASGITransport(edged(Rest(market, approach_of), market))
    async with httpx.AsyncClient(transport=wire, base_url=f"https://{HOST}") as http:
        return (await http.request(method, path, **options)).json()


async def register(a2a: A2a, name: str = "Ada") -> tuple[str, str]:
    """Register an agent; return its id and test key."""
    made = (await a2a.call(RPC_1, "register_agent", {"name": name})).data
    return made["agent"]["id"], made["api_keys"]["test"]


def error_of(heard: Heard) -> Any:
    """Return the market's error object without its request id.

    It must be the only content of the one data part of a 200 answer.
    """
    assert heard.status == 200
    assert set(heard.data) == {"error"}
    return anonymous(heard.data["error"])


def anonymous(error: Any) -> Any:
    """Return an error object without the id of its request."""
    return {name: value for name, value in error.items() if name != "request_id"}


def spelled(value: Any) -> str:
    """Return the value as JSON, which distinguishes 1, 1.0 and True."""
    return json.dumps(value, sort_keys=True)


def offered() -> list[str]:
    """Return the names of the operations that A2A offers, in order."""
    return [op.name for op in CATALOGUE.values() if Surface.A2A in op.surfaces]


def text_of(form: str, arguments: str) -> tuple[str, bytes]:
    """Return path and body of a call of say_json with this JSON text as arguments."""
    path, body = request(form, message_of(form, [{"tool": "say_json", "arguments": "@@"}]))
    return path, json.dumps(body).replace('"@@"', arguments).encode()
