"""A parsed request to /mcp, and access to it from the SDK's handlers."""

from dataclasses import dataclass
from typing import Any

from mcp.server.context import ServerRequestContext
from starlette.types import Scope

from protocol.mcp.toolsets import USUAL, View
from tools.engine.caller import CallRequest, Surface
from tools.kernel.errors import Json
from tools.kernel.strict_json import BadJson

Request = ServerRequestContext[Any, Any]

REPEAT = b"idempotency-key"
IN_PROCESS = CallRequest(Surface.MCP, ip="unknown", request_id="req_in_process")  # for calls without HTTP


@dataclass(slots=True)
class McpRequest:
    """A parsed request: its caller, the view of its address, and the tool that it calls, if any.

    `bad` is the error in the call's arguments, which were taken out. `repeat` is its Idempotency-Key.
    """

    scope: Scope
    call_request: CallRequest
    view: View
    request: Json
    tool: str | None
    bad: BadJson | None

    @property
    def repeat(self) -> str | None:
        return next((value.decode("latin-1") for name, value in self.scope["headers"] if name == REPEAT), None)


def arrived_in(request: Request) -> McpRequest | None:
    """Return the parsed request; None if it did not come over HTTP."""
    if request.request is None:
        return None
    arrived: McpRequest = request.request.scope["state"]["arrived"]
    return arrived


def view_in(request: Request) -> View:
    arrived = arrived_in(request)
    return USUAL if arrived is None else arrived.view


def call_request_in(request: Request) -> CallRequest:
    arrived = arrived_in(request)
    return IN_PROCESS if arrived is None else arrived.call_request
