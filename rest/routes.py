"""REST: one ASGI application over the whole registry. It routes requests, calls the market and writes answers."""

import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

import orjson

from rest.arguments import arguments_of, is_dry_run
from rest.deprecation import with_deprecation_headers
from rest.headers import Headers, etag, matches, of_answer, version_tag
from rest.stream import DOCUMENT, EVENTS, head_of_stream, send_stream
from rest.x402_http import as_x402, watch_disconnect
from tools.engine.caller import CallRequest, Surface
from tools.engine.dispatch import Market
from tools.engine.errors import InvalidRequest, MethodNotAllowed, RouteNotFound
from tools.engine.idempotency import Response
from tools.engine.oauth import challenge
from tools.engine.registry import CATALOGUE, Operation
from tools.kernel.errors import Json, MarketError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
RequestOf = Callable[[Scope, Surface], CallRequest]

CREDENTIALS = (b"authorization", b"x-api-key", b"signature")
ALIASES = {b".well-known/x402": b"v1/x402"}  # paths that x402 clients look for, and ours
VERSION = re.compile(r'"?(\d{1,16})"?')
Parts = tuple[str, ...]
Methods = dict[str, Operation]


class Router:
    """The routes by shape.

    A literal path takes one lookup, a path with parameters one per arrangement of them.

    A last parameter whose values may contain slashes takes the rest of a longer path, because some callers do not
    encode them.
    """

    def __init__(self, operations: list[Operation]) -> None:
        self.literal: dict[Parts, Methods] = {}
        self.named: dict[int, dict[tuple[int, ...], dict[Parts, tuple[Methods, Parts]]]] = {}  # length, places, words
        self.open: dict[Parts, tuple[Methods, Parts]] = {}  # by the parts before the rest
        for op in operations:
            parts = tuple(op.path.strip("/").split("/"))
            self._place(parts)[op.method] = op
            if takes_slashes(op):
                self.open.setdefault(parts[:-1], ({}, parts))[0][op.method] = op

    def _place(self, parts: Parts) -> Methods:
        fixed = tuple(place for place, part in enumerate(parts) if not part.startswith("{"))
        if len(fixed) == len(parts):
            return self.literal.setdefault(parts, {})
        shapes = self.named.setdefault(len(parts), {}).setdefault(fixed, {})
        return shapes.setdefault(tuple(parts[place] for place in fixed), ({}, parts))[0]

    def find(self, parts: Parts) -> tuple[Methods, Parts] | None:
        """Return the operations of a path by method, and the matched shape; literal paths first."""
        literal = self.literal.get(parts)
        if literal is not None:
            return literal, parts
        for fixed, shapes in self.named.get(len(parts), {}).items():
            found = shapes.get(tuple([parts[place] for place in fixed]))
            if found is not None:
                return found
        return next((found for head, found in self.open.items() if parts[: len(head)] == head != parts), None)


class Rest:
    """The REST application.

    `request_of` reads the credentials from the request; the market does everything else.
    """

    def __init__(self, market: Market, request_of: RequestOf) -> None:
        self.market, self.request_of = market, request_of
        self.table = Router([op for op in CATALOGUE.values() if Surface.REST in op.surfaces])
        self.versioned = {op.path for op in CATALOGUE.values() if "if_version" in op.input.model_fields}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = self.request_of(scope, Surface.REST)
        try:
            op, path = self._route(scope)
            if op.deprecated is not None:
                send = with_deprecation_headers(send, op)
            body = await read_body(receive)
            request, given = request.with_body(body), partial(given_in, op, path, scope, body)
            if scope["query_string"] and is_dry_run(op, scope["query_string"]):
                request = replace(request, dry_run=True)
        except ClientGone:
            return
        except MarketError as error:
            answer = self.market.refuse_anonymous(error, request)
            await self._send(scope, send, answer, _allow(error))
            return
        if op.streams:
            await self._stream(op, given, request, scope, receive, send)
            return
        key = None if op.safe else idempotency_key(scope)
        if op.paid_rate is not None:
            async with watch_disconnect(receive) as gone:
                answer = await self.market.call(op, given, replace(request, client_disconnected=gone), key)
            await self._send(scope, send, *as_x402(answer))
            return
        answer = await self.market.call(op, given, request, key)
        tag_of = version_tag if op.path in self.versioned else etag
        await self._send(scope, send, answer, [], tag_of, op.cache_seconds)

    async def _stream(
        self,
        op: Operation,
        given: Callable[[], dict[str, Json]],
        request: CallRequest,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        head_only = scope["method"] == "HEAD"
        opened = await self.market.stream(op, given, request, head_only=head_only)
        framing = EVENTS if op.document is None else DOCUMENT
        if isinstance(opened, Response):
            await self._send(scope, send, opened, [])
        elif head_only:
            await head_of_stream(opened, send, framing)
        else:
            await send_stream(opened, receive, send, framing)

    def _route(self, scope: Scope) -> tuple[Operation, dict[str, str]]:
        raw = scope.get("raw_path") or scope["path"].encode()
        path = raw.split(b"?")[0].lstrip(b"/")
        path = ALIASES.get(path, path)
        parts = _parts(path.rstrip(b"/"))
        found = self.table.find(parts)
        if found is None:
            raise RouteNotFound(f"there is no path /{'/'.join(parts)[:200]}")
        methods, shape = found
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        op = methods.get(method)
        if op is None:
            raise MethodNotAllowed(f"{scope['method'][:20]} is not served here", allowed=sorted(methods))
        last = len(shape) - 1
        takes_all = shape[:-1] in self.table.open  # then a slash at the end belongs to the value
        rest = _parts(path)[last:] if takes_all else parts[last:]
        values = (*parts[:last], "/".join(rest))
        return op, {name[1:-1]: value for name, value in zip(shape, values, strict=True) if name.startswith("{")}

    async def _send(
        self,
        scope: Scope,
        send: Send,
        answer: Response,
        more: Headers,
        tag_of: Callable[[bytes], bytes] = etag,
        cache_seconds: int = 0,
    ) -> None:
        headers = [*of_answer(answer, cache_seconds), *more, *self._challenge(scope, answer)]
        body = answer.body
        if answer.error is not None and not answer.refused:  # terms of payment: sent beside the error
            body = b'{"error":' + orjson.dumps(answer.error) + b"," + body[1:]
        if scope["method"] in ("GET", "HEAD") and answer.status == 200:
            tag = tag_of(body)
            headers.append((b"etag", tag))
            known = dict(scope["headers"]).get(b"if-none-match")
            if known is not None and matches(known, tag):
                await reply(send, 304, b"", headers, None)
                return
        await reply(send, answer.status, body, headers, b"application/json", scope["method"] == "HEAD")

    def _challenge(self, scope: Scope, answer: Response) -> Headers:
        if answer.status != 401:
            return []
        tried = any(name in CREDENTIALS for name, _ in scope["headers"])
        return [(b"www-authenticate", challenge(self.market.config.urls, scope["headers"], "", tried=tried))]


class ClientGone(Exception):
    """The client disconnected before its request was complete: nothing is done or answered."""


async def read_body(receive: Receive) -> bytes:
    """Read the whole body, whose size the edge has limited.

    Raises ClientGone.
    """
    chunks = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunks.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(chunks)


async def reply(
    send: Send, status: int, body: bytes, headers: Headers, kind: bytes | None, head_only: bool = False
) -> None:
    described = [] if kind is None else [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": [*described, *headers]})
    await send({"type": "http.response.body", "body": b"" if head_only else body})


def given_in(op: Operation, path: dict[str, str], scope: Scope, body: bytes) -> dict[str, Json]:
    """Return the arguments of a request.

    The market calls this after authentication and rate limiting, because parsing a body is expensive.
    """
    given = with_if_match(op, scope, arguments_of(op, path, scope["query_string"], body))
    return with_last_event_id(scope, given) if op.streams and op.document is None else given


def with_last_event_id(scope: Scope, arguments: dict[str, Json]) -> dict[str, Json]:
    """Replace `since` by Last-Event-ID, which a reconnecting client sends."""
    last = dict(scope["headers"]).get(b"last-event-id", b"").decode("latin-1")
    return {**arguments, "since": last} if last else arguments


def with_if_match(op: Operation, scope: Scope, arguments: dict[str, Json]) -> dict[str, Json]:
    """Add the version in If-Match to the arguments, if the operation takes a version."""
    header = dict(scope["headers"]).get(b"if-match")
    if header is None or "if_version" not in op.input.model_fields:
        return arguments
    found = VERSION.fullmatch(header.decode("latin-1").strip())
    version = None if found is None else int(found[1])
    if version is None:
        raise InvalidRequest("If-Match: a version as a read has shown it", param="If-Match")
    if arguments.get("if_version") not in (None, version):
        raise InvalidRequest("If-Match: another version than if_version", param="If-Match")
    return {**arguments, "if_version": version}


def takes_slashes(op: Operation) -> bool:
    """Check whether the last parameter of the path may contain slashes."""
    if not op.path.endswith("}"):
        return False
    schema = op.input.model_json_schema()["properties"][op.path_names[-1]]
    return "pattern" in schema and re.fullmatch(schema["pattern"], "a/b") is not None


def idempotency_key(scope: Scope) -> str | None:
    given = dict(scope["headers"]).get(b"idempotency-key")
    return None if given is None else given.decode("latin-1")


def _allow(error: MarketError) -> Headers:
    if not isinstance(error, MethodNotAllowed):
        return []
    return [(b"allow", ", ".join(error.details["allowed"]).encode())]


def _parts(raw: bytes) -> Parts:
    """Split a path, then decode each segment, so that %2F is not a slash."""
    if b"%" not in raw:
        return tuple(raw.decode("utf-8", "replace").split("/"))
    return tuple(unquote_to_bytes(part).decode("utf-8", "replace") for part in raw.split(b"/"))
