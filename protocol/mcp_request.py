"""A request to /mcp: what it was found to be before the SDK saw it, and how that is found again behind the SDK."""

from dataclasses import dataclass
from typing import Any

from mcp.server.context import ServerRequestContext
from starlette.types import Scope

from protocol.toolsets import View
from tools.context import Approach, Surface
from tools.errors.base import Json
from tools.rules.jsontext import BadJson

Request = ServerRequestContext[Any, Any]

REPEAT = b"idempotency-key"
IN_PROCESS = Approach(Surface.MCP, ip="unknown", request_id="req_in_process")  # no HTTP, no headers


@dataclass(slots=True)
class Arrived:
    """A request as it came, read: who calls, what its address shows, and the tool it calls, where it calls one.

    `bad`: what is wrong with that call's arguments, which were taken out of it. `repeat`: its Idempotency-Key.
    """

    scope: Scope
    approach: Approach
    view: View
    request: Json
    tool: str | None
    bad: BadJson | None

    @property
    def repeat(self) -> str | None:
        return next((value.decode("latin-1") for name, value in self.scope["headers"] if name == REPEAT), None)


def arrived_in(request: Request) -> Arrived | None:
    """None for a request that did not come over HTTP."""
    if request.request is None:
        return None
    arrived: Arrived = request.request.scope["state"]["arrived"]
    return arrived


def view_in(request: Request) -> View:
    arrived = arrived_in(request)
    return View() if arrived is None else arrived.view


def approach_in(request: Request) -> Approach:
    arrived = arrived_in(request)
    return IN_PROCESS if arrived is None else arrived.approach
