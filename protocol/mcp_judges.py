"""The SDK's own judges of a request to /mcp, asked one by one; what they passed once they are not asked about again."""

from typing import Any

import orjson
from mcp.server.streamable_http import check_accept_headers
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request, find_duplicated_routing_header
from mcp_types.methods import parse_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from tools.errors.base import Json

VERSIONS = frozenset({"2025-06-18", "2025-11-25", "2026-07-28"})
MOST_KEPT, MOST_BYTES = 1_000, 1_024  # requests that were passed are kept, and of each so much
TOKEN = "progressToken"  # noqa: S105 - each request has its own, and any text or integer will do

Shape = tuple[bytes, ...]


class Judges:
    """Whether the SDK would find nothing in a request, its headers and its shape."""

    def __init__(self, security: TransportSecuritySettings) -> None:
        self.guard, self.passed = TransportSecurityMiddleware(security), set[Shape]()

    async def admit(self, request: dict[str, Any], seen: Request, version: str) -> bool:
        """`request` has usual members only, as `shape_of` says them."""
        if version not in VERSIONS or request.get("jsonrpc") != "2.0" or not check_accept_headers(seen)[0]:
            return False
        if await self.guard.validate_request(seen, is_post=True) is not None:
            return False
        if version in MODERN_PROTOCOL_VERSIONS and find_duplicated_routing_header(seen.headers.items()):
            return False
        shape = shape_of(request, seen)
        return shape in self.passed or self._passes(request, seen, version, shape)

    def _passes(self, request: dict[str, Any], seen: Request, version: str, shape: Shape) -> bool:
        modern = version in MODERN_PROTOCOL_VERSIONS
        if modern and not isinstance(classify_inbound_request(request, headers=seen.headers), InboundModernRoute):
            return False
        try:
            parse_client_request(request["method"], version, request.get("params"))
        except (KeyError, ValueError):  # a method of another version; pydantic's errors are ValueErrors
            return False
        if sum(map(len, shape)) <= MOST_BYTES:
            if len(self.passed) >= MOST_KEPT:
                self.passed.clear()
            self.passed.add(shape)
        return True


def shape_of(request: dict[str, Any], seen: Request) -> Shape:
    """All that the judges look at: the method, the tool's name, that its arguments are an object, `_meta`, and MCP's headers."""
    params: dict[str, Json] = request.get("params", {})
    told: dict[str, Json] = {**params, "of": request["method"], "arguments": type(params.get("arguments", {})) is dict}
    meta = params.get("_meta")
    if isinstance(meta, dict) and type(meta.get(TOKEN)) in (str, int):
        told["_meta"] = {**meta, TOKEN: type(meta[TOKEN]).__name__, "of": TOKEN}
    if "params" not in request:
        told["lacks"] = "params"
    headers = (part for header in seen.scope["headers"] if header[0].startswith(b"mcp-") for part in header)
    return (orjson.dumps(told), *headers)
