"""Waiting over every protocol; over MCP a client can ask for progress notifications."""

import asyncio
from typing import Any
from unittest.mock import patch

import pytest
from mcp.client import Client

from tests.support.protocols import WIRES, served, wire
from tests.support.trade import Trade
from tools.jobs.operations import USUALLY_WAITED


@pytest.mark.parametrize("name", WIRES)
async def test_a_delivery_is_answered_to_who_waits_for_it(trade: Trade, name: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    async with served(trade.market) as url, wire(name, url) as call:
        asked = {"job_id": job["id"], "wait_seconds": 55}
        task = asyncio.create_task(call("get_job", asked, buyer.keys["test"]))
        await until_waiting(trade)
        await trade.deliver(seller, job)
        async with asyncio.timeout(10):
            assert (await task)["status"] == "delivered"


@pytest.mark.parametrize("name", WIRES)
async def test_a_job_that_has_ended_is_answered_at_once_though_it_waits_for_a_refund(trade: Trade, name: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.failed(seller, buyer)
    async with served(trade.market) as url, wire(name, url) as call, asyncio.timeout(20):
        seen = await call("get_job", {"job_id": job["id"], "wait_seconds": 55}, buyer.keys["test"])
    assert (seen["status"], seen["waiting_on"]["who"]) == ("cancelled", "seller")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("through", [None, "call_tool"])
async def test_progress_is_told_while_a_call_waits(trade: Trade, mode: Any, through: str | None) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    heard, told = [], asyncio.Event()

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total))
        told.set()

    given: Any = {"job_id": job["id"], "wait_seconds": 55}
    called, arguments = (through, {"name": "get_job", "arguments": given}) if through else ("get_job", given)
    arguments["api_key"] = buyer.keys["test"]
    with patch("tools.engine.long_polling.TICK_SECONDS", 0.05):
        async with served(trade.market) as url, Client(f"{url}/mcp", mode=mode) as client, asyncio.timeout(20):
            task = asyncio.create_task(client.call_tool(called, arguments, progress_callback=listen))
            await told.wait()
            await trade.deliver(seller, job)
            result = await task
    assert (result.structured_content or {})["status"] == "delivered"
    assert heard[0][1] == 55


@pytest.mark.parametrize("name", WIRES)
async def test_the_end_of_a_wait_shows_what_no_notification_told(trade: Trade, name: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    with patch("tools.engine.long_polling.TICK_SECONDS", 0.05):
        async with served(trade.market) as url, wire(name, url) as call, asyncio.timeout(20):
            asked = {"job_id": job["id"], "wait_seconds": 55}
            task = asyncio.create_task(call("get_job", asked, buyer.keys["test"]))
            await until_waiting(trade)
            trade.market.market.services.store.listeners.clear()
            await trade.deliver(seller, job)
            assert not task.done()
            trade.market.pass_seconds(56)
            assert (await task)["status"] == "delivered"


async def until_waiting(trade: Trade) -> None:
    async with asyncio.timeout(10):
        while not trade.market.market.services.notifier.ears:  # noqa: ASYNC110 - the notifier has no event for it
            await asyncio.sleep(0.005)
    await asyncio.sleep(0.02)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("through", [None, "call_tool"])
async def test_hire_tells_its_progress_though_no_wait_was_named(trade: Trade, mode: Any, through: str | None) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, payment="upfront")
    told = asyncio.Event()

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        assert total == USUALLY_WAITED
        told.set()

    given: Any = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
    called, arguments = (through, {"name": "hire", "arguments": given}) if through else ("hire", given)
    arguments["api_key"] = buyer.keys["test"]
    with patch("tools.engine.long_polling.TICK_SECONDS", 0.05):
        async with served(trade.market) as url, Client(f"{url}/mcp", mode=mode) as client, asyncio.timeout(20):
            task = asyncio.create_task(client.call_tool(called, arguments, progress_callback=listen))
            await told.wait()
            (job,) = (await trade.market.call("list_jobs", by=seller))["data"]
            await trade.market.call("accept_job", by=seller, job_id=job["id"])
            answer = (await task).structured_content
    assert answer is not None
    assert (answer["job"]["status"], answer["terms"]["job_id"]) == ("awaiting_payment", job["id"])
