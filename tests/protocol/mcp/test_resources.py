"""Records as MCP resources: readable with the connection's own key and no other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.support.protocols import served
from tests.support.trade import Trade
from tests.support.untrusted_markers import unfenced

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


@asynccontextmanager
async def reader(url: str, mode: Any, key: str | None) -> AsyncIterator[Client]:
    """Connect a client that is shown all tools, so answers do not reword their names."""
    headers = {"x-api-key": key} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(f"{url}/mcp?toolsets=all", http_client=http), mode=mode) as client,
    ):
        yield client


async def read(client: Client, uri: str) -> Any:
    (content,) = (await client.read_resource(uri)).contents
    assert content.mime_type == "application/json"
    return unfenced(content.text, (content.meta or {}).get("service/untrusted", ()))  # type: ignore[union-attr]


@MODES
async def test_a_job_its_output_its_listing_and_its_receipt_are_resources(trade: Trade, mode: Any) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    async with served(trade.market) as url, reader(url, mode, buyer.keys["test"]) as client:
        assert await read(client, f"job://{job['id']}") == await trade.seen(buyer, job)
        assert await read(client, f"job://{job['id']}/output") == job["output"]
        shown = await read(client, f"listing://{job['listing_id']}")
        receipt = await read(client, f"receipt://{job['id']}")
    assert shown == await trade.market.call("get_listing", by=buyer, listing_id=job["listing_id"])
    assert receipt["receipt"]["job"]["id"] == job["id"]


@MODES
async def test_another_agents_job_and_a_job_without_a_key_are_not_found(trade: Trade, mode: Any) -> None:
    seller, buyer = await trade.parties()
    job, other = await trade.job_at("completed", seller, buyer), await trade.agent("Nosy")
    async with served(trade.market) as url:
        for key, code, why in (
            (other.keys["test"], "not_found", "you have no such job"),
            (None, "unauthenticated", "this call needs an API key"),
        ):
            async with reader(url, mode, key) as client:
                for uri in (f"job://{job['id']}", f"job://{job['id']}/output", f"receipt://{job['id']}"):
                    with pytest.raises(MCPError, match=f"Resource not found: {why}.*with detail full") as refused:
                        await client.read_resource(uri)
                    assert (refused.value.error.data["uri"], refused.value.error.data["error"]["code"]) == (uri, code)


async def test_a_sealed_output_is_null(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    async with served(trade.market) as url, reader(url, "auto", buyer.keys["test"]) as client:
        assert await read(client, f"job://{job['id']}/output") is None


@pytest.mark.parametrize(
    "uri", ["job://", "job://x", "job://job_1/output/more", "listing://../v1/agents/me", "job:///output"]
)
async def test_what_names_no_record_is_not_found(trade: Trade, uri: str) -> None:
    async with served(trade.market) as url, reader(url, "auto", None) as client:
        with pytest.raises(MCPError, match="Resource not found"):
            await client.read_resource(uri)


@MODES
async def test_what_others_wrote_is_fenced_and_named(trade: Trade, mode: Any) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    named = {}
    async with served(trade.market) as url:
        for reader_of, agent in (("buyer", buyer), ("seller", seller)):
            async with reader(url, mode, agent.keys["test"]) as client:
                for uri in (f"job://{job['id']}/output", f"job://{job['id']}"):
                    (content,) = (await client.read_resource(uri)).contents
                    named[reader_of, uri.endswith("output")] = (content.meta or {}).get("service/untrusted")
    assert named["buyer", True] == [""], "all of it is the seller's"
    assert named["seller", True] is None, "it is the seller's own"
    assert named["buyer", False] == ["/title", "/output"]
    assert named["seller", False] == ["/title", "/input"]
