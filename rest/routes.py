"""REST: one ASGI application over the whole registry. It routes requests, calls the market and writes answers."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from urllib.parse import unquote_to_bytes

import orjson
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from protocol.http import (
    RequestReader,
    challenged,
    header,
    header_values,
    read_body,
    send_response,
    watch_disconnect,
)
from rest.arguments import arguments_of, is_dry_run
from rest.headers import Headers, as_x402, of_answer, send_tagged, version_tag, with_deprecation_headers
from rest.stream import DOCUMENT, EVENTS, head_of_stream, send_stream
from tools.engine.arguments import Arguments, parse_arguments
from tools.engine.caller import CallRequest, Surface
from tools.engine.dispatch import Market
from tools.engine.errors import InvalidRequest, MethodNotAllowed, RouteNotFound
from tools.engine.idempotency import Response
from tools.engine.json_schemas import input_schema
from tools.engine.registry import CATALOGUE, Operation
from tools.kernel.errors import Json, MarketError
from tools.kernel.records import etag

Given = Callable[[], dict[str, Json] | Arguments]

CREDENTIALS = frozenset({b"authorization", b"x-api-key", b"signature"})
ALIASES = {b".well-known/x402": b"v1/x402"}  # paths that x402 clients look for, and ours
VERSION = re.compile(r'"?(\d{1,16})"?')
Parts = tuple[str, ...]
Methods = dict[str, Operation]
KEPT_TARGETS, MAX_KEPT = 4096, 512  # parsed targets of reads, and the bytes of the longest of them


@dataclass(slots=True)
class Target:
    """The operation of a request, the values in its path, and its query."""

    op: Operation
    path: dict[str, str]
    query: bytes
    arguments: Arguments | None = None  # of a read, once it was called

    def read(self) -> Arguments:
        """Return the arguments of a read, which has no body."""
        if self.arguments is None:
            self.arguments = parse_arguments(self.op.input, arguments_of(self.op, self.path, self.query, b""))
        return self.arguments


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
        self.names: dict[Parts, tuple[tuple[int, str], ...]] = {}  # the parameters of a shape, with their places
        self.kept = lru_cache(KEPT_TARGETS)(self.parse)
        for op in operations:
            parts = tuple(op.path.strip("/").split("/"))
            self._place(parts)[op.method] = op
            self.names[parts] = tuple((at, part[1:-1]) for at, part in enumerate(parts) if part.startswith("{"))
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

    def route(self, scope: Scope) -> Target:
        """Return the target of a request; that of a read is cached.

        Raises RouteNotFound and MethodNotAllowed.
        """
        method, raw, query = scope["method"], _raw_path(scope), scope["query_string"]
        keeps = method == "GET" and len(raw) + len(query) <= MAX_KEPT
        return self.kept(method, raw, query) if keeps else self.parse(method, raw, query)

    def parse(self, method: str, raw: bytes, query: bytes) -> Target:
        """Find the operation of a method and a path. Raises RouteNotFound and MethodNotAllowed."""
        path = _path(raw)
        parts = _parts(path.rstrip(b"/"))
        found = self.find(parts)
        if found is None:
            raise RouteNotFound(f"there is no path /{'/'.join(parts)[:200]}")
        methods, shape = found
        op = methods.get("GET" if method == "HEAD" else method)
        if op is None:
            raise MethodNotAllowed(f"{method[:20]} is not served here", allowed=sorted(methods))
        if shape[:-1] in self.open:  # then a slash at the end belongs to the value
            last = len(shape) - 1
            parts = (*parts[:last], "/".join(_parts(path)[last:]))
        return Target(op, {name: parts[place] for place, name in self.names[shape]}, query)


class Rest:
    """The REST application.

    `request_of` reads the credentials from the request; the market does everything else.
    """

    def __init__(self, market: Market, request_of: RequestReader) -> None:
        self.market, self.request_of = market, request_of
        self.table = Router([op for op in CATALOGUE.values() if Surface.REST in op.surfaces])
        self.versioned = {op.path for op in CATALOGUE.values() if "if_version" in op.input.model_fields}

    def serves(self, scope: Scope) -> bool:
        """Check whether the path is that of an operation, by any method."""
        return self.table.find(_parts(_path(_raw_path(scope)).rstrip(b"/"))) is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = self.request_of(scope, Surface.REST)
        try:
            target = self.table.route(scope)
            op = target.op
            if op.deprecated is not None:
                send = with_deprecation_headers(send, op)
            body = await read_body(scope, receive)
            request.set_body(body)
            reads = op.method == "GET" and not op.streams
            given: Given = target.read if reads else partial(given_in, op, target.path, scope, body)
            if scope["query_string"] and is_dry_run(op, scope["query_string"]):
                request.dry_run = True
        except ClientDisconnect:
            return
        except MarketError as error:
            answer = self.market.refuse_anonymous(error, request)
            allowed = error.details["allowed"] if isinstance(error, MethodNotAllowed) else []
            await self._send(scope, send, answer, [(b"allow", ", ".join(allowed).encode())] if allowed else [])
            return
        if op.streams:
            await self._stream(op, given, request, scope, receive, send)
            return
        key = None if op.safe else header(scope, b"idempotency-key")
        if op.paid_rate is not None:
            async with watch_disconnect(receive) as gone:
                request.client_disconnected = gone
                answer = await self.market.call(op, given, request, key)
            await self._send(scope, send, *as_x402(answer))
            return
        answer = await self.market.call(op, given, request, key)
        await self._send(scope, send, answer, [], op)

    async def _stream(
        self, op: Operation, given: Given, request: CallRequest, scope: Scope, receive: Receive, send: Send
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

    async def _send(
        self, scope: Scope, send: Send, answer: Response, more: Headers, op: Operation | None = None
    ) -> None:
        """Send an answer; that of `op` may be cached, and has the tag of its version."""
        headers, body = [*of_answer(answer, 0 if op is None else op.cache_seconds), *more], answer.body
        if answer.status == 401:
            tried = not CREDENTIALS.isdisjoint(header_values(scope))
            headers += challenged(answer, self.market.config, scope["headers"], "", tried=tried)
        if answer.error is not None and not answer.refused:  # terms of payment: sent beside the error
            body = b'{"error":' + orjson.dumps(answer.error) + b"," + body[1:]
        if scope["method"] in ("GET", "HEAD") and answer.status == 200:
            is_versioned = op is not None and op.path in self.versioned
            tag = answer.tag or (version_tag(body) if is_versioned else etag(body))
            await send_tagged(scope, send, body, tag, headers)
            return
        await send_response(send, answer.status, body, *headers, head_only=scope["method"] == "HEAD")


def given_in(op: Operation, path: dict[str, str], scope: Scope, body: bytes) -> dict[str, Json]:
    """Return the arguments of a request, with those that are sent as headers.

    The market calls this after authentication and rate limiting, because parsing a body is expensive. A reconnecting
    client of a stream sends Last-Event-ID, which replaces `since`.
    """
    given = with_if_match(op, header(scope, b"if-match"), arguments_of(op, path, scope["query_string"], body))
    resumes = op.streams and op.document is None and header(scope, b"last-event-id")
    return {**given, "since": resumes} if resumes else given


def with_if_match(op: Operation, sent: str | None, arguments: dict[str, Json]) -> dict[str, Json]:
    """Add the version in If-Match to the arguments, if the operation takes a version."""
    if sent is None or "if_version" not in op.input.model_fields:
        return arguments
    found = VERSION.fullmatch(sent.strip())
    if found is None:
        raise InvalidRequest("If-Match: a version as a read has shown it", param="If-Match")
    version = int(found[1])
    if arguments.get("if_version") not in (None, version):
        raise InvalidRequest("If-Match: another version than if_version", param="If-Match")
    return {**arguments, "if_version": version}


def takes_slashes(op: Operation) -> bool:
    """Check whether the last parameter of the path may contain slashes."""
    if not op.path.endswith("}"):
        return False
    schema = input_schema(op)["properties"][op.path_names[-1]]
    return "pattern" in schema and re.fullmatch(schema["pattern"], "a/b") is not None


def _raw_path(scope: Scope) -> bytes:
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw


def _path(raw: bytes) -> bytes:
    """Return the path as it was sent, without slashes before it; an alias is replaced."""
    path = raw.partition(b"?")[0].lstrip(b"/")
    return ALIASES.get(path, path)


def _parts(raw: bytes) -> Parts:
    """Split a path, then decode each segment, so that %2F is not a slash."""
    if b"%" not in raw:
        return tuple(raw.decode("utf-8", "replace").split("/"))
    return tuple(unquote_to_bytes(part).decode("utf-8", "replace") for part in raw.split(b"/"))
