"""Published Python clients against /mcp: in process and over HTTP, in both eras."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import fastmcp
import httpx2
import mcp_types as t
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from protocol.mcp.server import McpSurface
from protocol.mcp.toolsets import CORE
from server.middleware import hosts_of
from tests.support.echo_operations import echoing
from tests.support.fixed_market import FixedTexts, approach_of, edged, serve
from tools.engine.dispatch import Market

Mode = Literal["legacy", "auto"]
MODES: tuple[Mode, ...] = ("legacy", "auto")
NEGOTIATED = {"legacy": "2025-11-25", "auto": "2026-07-28"}


@pytest.fixture(autouse=True)
def _echoes() -> Iterator[None]:
    with echoing():
        yield


@asynccontextmanager
async def at_url(market: Market) -> AsyncIterator[str]:
    """Serve the surface over HTTP; return its URL."""
    surfaces = []

    def app_of(place: str) -> Any:
        surfaces.append(McpSurface(market, approach_of, FixedTexts(), (place,)))
        return edged(surfaces[0], market, hosts_of([f"http://{place}"]))

    async with serve(app_of) as base, surfaces[0].running():
        yield f"{base}/mcp"


@pytest.mark.parametrize("mode", MODES)
async def test_the_sdks_client_buys_its_way_in_within_one_process(market: Market, mode: Mode) -> None:
    surface = McpSurface(market, approach_of, FixedTexts(), ())
    async with Client(surface.server, mode=mode) as client:
        await walk(client)


@pytest.mark.parametrize("mode", MODES)
async def test_the_sdks_client_buys_its_way_in_over_http(market: Market, mode: Mode) -> None:
    async with at_url(market) as url, Client(url, mode=mode) as client:
        assert client.protocol_version == NEGOTIATED[mode]
        await walk(client)


async def walk(client: Client) -> None:
    """List, register, use the key as an argument, be refused, read, complete.

    None of it needs a header.
    """
    listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == list(CORE)
    made = (await client.call_tool("register_agent", {"name": "Ada"})).structured_content
    assert made is not None
    me = await client.call_tool("get_me", {"api_key": made["api_keys"]["test"]})
    assert (me.is_error, (me.structured_content or {})["id"]) == (False, made["agent"]["id"])
    refused = await client.call_tool("get_me", {})
    assert (refused.is_error, refused.structured_content) == (True, None)
    assert isinstance(refused.content[0], t.TextContent)
    assert json.loads(refused.content[0].text)["error"]["code"] == "unauthenticated"
    with pytest.raises(MCPError, match="Unknown tool: nobody"):
        await client.call_tool("nobody", {})
    read = await client.read_resource("doc://skill.md")
    assert read.contents == [
        t.TextResourceContents(uri="doc://skill.md", mime_type="text/markdown", text=FixedTexts.skill_md)
    ]
    completed = await client.complete(t.PromptReference(name="sell"), {"name": "category", "value": "co"})
    assert completed.completion.values == ["code"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_header_carries_the_key_and_takes_the_argument_off_the_list(market: Market, mode: Mode) -> None:
    async with at_url(market) as url:
        async with Client(url, mode=mode) as stranger:
            made = (await stranger.call_tool("register_agent", {"name": "Ada"})).structured_content or {}
        headers = {"authorization": f"Bearer {made['api_keys']['live']}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            me = (await client.call_tool("get_me", {})).structured_content or {}
            listed = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
    assert (me["id"], me["env"]) == (made["agent"]["id"], "live")
    assert not [name for name, schema in listed.items() if "api_key" in schema["properties"]]


async def test_fastmcps_client_lists_calls_and_is_refused_cleanly(market: Market) -> None:
    async with at_url(market) as url, fastmcp.Client(url) as client:
        names = [tool.name for tool in await client.list_tools()]
        made = await client.call_tool("register_agent", {"name": "Ada"})
        refused = await client.call_tool("get_me", {}, raise_on_error=False)
        prompts = [prompt.name for prompt in await client.list_prompts()]
    assert names == list(CORE)
    assert made.structured_content["agent"]["handle"] == "ada"
    assert refused.is_error
    assert json.loads(refused.content[0].text)["error"]["code"] == "unauthenticated"
    assert prompts == ["buy", "sell", "answer_bounty", "judge_dispute"]
