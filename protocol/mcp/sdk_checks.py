"""The SDK's own checks of requests to /mcp, called one by one; requests that passed are cached by their shape."""

from typing import Any

import orjson
from mcp.server.streamable_http import check_accept_headers
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request, find_duplicated_routing_header
from mcp_types.methods import parse_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from protocol.mcp.http import for_sdk
from protocol.mcp.request import McpRequest
from tools.kernel.errors import Json

VERSIONS = frozenset({"2025-06-18", "2025-11-25", "2026-07-28"})
MAX_KEPT, MAX_BYTES = 1_000, 1_024  # cached shapes, and the bytes of each
JUDGED = (b"host", b"origin", b"accept")
TOKEN = "progressToken"  # noqa: S105 - each request has its own, and any text or integer will do

Shape = tuple[bytes, ...]


class SdkChecks:
    """The SDK's checks of a request, its headers and its shape."""

    def __init__(self, security: TransportSecuritySettings) -> None:
        self.guard, self.passed = TransportSecurityMiddleware(security), dict[Shape, str]()

    async def supported_version(self, arrived: McpRequest) -> str | None:
        """Return the request's protocol version; None leaves the request to the SDK.

        The request has usual members only. `shape_of` is the cache key.
        """
        shape = shape_of(arrived)
        if shape in self.passed:
            return self.passed[shape]
        seen = Request(for_sdk(arrived))
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
    judged = [
        part
        for header in arrived.scope["headers"]
        if header[0] in JUDGED or header[0].startswith(b"mcp-")
        for part in header
    ]
    return (orjson.dumps(told), *judged)
