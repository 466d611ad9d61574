"""A2A bodies on their way to the SDK and back: what the SDK must not see, would change, or would answer wrongly.

The SDK turns every data part into a protobuf Struct: numbers become doubles, key order is lost, and nesting ends at 50.
So no data passes through it; placeholders do:

    request       {"parts": [{"data": {"tool": "get_job", "arguments": {…}}}]}
    extract_data  {"parts": [{"data": {}}]}                the SDK reads this; the data part is in CallState.data
    the market    answers with its own JSON text           CallState.documents holds it under the number 0
    stash         {"parts": [{"data": {"held": "0"}}]}     the SDK writes this, in either version and binding
    restore       {"parts": [{"data": {"object": …}}]}     the text in the place of {"held": "0"}, byte for byte
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any

import orjson
from starlette.types import Message, Scope, Send

from protocol.brief import DETAIL, FULL
from protocol.http import CREDENTIALS
from protocol.reserved_arguments import API_KEY, IDEMPOTENCY_KEY, RESERVED, extract
from tools.engine.caller import CallRequest
from tools.engine.dispatch import Market
from tools.engine.errors import InvalidRequest, MalformedJson
from tools.engine.idempotency import Response
from tools.engine.registry import Operation
from tools.kernel.errors import Json, MarketError
from tools.kernel.strict_json import (
    MAX_DEPTH,
    MAX_INTEGER,
    BadJson,
    parse,
    read_leniently,
    validate_tree,
    with_integers,
)

ENVELOPE_DEPTH = 6  # params, message, parts, part, data: the arguments of a call are six levels inside a body
JSON_KIND = re.compile(r"application/([a-z0-9.-]+\+)?json", re.IGNORECASE)
HIDDEN_HEADERS = (*CREDENTIALS, b"idempotency-key")
HELD = "held"
MARK = re.compile(rb'\{"held": ?"(\d+)"\}')
NOT_FINAL = re.compile(rb'"final": ?false')
LINE_BREAKS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))
INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR = -32600, -32602, -32603
OTHER_VERSION = b"Expected version '1.0'."  # the SDK's error for a request without the header
ORDERS, STEPS = {"listing_id", "input"}, {"action", "transaction"}  # members that identify such a data part
MAX_VALUES = 500  # JSON values of a body outside its data parts
MAX_DETAIL = 500  # characters of an error's data


class Placeholders:
    """The documents of one answer, each of which the SDK sees as {"held": "<number>"}."""

    def __init__(self) -> None:
        self.documents: list[bytes] = []

    def hold(self, document: bytes) -> dict[str, str]:
        """Keep a document and return its placeholder."""
        self.documents.append(document)
        return {HELD: str(len(self.documents) - 1)}

    def stash(self, value: Json, old: bool) -> Json:
        """Replace the data and metadata of a task, message or event by placeholders."""
        if isinstance(value, list):
            return [self.stash(one, old) for one in value]
        if not isinstance(value, dict):
            return value
        if old and not isinstance(value.get("data", {}), dict):  # data parts of 0.3 are objects
            value = {**value, "data": {"value": value["data"]}, "metadata": {"data_part_compat": True}}
        return {
            name: self.hold(orjson.dumps(one)) if name in ("data", "metadata") else self.stash(one, old)
            for name, one in value.items()
        }

    def restore(self, body: bytes, without: bytes = b"") -> bytes:
        """Insert the documents at their placeholders, without the bytes of `without`."""
        return MARK.sub(lambda mark: self.documents[int(mark[1])].translate(None, without), body)


@dataclass(slots=True)
class CallState:
    """One request beside the SDK, which knows only a part of it."""

    # the caller, and how it calls
    request: CallRequest
    idempotency_key: str | None = None
    detail: str = FULL
    over_rpc: bool = True  # otherwise HTTP+JSON
    old: bool = False  # protocol 0.3
    seller: str | None = None  # the id of the agent whose own endpoint was called
    pays: bool = False  # the client has activated the extension for x402
    # what was taken out of the body
    data: list[dict[str, Json]] = field(default_factory=list)  # the message's data parts that are objects
    metadata: dict[str, Json] = field(default_factory=dict)  # the message's metadata, without the reserved keys
    refusal: MarketError | None = None  # the error in what was taken out, if any
    # what the answer needs
    documents: Placeholders = field(default_factory=Placeholders)
    shown: dict[str, Json] | None = None  # the record of the last task that was answered
    closes: bool = False  # the stream's current event is its last
    reached: bool = False  # the SDK could read the request and has called our handler
    resultless: bool = False  # the call has no result

    @property
    def wanted(self) -> list[dict[str, Json]]:
        """The data parts that name a tool to call."""
        return [data for data in self.data if "tool" in data]

    @property
    def is_nobody(self) -> bool:
        """True for an anonymous caller, which has no jobs; the database need not be asked."""
        return self.request.is_anonymous and self.request.argument_key is None

    async def ask(
        self, market: Market, op: Operation, arguments: dict[str, Json], key: str | None = None, **changes: Any
    ) -> Response:
        """Call an operation for the caller, with changes to its request.

        The first call consumes the request's signature; the calls after it continue the request.
        """
        request = replace(self.request, **changes) if changes else self.request
        if self.request.http is not None:
            self.request = replace(self.request, is_continuation=True)
        return await market.call(op, arguments, request, key)

    def stash(self, value: Json) -> Json:
        """Replace the data and metadata of a task, message or event by placeholders."""
        return self.documents.stash(value, self.old)


def for_sdk(scope: Scope, call: CallState) -> Scope:
    """Return the request without credentials, so that the SDK cannot log them."""
    headers = [(name, value) for name, value in scope["headers"] if name not in HIDDEN_HEADERS]
    return {**scope, "headers": headers, "a2a.call": call}


def speaks_json(kind: str | None) -> bool:
    """Return True if a Content-Type is JSON; a missing one counts as JSON."""
    return not kind or JSON_KIND.fullmatch(kind.split(";")[0].strip()) is not None


def id_of(raw: bytes) -> str | int | None:
    """Return the id of a refused JSON-RPC request, if it is readable (JSON-RPC 2.0, 5)."""
    try:
        found = read_leniently(raw).get("id")
    except (ValueError, AttributeError):
        return None
    if isinstance(found, str):
        return found if found.isprintable() else None  # a lone surrogate is not printable
    return found if type(found) is int and abs(found) <= MAX_INTEGER else None


# --- in: take the keys and the data parts out of the body ------------------------------------------------------------


def extract_data(raw: bytes, call: CallState) -> Json:
    """Take the reserved keys and the data parts out of a body into `call`.

    Return the rest, None if nothing can be in the body. An error in a data part or a key becomes `call.refusal`. Raises
    BadJson for an error elsewhere.
    """
    if not raw:
        return None
    body, bad = _read(raw)
    call.old = call.old or (call.over_rpc and _is_old(body))
    params = body.get("params") if call.over_rpc and isinstance(body, dict) else body
    if not isinstance(params, dict):
        if bad is not None:
            raise bad
        return None
    http_03 = call.old and not call.over_rpc
    name = "request" if http_03 and "request" in params else "message"  # the a2a-sdk's own client writes it so
    message = params[name] if isinstance(params.get(name), dict) else {}
    places = _hold_data(message, call)
    if bad is None:
        call.data = [{key: with_integers(value) for key, value in found.items()} for found in call.data]
    else:
        call.refusal = _within(bad, f"params.{name}." if call.over_rpc else f"{name}.", places, call.data)
        parse(json.dumps(body).encode(), MAX_DEPTH + ENVELOPE_DEPTH)
    parts = message["parts"] if isinstance(message.get("parts"), list) else []
    metadata = [holder["metadata"] for holder in (params, message, *parts) if _has_metadata(holder)]
    _take_keys([*metadata, *_asked_in(call.data, talks=bool(message.get("taskId")))], call)
    call.metadata = message["metadata"] if _has_metadata(message) else {}
    if len(raw) > 2 * MAX_VALUES:  # a value takes two bytes at least
        _bound(body)
    return body


def _bound(body: Json) -> None:
    """Raise BadJson for a body with more than MAX_VALUES values.

    The SDK turns each value that is left into protobuf, in about 20 microseconds; the market reads what was taken out.
    """
    left, seen = [body], 0
    while left:
        value = left.pop()
        seen += 1
        if seen > MAX_VALUES:
            raise BadJson(f"A request holds at most {MAX_VALUES} values outside its data parts.", "")
        left.extend(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())


def _read(raw: bytes) -> tuple[Any, BadJson | None]:
    """Return the body, and the error if only a lenient reader accepts it."""
    try:
        return parse(raw, MAX_DEPTH + ENVELOPE_DEPTH), None
    except BadJson as bad:
        try:
            return read_leniently(raw), bad
        except ValueError:
            raise bad from None


def _is_old(body: Any) -> bool:
    """Return True for a well-formed JSON-RPC request with a method of 0.3.

    If the SDK refuses it as invalid, its params are at fault.
    """
    if not isinstance(body, dict):
        return False
    method, named = body.get("method"), type(body.get("id", "")) in (str, int, NoneType)
    return body.get("jsonrpc") == "2.0" and named and isinstance(method, str) and "/" in method


def _hold_data(message: dict[str, Any], call: CallState) -> list[str]:
    """Move the objects of data parts into `call`, leaving empty ones; return their paths.

    The data is in a part, but in `content` (0.3 over HTTP+JSON) it is in the `data` of a part.
    """
    places: list[str] = []
    for name, nested in (("parts", False), ("content", True)):
        parts = message.get(name)
        for number, part in enumerate(parts if isinstance(parts, list) else ()):
            holder = part.get("data") if nested and isinstance(part, dict) else part
            if isinstance(holder, dict) and isinstance(holder.get("data"), dict):
                call.data.append(holder["data"])
                holder["data"] = {}
                places.append(f"{name}.{number}.data" + (".data" if nested else ""))
    return places


def _within(bad: BadJson, above: str, places: list[str], data: list[dict[str, Json]]) -> MarketError:
    """Return the error if invalid JSON is inside a call's data; otherwise raise `bad`."""
    for place, found in zip(places, data, strict=True):
        inside = bad.path.removeprefix(above + place)
        if inside == bad.path or inside[:1] not in ("", "."):
            continue
        try:
            validate_tree(found.get("arguments"))  # most errors are found again, with a path as elsewhere
        except BadJson as own:
            return MalformedJson(own.message, param=own.path or None)
        steps = inside.split(".")[1:]
        return MalformedJson(bad.message, param=".".join(steps[1:] if steps[:1] == ["arguments"] else steps) or None)
    raise bad


def _asked_in(data: list[dict[str, Json]], talks: bool) -> Iterator[dict[str, Json]]:
    """Yield the data parts that may contain reserved keys.

    These are a call and its arguments, an order, a part of reserved keys alone, and a step of a job. Other data of a
    message to a task (`talks`) is for the other party.
    """
    for found in data:
        arguments = found.get("arguments")
        if "tool" in found:
            yield from (found, *([arguments] if isinstance(arguments, dict) else []))
        elif found.keys() & (STEPS if talks else ORDERS) or (found and not talks and found.keys() <= RESERVED):
            yield found


def _take_keys(holders: list[dict[str, Json]], call: CallState) -> None:
    """Take the reserved keys out of their holders."""
    if all(RESERVED.isdisjoint(found) for found in holders):
        return
    try:
        given = [extract(found) for found in holders]
        key, dry_run = _only(API_KEY, [found.api_key for found in given]), any(found.dry_run for found in given)
        if key is not None or dry_run:  # a copy is a twentieth of a call
            call.request = replace(call.request, argument_key=key, dry_run=dry_run)
        repeats = [call.idempotency_key, *(found.idempotency_key for found in given)]
        call.idempotency_key = _only(IDEMPOTENCY_KEY, repeats)
        call.detail = _only(DETAIL, [found.detail for found in given]) or FULL
    except InvalidRequest as error:
        call.refusal = call.refusal or error
    for found in holders:
        for name in RESERVED:
            found.pop(name, None)


def _has_metadata(holder: Json) -> bool:
    return isinstance(holder, dict) and isinstance(holder.get("metadata"), dict)


def _only(name: str, values: list[str | None]) -> str | None:
    given = {value for value in values if value is not None}
    if len(given) > 1:
        raise InvalidRequest(f"{name}: one call came with two different values", param=name)
    return next(iter(given), None)


# --- out: insert the documents into the response and correct the SDK's errors ----------------------------------------


class Reply:
    """The sender of the SDK's response. A stream can be refused until its first event is sent.

    `unreadable` is the HTTP+JSON error for a request that the SDK could not convert.
    """

    def __init__(self, send: Send, call: CallState, unreadable: bytes) -> None:
        self.send, self.call, self.unreadable, self.started = send, call, unreadable, False
        self.head: Message = {}
        self.kept = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.head = message
            return
        body = message.get("body", b"")
        if b"event-stream" in dict(self.head["headers"]).get(b"content-type", b""):
            if not self.started:
                await self.send(self.head)
            self.started = True
            await self.send({**message, "body": self._event(body)})
            return
        self.kept += body
        if not message.get("more_body"):
            await self._whole(bytes(self.kept))

    async def _whole(self, body: bytes) -> None:
        status = self.head["status"]
        if not self.call.reached:
            status, body = fix_sdk_errors(self.call, status, body, self.unreadable)
        if self.call.resultless and self.call.old:  # the SDK leaves out a null, and JSON-RPC requires a result
            body = orjson.dumps({**orjson.loads(body), "result": None})
        body = self.call.documents.restore(body)
        headers = [(name, value) for name, value in self.head["headers"] if name != b"content-length"]
        headers.append((b"content-length", b"%d" % len(body)))
        self.started = True
        await self.send({**self.head, "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    def _event(self, chunk: bytes) -> bytes:
        """Fix the line ends of an event: LF only, and no other line break of Unicode inside a line.

        In 0.3 `final` marks the last event of a stream; the SDK sets it for ended tasks only.
        """
        chunk = NOT_FINAL.sub(b'"final":true', chunk) if self.call.closes else chunk
        chunk = self.call.documents.restore(chunk.replace(b"\r\n", b"\n"), b"\r\n")
        for raw, escaped in LINE_BREAKS:
            chunk = chunk.replace(raw, escaped)
        return chunk


def fix_sdk_errors(call: CallState, status: int, body: bytes, unreadable: bytes) -> tuple[int, bytes]:
    """Correct the error for a request that did not reach our handler: the request is at fault.

    The SDK answers what it cannot convert with -32603 or HTTP 500, and invalid params of 0.3 with -32600.
    """
    body = body.replace(OTHER_VERSION, OTHER_VERSION + b" Send the header A2A-Version: 1.0.")
    if not call.over_rpc:
        return (status, body) if status < 500 else (400, unreadable)
    answer = orjson.loads(body)
    error = answer.get("error", {})
    if error.get("code") != INTERNAL_ERROR and not (call.old and error.get("code") == INVALID_REQUEST):
        return status, body
    detail = str(error.get("data") or error["message"])[:MAX_DETAIL]
    return status, orjson.dumps(
        {**answer, "error": {"code": INVALID_PARAMS, "message": "Invalid params", "data": detail}}
    )
