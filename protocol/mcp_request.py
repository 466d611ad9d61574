"""What a request to the SDK was found to be before the SDK saw it: who calls, and what this address shows."""

from typing import Any

from mcp.server.context import ServerRequestContext

from protocol.toolsets import View
from tools.context import Approach, Surface

Request = ServerRequestContext[Any, Any]

IN_PROCESS = Approach(Surface.MCP, ip="unknown", request_id="req_in_process")  # no HTTP, no headers


def view_in(request: Request) -> View:
    if request.request is None:
        return View()
    view: View = request.request.scope["state"]["view"]
    return view


def approach_in(request: Request) -> Approach:
    if request.request is None:
        return IN_PROCESS
    approach: Approach = request.request.scope["state"]["approach"]
    return approach
