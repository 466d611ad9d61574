"""A2A bodies on their way to the SDK and back: what it must not see, would change, or answers wrongly.

The SDK turns every data part into a protobuf Struct: numbers become doubles, key order is lost, nesting ends at 50. So the
data parts of a message are taken out before the SDK reads it, and the market's documents are put into its answers as text.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from starlette.types import Message, Scope, Send

from protocol.reserved import API_KEY, IDEMPOTENCY_KEY, RESERVED, take
from tools.context import Approach
from tools.errors import InvalidRequest, MalformedJson, MarketError
from tools.errors.base import Json
from tools.records.brief import DETAIL, FULL
from tools.rules.jsontext import MAX_DEPTH, MAX_INTEGER, BadJson, check_tree, integral, parse, read_leniently

ENVELOPE_DEPTH = 6  # params, message, parts, part, data: a call's arguments stand six levels inside a body
JSON_KIND = re.compile(r"application/([a-z0-9.-]+\+)?json", re.IGNORECASE)
HIDDEN_HEADERS = (b"authorization", b"x-api-key", b"signature", b"signature-input", b"idempotency-key")
HELD = "held"
MARK = re.compile(rb'\{"held": ?"(\d+)"\}')
NOT_FINAL = re.compile(rb'"final": ?false')
LINE_BREAKS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))
INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR = -32600, -32602, -32603
OTHER_VERSION = b"Expected version '1.0'."  # what the SDK says to a request without the header
ORDERS, STEPS = {"listing_id", "input"}, {"action", "transaction"}  # members by which a data part is one
MOST_VALUES = 500  # of an envelope
MOST_DETAIL = 500  # characters


@dataclass(slots=True)
class Call:
    """One request beside the SDK: who calls, what was taken out of its body, and the documents of its answer."""

    approach: Approach
    idempotency_key: str | None = None
    detail: str = FULL
    over_rpc: bool = True  # else HTTP+JSON
    old: bool = False  # protocol 0.3
    seller: str | None = None  # the agent whose own endpoint was called, by id
    data: list[dict[str, Json]] = field(default_factory=list)  # the message's data parts that are objects
    metadata: dict[str, Json] = field(default_factory=dict)  # the message's, without the reserved keys
    envelope: Json = None  # the body, without what was taken out
    refusal: MarketError | None = None  # what was wrong with what was taken out
    documents: list[bytes] = field(default_factory=list)
    shown: dict[str, Json] | None = None  # the record behind the task that was answered last
    closes: bool = False  # the event of a stream that is answered now is its last
    reached: bool = False  # the SDK could read the request and has asked our handler
    resultless: bool = False  # it was done, and there is nothing to say of it

    @property
    def wanted(self) -> list[dict[str, Json]]:
        """The data parts that name a tool to call."""
        return [data for data in self.data if "tool" in data]

    def further(self) -> "Call":
        """For the calls after the first that answer one request: its signature was used by that one."""
        self.approach = replace(self.approach, follows=True)
        return self

    def hold(self, document: bytes) -> str:
        """Keep a document for the answer; the text that stands for it there, in a data part {"held": text}."""
        self.documents.append(document)
        return str(len(self.documents) - 1)


def held(value: Json, call: Call) -> Json:
    """A task, message or event for the SDK: its data and metadata are kept for the answer, as they are written here."""
    if isinstance(value, list):
        return [held(one, call) for one in value]
    if not isinstance(value, dict):
        return value
    if call.old and not isinstance(value.get("data", {}), dict):  # its data parts are objects
        value = {**value, "data": {"value": value["data"]}, "metadata": {"data_part_compat": True}}
    return {
        name: {HELD: call.hold(orjson.dumps(one))} if name in ("data", "metadata") else held(one, call)
        for name, one in value.items()
    }


def for_sdk(scope: Scope, call: Call) -> Scope:
    """What the SDK may see of a request: no credential, so none can get into a log."""
    headers = [(name, value) for name, value in scope["headers"] if name not in HIDDEN_HEADERS]
    return {**scope, "headers": headers, "a2a.call": call}


def header(scope: Scope, name: bytes) -> str | None:
    found: bytes | None = dict(scope["headers"]).get(name)
    return None if found is None else found.decode("latin-1")


def speaks_json(kind: str | None) -> bool:
    """Whether a Content-Type is JSON; a request without one is taken for JSON."""
    return not kind or JSON_KIND.fullmatch(kind.split(";")[0].strip()) is not None


def id_of(raw: bytes) -> str | int | None:
    """The id of a JSON-RPC request whose text is refused, where it can be made out (JSON-RPC 2.0, 5)."""
    try:
        found = read_leniently(raw).get("id")
    except (ValueError, AttributeError):
        return None
    if isinstance(found, str):
        return found if found.isprintable() else None  # a lone surrogate is not
    number = isinstance(found, int) and not isinstance(found, bool)
    return found if number and abs(found) <= MAX_INTEGER else None


# --- in: the keys and the data parts come out of the body ------------------------------------------------------------


def taken(raw: bytes, call: Call) -> bytes:
    """Take the reserved keys and the data parts out of a body into `call`; returns the body that is left for the SDK.

    What is wrong inside a data part, or with a key, becomes `call.refusal`. Raises BadJson for what is not admitted elsewhere.
    """
    if not raw:
        return raw
    body, bad = _read(raw)
    call.old = call.old or (call.over_rpc and _is_old(body))
    params = body.get("params") if call.over_rpc and isinstance(body, dict) else body
    if not isinstance(params, dict):
        if bad is not None:
            raise bad
        return raw
    http_03 = call.old and not call.over_rpc
    name = "request" if http_03 and "request" in params else "message"  # the a2a-sdk's own client writes so
    message = params.get(name)
    places = _hold_data(message, call) if isinstance(message, dict) else []
    if bad is None:
        call.data = [{key: integral(value) for key, value in found.items()} for found in call.data]
    else:
        call.refusal = _within(bad, f"params.{name}." if call.over_rpc else f"{name}.", places, call.data)
        parse(json.dumps(body).encode(), MAX_DEPTH + ENVELOPE_DEPTH)
    parts = message.get("parts") if isinstance(message, dict) else None
    holders = (params, message, *(parts if isinstance(parts, list) else ()))
    metadata = [holder["metadata"] for holder in holders if isinstance(holder, dict) and _has_metadata(holder)]
    talks = isinstance(message, dict) and bool(message.get("taskId"))
    _take_keys([*metadata, *_asked_in(call.data, talks)], call)
    call.metadata = message["metadata"] if isinstance(message, dict) and _has_metadata(message) else {}
    _bound(body)
    call.envelope = body
    return orjson.dumps(body)


def _bound(body: Json) -> None:
    """The SDK turns every value that is left into protobuf, at some 20 microseconds each; what the market reads is taken out."""
    left, seen = [body], 0
    while left:
        value = left.pop()
        seen += 1
        if seen > MOST_VALUES:
            raise BadJson(f"A request holds at most {MOST_VALUES} values outside its data parts.", "")
        left.extend(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())


def _read(raw: bytes) -> tuple[Any, BadJson | None]:
    """The body, and what is not admitted of it although another reader could make something of it."""
    try:
        return parse(raw, MAX_DEPTH + ENVELOPE_DEPTH), None
    except BadJson as bad:
        try:
            return read_leniently(raw), bad
        except ValueError:
            raise bad from None


def _is_old(body: Any) -> bool:
    """A well-formed JSON-RPC request with a method name of protocol 0.3: what is wrong with it is then its params."""
    if not isinstance(body, dict):
        return False
    method, identity = body.get("method"), body.get("id")
    named = identity is None or (isinstance(identity, (str, int)) and not isinstance(identity, bool))
    return body.get("jsonrpc") == "2.0" and named and isinstance(method, str) and "/" in method


def _hold_data(message: dict[str, Any], call: Call) -> list[str]:
    """Move the objects of data parts into `call`, leaving empty ones; the path of each inside the message."""
    places: list[str] = []
    for holder, place in _data_holders(message):
        call.data.append(holder["data"])
        holder["data"] = {}
        places.append(place)
    return places


def _data_holders(message: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Whose member `data` is a data object: a part; in `content` (0.3 over HTTP+JSON) a part's own `data`."""
    for name, nested in (("parts", False), ("content", True)):
        parts = message.get(name)
        for number, part in enumerate(parts if isinstance(parts, list) else ()):
            holder = part.get("data") if nested and isinstance(part, dict) else part
            if isinstance(holder, dict) and isinstance(holder.get("data"), dict):
                yield holder, f"{name}.{number}.data" + (".data" if nested else "")


def _within(bad: BadJson, above: str, places: list[str], data: list[dict[str, Json]]) -> MarketError:
    """The refusal of a call whose data is not admitted; raises what is wrong elsewhere."""
    for place, found in zip(places, data, strict=True):
        inside = bad.path.removeprefix(above + place)
        if inside == bad.path or inside[:1] not in ("", "."):
            continue
        try:
            check_tree(found.get("arguments"))  # most faults still show: said as on every other surface
        except BadJson as own:
            return MalformedJson(own.message, param=own.path or None)
        steps = inside.split(".")[1:]
        return MalformedJson(bad.message, param=".".join(steps[1:] if steps[:1] == ["arguments"] else steps) or None)
    raise bad


def _asked_in(data: list[dict[str, Json]], talks: bool) -> Iterator[dict[str, Json]]:
    """Where else a caller may write the reserved keys: beside and among a tool's arguments, in an order or a part of their own
    beside one, in a step of a job.

    Whatever else a message to a task (`talks`) holds is for the other party.
    """
    for found in data:
        arguments = found.get("arguments")
        if "tool" in found:
            yield from (found, *([arguments] if isinstance(arguments, dict) else []))
        elif found.keys() & (STEPS if talks else ORDERS) or (found and not talks and found.keys() <= RESERVED):
            yield found


def _take_keys(holders: list[dict[str, Json]], call: Call) -> None:
    """Take the reserved keys out of whatever holds them."""
    try:
        given = [take(found) for found in holders]
        key = _only(API_KEY, [found.api_key for found in given])
        call.approach = replace(call.approach, argument_key=key, dry_run=any(found.dry_run for found in given))
        repeats = [call.idempotency_key, *(found.idempotency_key for found in given)]
        call.idempotency_key = _only(IDEMPOTENCY_KEY, repeats)
        call.detail = _only(DETAIL, [found.detail for found in given]) or FULL
    except InvalidRequest as error:
        call.refusal = call.refusal or error
    for found in holders:
        for name in RESERVED:
            found.pop(name, None)


def _has_metadata(holder: dict[str, Any]) -> bool:
    return isinstance(holder.get("metadata"), dict)


def _only(name: str, values: list[str | None]) -> str | None:
    given = {value for value in values if value is not None}
    if len(given) > 1:
        raise InvalidRequest(f"{name}: one call came with two different values", param=name)
    return next(iter(given), None)


# --- out: the documents go into the answer, and the SDK's slips are corrected ------------------------------------------


class Reply:
    """Sends the SDK's answer. A stream begins with its first event, so that until then it can still be refused.

    `unreadable` is the HTTP+JSON error for a request that the SDK could not convert.
    """

    def __init__(self, send: Send, call: Call, unreadable: bytes) -> None:
        self.send, self.call, self.unreadable, self.started = send, call, unreadable, False
        self.head: Message = {}
        self.kept = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.head = message
            return
        body = message.get("body", b"")
        if b"event-stream" in dict(self.head["headers"]).get(b"content-type", b""):
            await self._start(self.head)
            await self.send({**message, "body": self._event(body)})
            return
        self.kept += body
        if not message.get("more_body"):
            await self._whole(bytes(self.kept))

    async def _start(self, head: Message) -> None:
        if not self.started:
            self.started = True
            await self.send(head)

    async def _whole(self, body: bytes) -> None:
        status = self.head["status"]
        if not self.call.reached:
            status, body = corrected(self.call, status, body, self.unreadable)
        if self.call.resultless and self.call.old:  # the SDK leaves out a null, and JSON-RPC wants a result
            body = orjson.dumps({**orjson.loads(body), "result": None})
        body = filled(body, self.call)
        headers = [(name, value) for name, value in self.head["headers"] if name != b"content-length"]
        headers.append((b"content-length", b"%d" % len(body)))
        await self._start({**self.head, "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    def _event(self, chunk: bytes) -> bytes:
        """Lines end in LF, and nothing inside one is a line break to readers that know all of Unicode's.

        To 0.3 `final` is the last event of a stream; the SDK says it of ended tasks only.
        """
        chunk = NOT_FINAL.sub(b'"final":true', chunk) if self.call.closes else chunk
        chunk = filled(chunk.replace(b"\r\n", b"\n"), self.call, b"\r\n")
        for raw, escaped in LINE_BREAKS:
            chunk = chunk.replace(raw, escaped)
        return chunk


def filled(body: bytes, call: Call, without: bytes = b"") -> bytes:
    """With the documents that were held, in their places; `without` these bytes."""
    return MARK.sub(lambda mark: call.documents[int(mark[1])].translate(None, without), body)


def corrected(call: Call, status: int, body: bytes, unreadable: bytes) -> tuple[int, bytes]:
    """The refusal of a request that never got to our handler: what the SDK calls its own fault is the request's.

    It answers what it cannot convert with -32603 or HTTP 500, and 0.3 params that do not validate with -32600.
    """
    body = body.replace(OTHER_VERSION, OTHER_VERSION + b" Send the header A2A-Version: 1.0.")
    if not call.over_rpc:
        return (status, body) if status < 500 else (400, unreadable)
    answer = orjson.loads(body)
    error = answer.get("error", {})
    if error.get("code") != INTERNAL_ERROR and not (call.old and error.get("code") == INVALID_REQUEST):
        return status, body
    detail = str(error.get("data") or error["message"])[:MOST_DETAIL]
    return status, orjson.dumps(
        {**answer, "error": {"code": INVALID_PARAMS, "message": "Invalid params", "data": detail}}
    )
