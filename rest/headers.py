"""Response headers of the REST API: ETags, rate limits, replays, deprecation and x402 payments."""

from calendar import timegm
from dataclasses import replace
from datetime import UTC, datetime, time
from email.utils import format_datetime
from typing import Any

import orjson
from starlette.types import Message, Scope, Send

from protocol.http import JSON, header_values, send_response
from tools.engine.idempotency import Response
from tools.engine.rate_limits import RateLimitStatus
from tools.engine.registry import CATALOGUE, Operation
from tools.purchases.quotes import header, settled_headers

Headers = list[tuple[bytes, bytes]]
OF_ONE_CALLER: Headers = [(b"vary", b"Authorization, X-API-Key"), (b"cache-control", b"no-store")]
CHANGELOG = "/v1/changelog"
INTEGER, TEXT, TRUE = {"type": "integer", "minimum": 0}, {"type": "string"}, {"const": "true"}
HEADERS: dict[str, str] = {
    "X-Request-Id": "Names this request in the market's logs; quote it when asking for help.",
    "ETag": "Strong validator of the body; send it back as If-None-Match.",
    "Idempotent-Replayed": "Present when this is the stored answer of an earlier call.",
    "Dry-Run": "Present when nothing was done: the call was a dry run.",
    "Retry-After": "Whole seconds to wait before the same call again.",
    "WWW-Authenticate": "The scheme credentials are sent with, and where OAuth clients learn how to get one (RFC 9728).",
    "Deprecation": "Present on answers of an operation that is on its way out: since when, as @<seconds> (RFC 9745).",
    "Sunset": "The day that operation may be gone (RFC 8594); Link names what to read and what to call instead.",
    "PAYMENT-REQUIRED": "What to sign: x402 version 2, PaymentRequired, as base64 of JSON.",
    "PAYMENT-RESPONSE": "The payment that was taken, as base64 of JSON; X-PAYMENT-RESPONSE says it to version 1.",
    "RateLimit-Limit": "Calls allowed in the window.",
    "RateLimit-Remaining": "Calls left in the window.",
    "RateLimit-Reset": "Seconds until the window ends.",
    "RateLimit": 'The same in one field: "<window>";r=<left>;t=<seconds>.',
    "RateLimit-Policy": 'The window: "<window>";q=<calls>;w=<seconds>.',
}
SCHEMAS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"), INTEGER),
    **dict.fromkeys(("Idempotent-Replayed", "Dry-Run"), TRUE),
}  # of the values that are not any text
QUOTA = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit", "RateLimit-Policy")


def documented(parts: Any) -> dict[str, Any]:
    """Return the header components of openapi.json that these parts refer to."""
    text = orjson.dumps(parts).decode()
    return {
        name: {"description": what, "schema": SCHEMAS.get(name, TEXT)}
        for name, what in HEADERS.items()
        if f'"#/components/headers/{name}"' in text
    }


def headers_named(*names: str) -> dict[str, Any]:
    """Return references to these headers and to X-Request-Id, which every answer has."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-Id", *names)}


def version_tag(body: bytes) -> bytes:
    """Return the ETag of a versioned record, as If-Match accepts it."""
    return b'"%d"' % orjson.loads(body)["version"]


def matches(given: bytes, tag: bytes) -> bool:
    """Check whether If-None-Match names this ETag (RFC 9110, 13.1.2: weak comparison)."""
    tags = [part.strip().removeprefix(b"W/") for part in given.split(b",")]
    return b"*" in tags or tag in tags


async def send_tagged(scope: Scope, send: Send, body: bytes, tag: bytes, headers: Headers, kind: bytes = JSON) -> None:
    """Send a read with its ETag, or 304 without a body if the client has it (RFC 9110, 13.1.2)."""
    headers.append((b"etag", tag))
    known = header_values(scope).get(b"if-none-match")
    if known is not None and matches(known, tag):
        await send_response(send, 304, b"", *headers, kind=None)
    else:
        await send_response(send, 200, body, *headers, kind=kind, head_only=scope["method"] == "HEAD")


def of_answer(answer: Response, cache_seconds: int = 0) -> Headers:
    """Return the headers for caching, rate limits, replays and retries.

    A successful answer that is the same for all callers may be cached for `cache_seconds`.
    """
    headers = [*OF_ONE_CALLER]
    if cache_seconds and answer.status == 200:
        headers = [(b"cache-control", b"public, max-age=%d" % cache_seconds)]
    if answer.replayed:
        headers.append((b"idempotent-replayed", b"true"))
    if answer.dry_run:
        headers.append((b"dry-run", b"true"))
    headers += of_limits(answer)
    return headers


def of_limits(answer: Response) -> Headers:
    """Return the headers that say when to call again, and the state of the rate limit."""
    headers = of_quota(answer.quota) if answer.quota else []
    if answer.refusal is not None and answer.refusal.retry_after_seconds is not None:
        headers.append((b"retry-after", b"%d" % answer.refusal.retry_after_seconds))
    elif answer.status in (502, 503):
        headers.append((b"retry-after", b"2"))
    return headers


def of_quota(quota: RateLimitStatus) -> Headers:
    """Return both forms: the three old fields, and the draft's RateLimit and RateLimit-Policy."""
    left = max(0, quota.remaining)
    name = quota.rate.encode()
    return [
        (b"ratelimit-limit", b"%d" % quota.limit),
        (b"ratelimit-remaining", b"%d" % left),
        (b"ratelimit-reset", b"%d" % quota.reset_seconds),
        (b"ratelimit-policy", b'"%s";q=%d;w=%d' % (name, quota.limit, quota.window_seconds)),
        (b"ratelimit", b'"%s";r=%d;t=%d' % (name, left, quota.reset_seconds)),
    ]


def notice_of(op: Operation) -> Headers:
    """Return the deprecation headers of an operation; none if it is not deprecated."""
    said = op.deprecated
    if said is None:
        return []
    headers = [(b"deprecation", b"@%d" % timegm(said.since.timetuple()))]
    if said.sunset is not None:
        headers.append((b"sunset", format_datetime(datetime.combine(said.sunset, time(), UTC), usegmt=True).encode()))
    links = f'<{CHANGELOG}>; rel="deprecation"; type="application/json"'
    if said.successor is not None and "{" not in (path := CATALOGUE[said.successor].path):
        links += f', <{path}>; rel="successor-version"'
    return [*headers, (b"link", links.encode())]


def with_deprecation_headers(send: Send, op: Operation) -> Send:
    """Wrap `send` so that every answer has the operation's deprecation headers."""
    headers = notice_of(op)

    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *headers]}
        await send(message)

    return told


def as_x402(answer: Response) -> tuple[Response, Headers]:
    """Return an answer in the format of x402, and its headers.

    In terms of payment `error` is a text, and a header has them in version 2. A result has headers with the
    payment.
    """
    if answer.refused:
        return answer, []
    told = orjson.loads(answer.body)
    if answer.error is not None:
        return replace(answer, error=None), [(b"payment-required", header(told["required"]).encode())]
    said, older = settled_headers(told["paid"])
    return answer, [(b"payment-response", said.encode()), (b"x-payment-response", older.encode())]
