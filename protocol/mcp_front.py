"""In front of the MCP SDK: what nearly every request asks is answered here, for a small part of what the SDK's own path costs.

It only accepts. A request is answered here when the SDK's own judges, asked one by one, would all have passed it; whatever
leaves a doubt is the SDK's to answer, so what is refused is refused in one place. Lists are the SDK's own first answer, kept.
"""

from collections.abc import Mapping
from typing import Any

import orjson
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import x_mcp_header_map
from starlette.types import Message, Send

from protocol import mcp_wire as wire
from protocol.http import send_json
from protocol.mcp_judges import Judges
from protocol.mcp_request import Arrived
from protocol.mcp_tools import Called, Tools
from protocol.toolsets import View

CALL, TOOLS = "tools/call", "tools/list"
LISTS = (TOOLS, "prompts/list", "resources/list", "resources/templates/list", "server/discover")
MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
PARAMS = {CALL: frozenset({"name", "arguments", "_meta"}), **dict.fromkeys(LISTS, frozenset({"_meta"}))}

ListKey = tuple[str, str, View, bool]


class Front:
    """Answers calls and lists of `tools` in front of the server that shows this `identity`."""

    def __init__(self, tools: Tools, security: TransportSecuritySettings, identity: Mapping[str, Any]) -> None:
        self.tools, self.identity, self.judges = tools, identity, Judges(security)
        own = tools.keyed.keys() - {tool.name for tool in tools.more}
        self.names = frozenset(name for name in own if not x_mcp_header_map(tools.schemas[name]))
        self.lists: dict[ListKey, bytes] = {}

    async def serve(self, arrived: Arrived, send: Send) -> Send | None:
        """None when it answered. Else it is the SDK's turn, to send its answer by what is returned."""
        if not self._ordinary(arrived) or (version := await self.judges.admit(arrived)) is None:
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

    def _ordinary(self, arrived: Arrived) -> bool:
        """Whether a request has the usual members only, and asks what is answered here and at once."""
        request = arrived.request
        if not isinstance(request, dict) or not request.keys() <= MEMBERS or type(request.get("id")) not in (str, int):
            return False
        method, params = request.get("method"), request.get("params", {})
        known = PARAMS.get(method) if isinstance(method, str) else None
        if known is None or not isinstance(params, dict) or not params.keys() <= known:
            return False
        if method == CALL:
            late = wire.waits(arrived) or wire.may_be_task(arrived)
            given = isinstance(params.get("arguments"), dict | None)
            return given and arrived.tool in self.names and arrived.bad is None and not late
        return len(arrived.view.toolsets) == 1  # so that few lists are kept

    async def _called(self, arrived: Arrived, params: dict[str, Any], version: str) -> bytes:
        """The result of a call as the SDK's runner frames it. The record in it, which is JSON already, is not walked again."""
        call = Called(params["name"], params.get("arguments") or {}, arrived.repeat, arrived.view.readonly)
        said = await self.tools.call(call, arrived.approach)
        return said.framed(version, self.identity)

    def _learning(self, key: ListKey, send: Send) -> Send:
        """Keeps the result that the SDK answers with."""
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


def _list_key(method: str, version: str, arrived: Arrived) -> ListKey:
    """All that the answer depends on."""
    if method == TOOLS:
        return method, version, arrived.view, arrived.approach.keyless
    return method, version, View(), False
