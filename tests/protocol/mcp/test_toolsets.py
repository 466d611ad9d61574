"""Toolsets: the tools that each address of /mcp lists, and calls of the others through call_tool."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from protocol.mcp.toolsets import CALL, CORE, FIND
from tests.support.echo_operations import echoing
from tests.support.mcp_client import ERAS, MODERN, connected
from tools.engine.context import Surface
from tools.engine.dispatch import Market
from tools.engine.registry import CATALOGUE

MAX_CORE = 24


@pytest.fixture(autouse=True)
def _echoes() -> Iterator[None]:
    with echoing():
        yield


async def names_at(market: Market, place: str, era: str = MODERN) -> list[str]:
    async with connected(market) as mcp:
        listed = (await mcp.ask(era, "tools/list", query=place)).result["tools"]
    return [tool["name"] for tool in listed]


def served(**having: Any) -> list[str]:
    ops = [op for op in CATALOGUE.values() if Surface.MCP in op.surfaces]
    return [op.name for op in ops if all(getattr(op, name) == value for name, value in having.items())]


@pytest.mark.parametrize("era", ERAS)
async def test_at_first_a_connection_is_shown_the_core_tools_alone(market: Market, era: str) -> None:
    assert len(CORE) <= MAX_CORE
    for place in ("", "/", "?toolsets=core", "?toolsets="):
        assert await names_at(market, place, era) == list(CORE)


@pytest.mark.parametrize("place", ["?toolsets=bounties", "/x/bounties", "/x/bounties/"])
async def test_a_toolset_is_shown_alone_with_what_finds_and_calls_the_others(market: Market, place: str) -> None:
    assert await names_at(market, place) == [FIND, CALL, *served(toolset="bounties")]


async def test_toolsets_add_up_and_each_tool_is_shown_once(market: Market) -> None:
    both = await names_at(market, "?toolsets=memory,core&toolsets=jobs")
    assert len(both) == len(set(both))
    assert set(both) == {*CORE, *served(toolset="memory"), *served(toolset="jobs")}


@pytest.mark.parametrize("place", ["?toolsets=all", "/x/all"])
async def test_all_shows_every_tool(market: Market, place: str) -> None:
    assert sorted(await names_at(market, place)) == sorted([CALL, *served()])


@pytest.mark.parametrize("place", ["?toolsets=bogus", "/x/bogus", "?toolsets=core,bogus"])
async def test_an_unknown_toolset_is_refused_and_the_known_ones_are_named(market: Market, place: str) -> None:
    async with connected(market) as mcp:
        answer = await mcp.http.post(f"/mcp{place}", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["message"]) == (400, "toolsets", "toolsets: there is no bogus")
    assert all(name in error["hint"] for name in ("core", "bounties", "all"))


@pytest.mark.parametrize("place", ["/nothing", "/x", "/readonly/more"])
async def test_another_path_below_mcp_is_not_found(market: Market, place: str) -> None:
    async with connected(market) as mcp:
        answer = await mcp.http.post(f"/mcp{place}", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "route_not_found")


async def test_the_address_for_reading_shows_and_calls_only_what_changes_nothing(market: Market) -> None:
    names = set(await names_at(market, "/readonly"))
    assert names == {CALL} | {name for name in CORE if name in CATALOGUE and CATALOGUE[name].safe}
    async with connected(market) as mcp:
        for tool, given in (("pay_echo", {"value": 1}), (CALL, {"name": "pay_echo", "arguments": {"value": 1}})):
            refused = await mcp.call(MODERN, tool, given, query="/readonly")
            assert json.loads(refused["content"][0]["text"])["error"]["code"] == "forbidden"


@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_that_is_not_shown_can_be_called_all_the_same(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        for query in ("", "/x/memory"):
            assert (await mcp.call(era, "say_json", {"value": 1}, query=query))["structuredContent"]["object"] == "echo"


@pytest.mark.parametrize("era", ERAS)
async def test_call_tool_answers_as_the_tool_itself(market: Market, era: str) -> None:
    async with connected(market) as mcp:
        for name, given in (("say_json", {"value": [1, {"a": None}]}), ("say_json", {"times": 99}), ("get_me", {})):
            itself = await mcp.call(era, name, given)
            through = await mcp.call(era, CALL, {"name": name, "arguments": given})
            assert stripped(itself) == stripped(through)


def stripped(result: Any) -> str:
    """Return a result without counters and request ids."""
    text = json.loads(result["content"][0]["text"])
    for part in (text, text.get("error", {}), result.get("structuredContent") or {}):
        part.pop("number", None)
        part.pop("request_id", None)
    return json.dumps([text, result.get("isError", False)], sort_keys=True)


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({}, "name"),
        ({"name": "get_helth"}, "name"),
        ({"name": CALL, "arguments": {"name": "get_health"}}, "name"),
        ({"name": 7}, "name"),
        ({"name": "get_health", "arguments": [1]}, "arguments"),
        ({"name": "get_health", "limit": 3}, "limit"),
        ({"name": "say_json", "api_key": "a", "arguments": {"api_key": "b"}}, "api_key"),
        ({"name": "say_json", "idempotency_key": 5}, "idempotency_key"),
    ],
)
async def test_call_tool_says_what_is_wrong_with_a_call(market: Market, given: Any, param: str) -> None:
    async with connected(market) as mcp:
        error = json.loads((await mcp.call(MODERN, CALL, given))["content"][0]["text"])["error"]
    assert (error["code"], error["param"]) == ("invalid_request", param)


async def test_call_tool_names_the_nearest_tool(market: Market) -> None:
    async with connected(market) as mcp:
        error = json.loads((await mcp.call(MODERN, CALL, {"name": "get_helth"}))["content"][0]["text"])["error"]
    assert error["hint"].startswith("Did you mean call_tool(name=get_health)?")
