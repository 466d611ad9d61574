"""No surface calls another: on each protocol, only the protocol's own package calls Market.call."""

import sys
from types import FrameType
from typing import Any

import pytest

from tests.conftest import Opening
from tests.support.market import TestMarket
from tests.support.protocols import WIRES, served, wire
from tools.engine.context import CallRequest, Surface
from tools.engine.dispatch import Market
from tools.engine.idempotency import Response

PACKAGE = {"rest": "rest", "mcp": "protocol", "a2a": "protocol"}
SURFACE = {"rest": Surface.REST, "mcp": Surface.MCP, "a2a": Surface.A2A}


@pytest.mark.parametrize("name", WIRES)
async def test_a6_each_wire_goes_straight_to_the_door_with_the_callers_address(
    name: str, opening: Opening, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    market = TestMarket(opening(sqlite_url))
    came: list[tuple[CallRequest, list[str]]] = []
    through = Market.call

    async def recorded(self: Market, op: Any, given: Any, approach: CallRequest, key: str | None = None) -> Response:
        came.append((approach, packages(sys._getframe())))
        return await through(self, op, given, approach, key)

    monkeypatch.setattr(Market, "call", recorded)
    async with served(market) as url, wire(name, url) as call:
        record = await call("get_changelog", {}, None)
    assert record["object"] == "changelog"
    kind = name.split("-")[0]
    ((approach, above),) = came
    assert (approach.surface, approach.ip) == (SURFACE[kind], "127.0.0.1")
    surfaces = [package for package in above if package in ("rest", "protocol")]
    assert set(surfaces) == {PACKAGE[kind]}
    assert above[0] == PACKAGE[kind], "the door stands directly under the surface"


def packages(frame: FrameType | None) -> list[str]:
    """Return the top-level packages of the calling frames, innermost first, without this test."""
    found = []
    while frame is not None:
        found.append(str(frame.f_globals.get("__name__", "")).split(".")[0])
        frame = frame.f_back
    return [package for package in found if package != "tests"]
