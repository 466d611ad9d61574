"""HTTP before the MCP SDK: strip credentials, parse bodies strictly, and refuse malformed requests."""

import json
import re
from functools import cache
from typing import Any

import orjson
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CLIENT_CAPABILITIES_META_KEY, INVALID_REQUEST, PARSE_ERROR
from starlette.types import Scope, Send

from protocol.http import send_json
from protocol.mcp.request import McpRequest
from protocol.mcp.toolsets import CALL
from tools.engine.registry import CATALOGUE
from tools.kernel.errors import Json
from tools.kernel.strict_json import MAX_DEPTH, BadJson, parse, read_leniently, validate_tree

LOOPBACK = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?")
CREDENTIALS = (b"authorization", b"x-api-key", b"signature", b"signature-input")
ARGUMENTS = "params.arguments"
TASKS, HIRE = "io.modelcontextprotocol/tasks", "hire"  # the extension, and the only tool whose calls become tasks
ENVELOPE_DEPTH = 2  # arguments are two levels inside a JSON-RPC request


def security(allowed_hosts: tuple[str, ...]) -> TransportSecuritySettings:
    """Return the settings of the SDK's check of Host and Origin; without hosts it is off.

    `allowed_hosts` are host[:port] texts in lower case. Origins need no list: `for_sdk` keeps only those that must be
    refused. Without hosts, only the edge checks.
    """
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=bool(allowed_hosts), allowed_hosts=list(allowed_hosts), allowed_origins=[]
    )


def for_sdk(arrived: McpRequest) -> Scope:
    """Return the request for the SDK, without credentials, which it could log.

    An Origin header is kept only if it must be refused.
    """
    scope = arrived.scope
    host = dict(scope["headers"]).get(b"host", b"").decode("latin-1").lower()
    headers = [
        (name, value) for name, value in scope["headers"] if name not in (*CREDENTIALS, b"host", b"content-type")
    ]
    if not LOOPBACK.fullmatch(host) or all(map(_is_loopback, _origins(scope))):
        headers = [(name, value) for name, value in headers if name != b"origin"]
    state = {**scope.get("state", {}), "arrived": arrived}
    own = [
        (b"host", host.encode("latin-1")),
        (b"content-type", b"application/json"),
    ]  # any body counts as JSON
    return {**scope, "headers": [*own, *headers], "query_string": b"", "state": state}


def judged(body: bytes) -> tuple[bytes, Json, BadJson | None]:
    """Return the body for the SDK, its value, and the error in a tool call's arguments.

    Such arguments are taken out, so that the call is answered under its id with a refusal that its model can read.
    Raises BadJson for an error elsewhere. The SDK itself reads leniently: it takes one of two equal keys and accepts
    NaN.
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


def malformed(request: Json) -> str | None:
    """Return the error in an envelope that the SDK would refuse slowly or not answer at all."""
    if isinstance(request, list):
        return "batches are not taken: send one request in one POST"  # MCP 2025-06-18 removed them
    if isinstance(request, dict) and "method" in request and "id" in request:
        identity = request["id"]
        if isinstance(identity, bool) or not isinstance(identity, str | int):
            return "id is a string or an integer"
    return None


async def send_malformed(send: Send, why: str) -> None:
    error = {"code": INVALID_REQUEST, "message": f"Invalid Request: {why}"}
    await send_json(send, 400, orjson.dumps({"jsonrpc": "2.0", "id": None, "error": error}))


def called_tool(request: Json) -> str | None:
    """Return the name of the tool that a JSON-RPC request calls, None for other requests."""
    if not isinstance(request, dict) or request.get("method") != "tools/call":
        return None
    params = request.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    return name if isinstance(name, str) else None


def may_wait(arrived: McpRequest) -> bool:
    """Return True if a call may wait; a stream then keeps the connection open, with progress."""
    name, request = arrived.tool, arrived.request
    if name is None or not isinstance(request, dict):
        return False
    given = request["params"].get("arguments")
    if name == CALL and isinstance(given, dict):
        name, given = given.get("name"), given.get("arguments")
    usual = isinstance(name, str) and name in CATALOGUE and _waits_unless_told(name)
    return bool(given["wait_seconds"] if isinstance(given, dict) and "wait_seconds" in given else usual)


def may_be_task(arrived: McpRequest) -> bool:
    """Return True if a call may become a task: hiring, by a client that supports tasks."""
    name, request = arrived.tool, arrived.request
    found = request
    if name == CALL and isinstance(request, dict):
        given = request["params"].get("arguments")
        name = given.get("name") if isinstance(given, dict) else None
    if name != HIRE:
        return False
    for name in ("params", "_meta", CLIENT_CAPABILITIES_META_KEY, "extensions"):
        found = found.get(name) if isinstance(found, dict) else None
    return isinstance(found, dict) and TASKS in found


@cache
def _waits_unless_told(name: str) -> bool:
    field = CATALOGUE[name].input.model_fields.get("wait_seconds")
    return field is not None and bool(field.default)


async def send_parse_error(send: Send, bad: BadJson) -> None:
    """Send the error for unreadable text: code -32700 with a null id (JSON-RPC 2.0, 5.1)."""
    error = {"code": PARSE_ERROR, "message": f"Parse error: {bad}", "data": {"path": bad.path}}
    await send_json(send, 400, orjson.dumps({"jsonrpc": "2.0", "id": None, "error": error}))


def _tool_call(body: bytes) -> dict[str, Any] | None:
    """Return a tool call as a lenient reader parses it, None for anything else."""
    try:
        request = read_leniently(body)
    except ValueError:
        return None
    if not isinstance(request, dict) or request.get("method") != "tools/call":
        return None
    return request if isinstance(request.get("params"), dict) else None


def _fault_of(arguments: object, bad: BadJson) -> BadJson | None:
    """Return the error inside the arguments, with its path in them; None if it is elsewhere."""
    try:
        validate_tree(arguments)
    except BadJson as fault:
        return fault
    inside = f"{bad.path}.".startswith(f"{ARGUMENTS}.")  # only the strict reader finds duplicate keys
    return BadJson(bad.message, bad.path.removeprefix(ARGUMENTS).lstrip(".")) if inside else None


def _origins(scope: Scope) -> list[str]:
    return [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"origin"]


def _is_loopback(origin: str) -> bool:
    return LOOPBACK.fullmatch(origin.partition("://")[2]) is not None
