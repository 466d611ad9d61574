"""A request to /mcp before the SDK: parsed strictly, stripped of credentials, and readable by the SDK's handlers."""

import json
import re
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import orjson
from mcp.server.context import ServerRequestContext
from mcp_types import INVALID_REQUEST, PARSE_ERROR
from starlette.types import Scope

from protocol.http import CREDENTIALS
from protocol.mcp.payments import payment_in
from protocol.mcp.toolsets import CALL, USUAL, View
from protocol.untrusted_text import member_at
from tools.engine.caller import CallRequest, Surface
from tools.engine.registry import CATALOGUE
from tools.kernel.errors import Json
from tools.kernel.strict_json import MAX_DEPTH, BadJson, parse, read_leniently, validate_tree

Request = ServerRequestContext[Any, Any]

LOOPBACK = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?")
REPEAT = b"idempotency-key"
ARGUMENTS = "params.arguments"
TASKS, HIRE = "io.modelcontextprotocol/tasks", "hire"  # the extension, and the only tool whose calls become tasks
ENVELOPE_DEPTH = 2  # arguments are two levels inside a JSON-RPC request


@dataclass
class McpRequest:
    """A parsed request: its caller, the view of its address, and the tool that it calls, if any.

    `bad` is the error in the call's arguments, which were taken out. `repeat` is its Idempotency-Key.
    """

    scope: Scope
    call_request: CallRequest
    view: View
    request: Json
    bad: BadJson | None = None
    tool: str | None = field(init=False)

    def __post_init__(self) -> None:
        name = member_at(self.request, "params", "name")
        called = member_at(self.request, "method") == "tools/call"
        self.tool = name if called and isinstance(name, str) else None

    @property
    def target(self) -> tuple[Json, Json]:
        """The name and the arguments of the tool that a call runs, also through call_tool."""
        given = self.request["params"].get("arguments")
        inside = self.tool == CALL and isinstance(given, dict)
        return (given.get("name"), given.get("arguments")) if inside else (self.tool, given)

    @cached_property
    def payment(self) -> str | None:
        """The x402 payment of a call, in the form of HTTP's header."""
        return None if self.tool is None else payment_in(self.request)

    @property
    def pays(self) -> bool:
        """True if a call with a payment buys something."""
        name = self.target[0] if self.payment is not None else None
        return isinstance(name, str) and name in CATALOGUE and CATALOGUE[name].paid_rate is not None

    @property
    def repeat(self) -> str | None:
        return next((value.decode("latin-1") for name, value in self.scope["headers"] if name == REPEAT), None)

    @property
    def may_wait(self) -> bool:
        """True if a call may wait; a stream then keeps the connection open, with progress."""
        if self.tool is None or self.pays:
            return self.pays
        name, given = self.target
        usual = isinstance(name, str) and name in CATALOGUE and _waits_unless_told(name)
        return bool(given["wait_seconds"] if isinstance(given, dict) and "wait_seconds" in given else usual)

    def for_sdk(self) -> Scope:
        """Return the request for the SDK, without credentials, which it could log.

        An Origin header is kept only if it must be refused.
        """
        scope, sent = self.scope, self.scope["headers"]
        host = dict(sent).get(b"host", b"").decode("latin-1").lower()
        origins = [value.decode("latin-1").lower() for name, value in sent if name == b"origin"]
        local = all(LOOPBACK.fullmatch(origin.partition("://")[2]) for origin in origins)
        harmless = (b"origin",) if local or not LOOPBACK.fullmatch(host) else ()
        hidden = (*CREDENTIALS, b"host", b"content-type", *harmless)
        headers = [(name, value) for name, value in sent if name not in hidden]
        state = {**scope.get("state", {}), "arrived": self}
        own = [(b"host", host.encode("latin-1")), (b"content-type", b"application/json")]  # any body counts as JSON
        return {**scope, "headers": [*own, *headers], "query_string": b"", "state": state}


# for calls without HTTP
IN_PROCESS = McpRequest(
    {"headers": []}, CallRequest(Surface.MCP, ip="unknown", request_id="req_in_process"), USUAL, request=None
)


def arrived_in(request: Request) -> McpRequest:
    """Return the parsed request of one that the SDK handles."""
    arrived: McpRequest = IN_PROCESS if request.request is None else request.request.scope["state"]["arrived"]
    return arrived


class UnreadableRequest(Exception):
    """A body that is no request of this protocol; `answer` is the JSON-RPC error."""

    def __init__(self, code: int, message: str, **data: Json) -> None:
        super().__init__(message)
        error = {"code": code, "message": message} | ({"data": data} if data else {})
        self.answer = orjson.dumps({"jsonrpc": "2.0", "id": None, "error": error})


def parsed(body: bytes) -> tuple[bytes, Json, BadJson | None]:
    """Return the body for the SDK, its value, and the error in a tool call's arguments.

    Raises UnreadableRequest for an error elsewhere, and for what the SDK would refuse slowly or not answer at all.
    """
    try:
        body, request, fault = _without_bad_arguments(body)
    except BadJson as bad:
        raise UnreadableRequest(PARSE_ERROR, f"Parse error: {bad}", path=bad.path) from None
    if isinstance(request, list):  # MCP 2025-06-18 removed them
        raise UnreadableRequest(INVALID_REQUEST, "Invalid Request: batches are not taken: send one request in one POST")
    if isinstance(request, dict) and "method" in request and type(request.get("id", "")) not in (str, int):
        raise UnreadableRequest(INVALID_REQUEST, "Invalid Request: id is a string or an integer")
    return body, request, fault


def _without_bad_arguments(body: bytes) -> tuple[bytes, Json, BadJson | None]:
    """Take a tool call's arguments out if only they are invalid.

    Then the call is answered under its id with a refusal that its model can read. Raises BadJson for an error elsewhere.
    The SDK itself reads leniently: it takes one of two equal keys and accepts NaN.
    """
    try:
        return body, parse(body, MAX_DEPTH + ENVELOPE_DEPTH), None
    except BadJson as bad:
        call = _tool_call(body)
        fault = None if call is None else _fault_of(call["params"].get("arguments"), bad)
        if call is None or fault is None:
            raise
        rest = json.dumps({**call, "params": {**call["params"], "arguments": {}}}).encode()
        return rest, parse(rest), fault


@cache
def _waits_unless_told(name: str) -> bool:
    field = CATALOGUE[name].input.model_fields.get("wait_seconds")
    return field is not None and bool(field.default)


def _tool_call(body: bytes) -> dict[str, Any] | None:
    """Return a tool call as a lenient reader parses it, None for anything else."""
    try:
        request = read_leniently(body)
    except ValueError:
        return None
    is_call = member_at(request, "method") == "tools/call" and isinstance(member_at(request, "params"), dict)
    return request if is_call else None


def _fault_of(arguments: object, bad: BadJson) -> BadJson | None:
    """Return the error inside the arguments, with its path in them; None if it is elsewhere."""
    try:
        validate_tree(arguments)
    except BadJson as fault:
        return fault
    inside = f"{bad.path}.".startswith(f"{ARGUMENTS}.")  # only the strict reader finds duplicate keys
    return BadJson(bad.message, bad.path.removeprefix(ARGUMENTS).lstrip(".")) if inside else None
