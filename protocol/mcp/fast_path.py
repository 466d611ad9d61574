"""A fast path before the MCP SDK: it answers the most frequent requests at a small part of the SDK's cost.

It answers only requests that each of the SDK's own checks would accept. It refuses nothing: every other request is left
to the SDK, so that errors are made in one place. Lists are copies of the SDK's first answer.
"""

from collections.abc import Mapping
from typing import Any

import orjson
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import x_mcp_header_map
from starlette.types import Message, Send

from protocol.http import send_json
from protocol.mcp import http as wire
from protocol.mcp.request import McpRequest
from protocol.mcp.sdk_checks import SdkChecks
from protocol.mcp.tools import Called, Tools
from protocol.mcp.toolsets import View

CALL, TOOLS, DISCOVER = "tools/call", "tools/list", "server/discover"
LISTS = (TOOLS, "prompts/list", "resources/list", "resources/templates/list", DISCOVER)
MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
PARAMS = {CALL: frozenset({"name", "arguments", "_meta"}), **dict.fromkeys(LISTS, frozenset({"_meta"}))}

ListKey = tuple[str, str, View, bool]


class FastPath:
    """The fast path for calls and lists of `tools`; `identity` is the server's own description."""

    def __init__(self, tools: Tools, security: TransportSecuritySettings, identity: Mapping[str, Any]) -> None:
        self.tools, self.identity, self.judges = tools, identity, SdkChecks(security)
        own = tools.keyed.keys() - {tool.name for tool in tools.more}
        self.names = frozenset(name for name in own if not x_mcp_header_map(tools.schemas[name]))
        self.lists: dict[ListKey, bytes] = {}

    async def serve(self, arrived: McpRequest, send: Send) -> Send | None:
        """Answer a request and return None; otherwise return the `send` with which the SDK answers."""
        if not self._ordinary(arrived) or (version := await self.judges.supported_version(arrived)) is None:
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
        await send_json(send, 200, orjson.dumps(answer))
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
            late = wire.may_wait(arrived) or wire.may_be_task(arrived)
            given = isinstance(params.get("arguments"), dict | None)
            return given and arrived.tool in self.names and arrived.bad is None and not late
        return len(arrived.view.toolsets) == 1  # this bounds the number of kept lists

    async def _called(self, arrived: McpRequest, params: dict[str, Any], version: str) -> bytes:
        """Return the result of a call in the SDK's form, without parsing its record again."""
        call = Called(params["name"], params.get("arguments") or {}, arrived.repeat, arrived.view)
        said = await self.tools.call(call, arrived.call_request)
        return said.to_json(version, self.identity)

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


def _list_key(method: str, version: str, arrived: McpRequest) -> ListKey:
    """Return everything that the answer depends on."""
    if method == TOOLS:
        return method, version, arrived.view, arrived.call_request.is_anonymous
    if method == DISCOVER:
        return method, version, arrived.view, False
    return method, version, View(), False
