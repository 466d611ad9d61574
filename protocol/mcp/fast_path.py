"""A fast path before the MCP SDK: it answers the most frequent requests at a small part of the SDK's cost.

It answers only requests that each of the SDK's own checks would accept. It refuses nothing: every other request is left
to the SDK, so that errors are made in one place. Lists are copies of the SDK's first answer. Without this module (see
FAST_PATHS) the SDK answers everything with the same JSON.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson
from mcp.server.streamable_http import check_accept_headers
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.inbound import (
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
    x_mcp_header_map,
)
from mcp_types import CLIENT_CAPABILITIES_META_KEY, SERVER_INFO_META_KEY
from mcp_types.methods import parse_client_request, serialize_server_result
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.types import Message, Send

from protocol.http import send_response
from protocol.mcp.request import HIRE, TASKS, McpRequest
from protocol.mcp.tools import Called, ToolResult, Tools
from protocol.mcp.toolsets import View
from protocol.untrusted_text import member_at
from tools.kernel.errors import Json

CALL, TOOLS, DISCOVER = "tools/call", "tools/list", "server/discover"
LISTS = (TOOLS, "prompts/list", "resources/list", "resources/templates/list", DISCOVER)
MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
PARAMS = {CALL: frozenset({"name", "arguments", "_meta"}), **dict.fromkeys(LISTS, frozenset({"_meta"}))}
VERSIONS = frozenset({"2025-06-18", "2025-11-25", "2026-07-28"})
MAX_KEPT, MAX_BYTES = 1_000, 1_024  # cached shapes, and the bytes of each
CHECKED = (b"host", b"origin", b"accept")
TOKEN = "progressToken"  # noqa: S105 - each request has its own, and any text or integer will do

ListKey = tuple[str, str, View, bool]
Shape = tuple[bytes, ...]


class FastPath:
    """The fast path for calls and lists of `tools`; `identity` is the server's own description."""

    def __init__(self, tools: Tools, security: TransportSecuritySettings, identity: Mapping[str, Any]) -> None:
        self.tools, self.identity = tools, identity
        self.guard, self.passed = TransportSecurityMiddleware(security), dict[Shape, str]()
        self.is_plain = lru_cache(len(tools.names))(lambda name: not x_mcp_header_map(tools.input_schema(name)))
        self.lists: dict[ListKey, bytes] = {}

    async def serve(self, arrived: McpRequest, send: Send) -> Send | None:
        """Answer a request and return None; otherwise return the `send` with which the SDK answers."""
        if not self._ordinary(arrived) or (version := await self._supported_version(arrived)) is None:
            return send
        request: Any = arrived.request
        if arrived.tool is not None:
            result = await self._called(arrived, request["params"], version)
        else:
            key = _list_key(request["method"], version, arrived)
            if key not in self.lists:
                return self._learning(key, send)
            result = self.lists[key]
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": orjson.Fragment(result)}
        await send_response(send, 200, orjson.dumps(answer))
        return None

    def _ordinary(self, arrived: McpRequest) -> bool:
        """Return True for a request with usual members only that can be answered here at once."""
        request = arrived.request
        if not isinstance(request, dict) or not request.keys() <= MEMBERS or type(request.get("id")) not in (str, int):
            return False
        method, params = request.get("method"), request.get("params", {})
        known = PARAMS.get(method) if isinstance(method, str) else None
        if known is None or not isinstance(params, dict) or not params.keys() <= known:
            return False
        if method == CALL:
            late = arrived.may_wait or may_be_task(arrived)
            given = isinstance(params.get("arguments"), dict | None)
            named = arrived.tool in self.tools.names and self.is_plain(arrived.tool)
            return given and named and arrived.bad is None and not late
        return len(arrived.view.toolsets) == 1  # this bounds the number of kept lists

    async def _called(self, arrived: McpRequest, params: dict[str, Any], version: str) -> bytes:
        """Return the result of a call in the SDK's form, without parsing its record again."""
        call = Called(params["name"], params.get("arguments") or {}, arrived.repeat, arrived.view, arrived.payment)
        result = await self.tools.call(call, arrived.call_request)
        if version not in result.frames:
            result.frames[version] = orjson.dumps(_frame(result, version, self.identity))
        return result.frames[version]

    def _learning(self, key: ListKey, send: Send) -> Send:
        """Wrap `send` so that it keeps the result of the SDK's answer."""
        status = 0

        async def watch(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            if status == 200 and message["type"] == "http.response.body" and not message.get("more_body"):
                answer = orjson.loads(message["body"])
                if "result" in answer:
                    self.lists[key] = orjson.dumps(answer["result"])
            await send(message)

        return watch

    async def _supported_version(self, arrived: McpRequest) -> str | None:
        """Return the request's protocol version; None leaves the request to the SDK.

        The request has usual members only. `shape_of` is the cache key.
        """
        shape = shape_of(arrived)
        if shape in self.passed:
            return self.passed[shape]
        seen = Request(arrived.for_sdk())
        version = seen.headers.get("mcp-protocol-version", "")
        if version not in VERSIONS or not await self._passes(arrived.request, seen, version):
            return None
        if sum(map(len, shape)) <= MAX_BYTES:
            if len(self.passed) >= MAX_KEPT:
                self.passed.clear()
            self.passed[shape] = version
        return version

    async def _passes(self, request: Any, seen: Request, version: str) -> bool:
        if request.get("jsonrpc") != "2.0" or not check_accept_headers(seen)[0]:
            return False
        if await self.guard.validate_request(seen, is_post=True) is not None:
            return False
        if version in MODERN_PROTOCOL_VERSIONS:
            routed = classify_inbound_request(request, headers=seen.headers)
            if find_duplicated_routing_header(seen.headers.items()) or not isinstance(routed, InboundModernRoute):
                return False
        try:
            parse_client_request(request["method"], version, request.get("params"))
        except (KeyError, ValueError):  # a method of another version; pydantic's errors are ValueErrors
            return False
        return True


def _list_key(method: str, version: str, arrived: McpRequest) -> ListKey:
    """Return everything that the answer depends on."""
    if method == TOOLS:
        return method, version, arrived.view, arrived.call_request.is_anonymous
    return method, version, arrived.view if method == DISCOVER else View(), False


def shape_of(arrived: McpRequest) -> Shape:
    """Return everything that the checks read from a request.

    This is the method, the tool's name, the type of its arguments, `_meta`, and some headers.
    """
    request: Any = arrived.request
    params: dict[str, Json] = request.get("params", {})
    told: dict[str, Json] = {
        **params,
        "of": (request["method"], request.get("jsonrpc")),
        "arguments": type(params.get("arguments", {})).__name__,
    }
    meta = params.get("_meta")
    if isinstance(meta, dict) and type(meta.get(TOKEN)) in (str, int):
        told["_meta"] = {**meta, TOKEN: type(meta[TOKEN]).__name__, "of": TOKEN}
    if "params" not in request:
        told["lacks"] = "params"
    checked = [
        part
        for header in arrived.scope["headers"]
        if header[0] in CHECKED or header[0].startswith(b"mcp-")
        for part in header
    ]
    return (orjson.dumps(told), *checked)


def may_be_task(arrived: McpRequest) -> bool:
    """Return True if a call may become a task: hiring, by a client that supports tasks."""
    if arrived.target[0] != HIRE:
        return False
    extensions = member_at(arrived.request, "params", "_meta", CLIENT_CAPABILITIES_META_KEY, "extensions")
    return isinstance(extensions, dict) and TASKS in extensions


def _frame(result: ToolResult, version: str, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON that the SDK's runner makes of a result; `identity` describes the server."""
    modern = version in MODERN_PROTOCOL_VERSIONS
    if result.links:
        said = result.result().model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"structured_content"})
        frame = serialize_server_result(CALL, version, said)
    else:  # only texts, which are the same in all versions
        texts = [{"type": "text", "text": text} for text in result.texts]
        frame = {"content": texts, "isError": result.is_error}
        frame |= ({"resultType": "complete"} if modern else {}) | (
            {} if result.meta is None else {"_meta": result.meta}
        )
    if result.record is not None:
        frame["structuredContent"] = orjson.Fragment(result.body)
    if modern:
        frame["_meta"] = {**frame.get("_meta", {}), SERVER_INFO_META_KEY: identity}
    return frame
