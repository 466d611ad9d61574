"""The outermost ASGI wrapper: request ids, hosts, origins, CORS, size limits of bodies, and internal errors."""

import re
from collections.abc import Iterable
from itertools import chain
from urllib.parse import urlsplit

import orjson
import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from protocol.http import FRAMING, VALUES, send_response
from server.http_identity import request_id
from server.http_limits import MAX_HEAD, TOO_LARGE
from tools.engine.errors import (
    HeadersTooLarge,
    HostNotAllowed,
    InternalError,
    InvalidIdempotencyKey,
    OriginNotAllowed,
    PayloadTooLarge,
    UnsupportedMediaType,
)
from tools.engine.ports import RandomSource
from tools.kernel.errors import MarketError

Headers = list[tuple[bytes, bytes]]

log = structlog.get_logger("emporion.edge")
KEY = b"idempotency-key"
MAX_BODY = 1_048_576
TOO_LARGE_BODY = f"the body is larger than {MAX_BODY} bytes"
STOCKED = 64  # requests for which random bytes are fetched at once
LOOPBACK = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?")
EXPOSED = (
    b"Deprecation, Dry-Run, ETag, Idempotent-Replayed, Link, Retry-After, RateLimit, RateLimit-Limit, RateLimit-Policy, RateLimit-Remaining, "
    b"RateLimit-Reset, Sunset, X-Request-Id, WWW-Authenticate, PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE"
)
ALWAYS = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", EXPOSED),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


class Refused(Exception):
    """An error found while the body is being read."""

    def __init__(self, error: MarketError) -> None:
        super().__init__(error.message)
        self.error = error


class Edge:
    """The wrapper around the application; `hosts` are the accepted Host headers."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], docs_url: str, dice: RandomSource) -> None:
        self.app, self.hosts, self.docs_url, self.dice = app, hosts, docs_url, RandomPool(dice)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # httptools keeps blanks
        scope["headers"] = headers = [(name.lower(), value.strip()) for name, value in scope["headers"]]
        values = scope.setdefault("state", {})[VALUES] = dict(headers)
        rid = request_id(values.get(b"x-request-id"), self.dice)
        scope["state"]["request_id"] = rid
        reply = _Reply(send, rid)
        try:
            self._check(headers, values)
            if scope["method"] == "OPTIONS":
                await reply.preflight(values.get(b"access-control-request-headers", b"*, Authorization"))
                return
            has_body = scope["method"] != "GET" or not FRAMING.isdisjoint(values)
            await self.app(scope, bounded(receive, values.get(b"content-length", b"0")) if has_body else receive, reply)
        except Refused as refused:
            await reply.error(refused.error, self.docs_url)
        except MarketError as error:
            await reply.error(error, self.docs_url)
        except Exception:
            log.exception("fault", path=scope["path"], request_id=rid)
            await reply.error(InternalError("something went wrong on our side"), self.docs_url)

    def _check(self, headers: Headers, values: dict[bytes, bytes]) -> None:
        host = values.get(b"host", b"").decode("latin-1").lower()
        repeated = [name for name, _ in headers] if len(values) < len(headers) else ()
        if host not in self.hosts or repeated.count(b"host") > 1:
            raise HostNotAllowed("this service is not published under that host")
        if repeated.count(KEY) > 1 and len({value for name, value in headers if name == KEY}) > 1:
            raise InvalidIdempotencyKey("one request has two different keys", param="Idempotency-Key")
        if b"origin" in values and LOOPBACK.fullmatch(host) and not _all_origins_loopback(headers):
            raise OriginNotAllowed("a page of another site may not reach a service on this machine")
        if sum(map(len, chain.from_iterable(headers))) > MAX_HEAD:
            raise HeadersTooLarge(TOO_LARGE)
        if values.get(b"content-encoding", b"identity").lower() != b"identity":
            raise UnsupportedMediaType("compressed bodies are not read", param="Content-Encoding")


class RandomPool:
    """A buffer of random bytes: one system call for each request would cost more."""

    def __init__(self, dice: RandomSource) -> None:
        self.dice, self.kept = dice, b""

    def random_bytes(self, count: int) -> bytes:
        if len(self.kept) < count:
            self.kept = self.dice.random_bytes(count * STOCKED)
        rolled, self.kept = self.kept[:count], self.kept[count:]
        return rolled


def hosts_of(urls: Iterable[str]) -> frozenset[str]:
    """Return the accepted Host headers for base URLs; a default port may be given or left out."""
    found = set[str]()
    for url in urls:
        parts = urlsplit(url)
        default = {"http": 80, "https": 443}[parts.scheme]
        name = (parts.hostname or "").lower()
        name = f"[{name}]" if ":" in name else name
        port = parts.port or default
        found.add(f"{name}:{port}")
        if port == default:
            found.add(name)
    return frozenset(found)


def bounded(receive: Receive, stated: bytes) -> Receive:
    """Limit a body to MAX_BODY bytes; raises Refused while reading it.

    If the Content-Length (`stated`) is already too large, nothing is read.
    """
    seen = 0

    async def read() -> Message:
        nonlocal seen
        if stated.isdigit() and int(stated[:12]) > MAX_BODY:
            raise Refused(PayloadTooLarge(TOO_LARGE_BODY))
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MAX_BODY:
            raise Refused(PayloadTooLarge(TOO_LARGE_BODY))
        return message

    return read


class _Reply:
    """The sender of the application's response, with the headers that every response carries."""

    def __init__(self, send: Send, rid: str) -> None:
        self.send, self.started, self.rid = send, False, rid.encode()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", self.rid), *ALWAYS]
        await self.send(message)

    async def preflight(self, allowed: bytes) -> None:
        """Answer that browsers may send these headers, by any method."""
        headers = [
            (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
            (b"access-control-allow-headers", allowed),
            (b"access-control-max-age", b"86400"),
        ]
        await self({"type": "http.response.start", "status": 204, "headers": headers})
        await self({"type": "http.response.body", "body": b""})

    async def error(self, error: MarketError, docs_url: str) -> None:
        if self.started:
            return  # the response has already begun, so only closing the connection is left
        body = orjson.dumps({"error": error.record(self.rid.decode(), docs_url)})
        headers: Headers = []
        if error.retryable:
            headers.append((b"retry-after", b"2"))
        if "allowed" in error.details:
            headers.append((b"allow", ", ".join(error.details["allowed"]).encode()))
        await send_response(self, error.status, body, *headers)


def _all_origins_loopback(headers: Headers) -> bool:
    origins = [value.decode("latin-1").lower() for name, value in headers if name == b"origin"]
    return all(LOOPBACK.fullmatch(origin.partition("://")[2]) for origin in origins)
