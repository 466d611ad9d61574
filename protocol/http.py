"""HTTP helpers for all protocols: read headers, pass a read body on, refuse before an SDK is involved, send a response."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from tools.engine.caller import CallRequest, Surface
from tools.engine.config import MarketConfig
from tools.engine.dispatch import Market
from tools.engine.idempotency import Response
from tools.engine.oauth import challenge
from tools.engine.protocol_requests import require_credential

Header = tuple[bytes, bytes]
JSON = b"application/json"
CREDENTIALS = (b"authorization", b"x-api-key", b"signature", b"signature-input")
FRAMING = frozenset({b"content-length", b"transfer-encoding"})
VALUES = "header_values"  # the place of `header_values` in a request's state
FAST_PATHS = True  # False leaves every request to the SDKs, which answer with the same JSON, only slower


class RequestReader(Protocol):
    """A function that reads a call's origin and credentials from an HTTP request."""

    def __call__(self, scope: Scope, surface: Surface, body: bytes = b"") -> CallRequest: ...


class Refused(Exception):
    """A request that the market refuses in its own form, before an SDK sees it."""

    def __init__(self, answer: Response, *headers: Header) -> None:
        super().__init__(answer.status)
        self.answer, self.headers = answer, headers


def check(refusal: Response | None) -> None:
    """Raise Refused if there is a refusal."""
    if refusal is not None:
        raise Refused(refusal)


async def check_credential(market: Market, request: CallRequest, sent: Sequence[Header], path: str) -> None:
    """Raise Refused with a challenge for OAuth if the caller is not authenticated.

    `sent` are the headers of the request.
    """
    if refusal := await require_credential(market, request):
        tried = not request.is_anonymous
        raise Refused(refusal, *challenged(refusal, market.config, sent, path, tried=tried))


def header_values(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers of a request by name; of a repeated one the last.

    They are read once for each request.
    """
    try:
        values: dict[bytes, bytes] = scope["state"][VALUES]
    except KeyError:
        values = scope.setdefault("state", {})[VALUES] = dict(scope["headers"])
    return values


def header(scope: Scope, name: bytes) -> str | None:
    value = header_values(scope).get(name)
    return None if value is None else value.decode("latin-1")


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """Read the body of a request; raise ClientDisconnect if the client left before its end.

    `Request.body` of Starlette does the same in three times the time, which every call would pay. A GET with neither
    Content-Length nor Transfer-Encoding has no body (RFC 9112, 6.3).
    """
    chunks: list[bytes] = []
    more = scope["method"] != "GET" or not FRAMING.isdisjoint(header_values(scope))
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(chunks)


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives this body first, and then what follows it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        return waiting.pop() if waiting else await receive()

    return read


async def send_refusal(send: Send, answer: Response, *more: Header) -> None:
    """Send an error in the market's own form, before the SDK is involved."""
    headers: list[Header] = [*more]
    if answer.refusal is not None and answer.refusal.retry_after_seconds is not None:
        headers.append((b"retry-after", b"%d" % answer.refusal.retry_after_seconds))
    if answer.error is not None and "allowed" in answer.error.get("details", {}):
        headers.append((b"allow", ", ".join(answer.error["details"]["allowed"]).encode()))
    await send_response(send, answer.status, answer.body, *headers)


def challenged(
    answer: Response, config: MarketConfig, sent: Sequence[Header], path: str, *, tried: bool
) -> list[Header]:
    """Return the header with which a 401 tells OAuth clients where to log in.

    `sent` are the headers of the request.
    """
    return [(b"www-authenticate", challenge(config.urls, sent, path, tried=tried))] if answer.status == 401 else []


async def send_response(
    send: Send, status: int, body: bytes, *headers: Header, kind: bytes | None = JSON, head_only: bool = False
) -> None:
    """Send a complete response; without a `kind` it has no body."""
    described = [] if kind is None else [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": [*described, *headers]})
    await send({"type": "http.response.body", "body": b"" if head_only else body})


@asynccontextmanager
async def watch_disconnect(receive: Receive) -> AsyncIterator[Callable[[], bool]]:
    """Yield a function that checks whether the client has disconnected.

    The request must have been read completely before.
    """
    task = asyncio.create_task(disconnected(receive), name="client")
    try:
        yield task.done
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def disconnected(receive: Receive) -> None:
    """Return once the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
