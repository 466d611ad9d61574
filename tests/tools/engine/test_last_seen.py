"""Presence: the time of an agent's last call, on listings and in filters, and how it answers orders."""

from datetime import datetime
from typing import Any

import orjson
import pytest

from server import workers
from storage.transaction import Tx
from tests.requirements import covers
from tests.support.market import Agent, TestMarket
from tests.support.trade import Trade

SEARCHES = [{}, {"q": "translate"}, {"sort": "newest"}, {"sort": "cheapest"}, {"sort": "rating"}]


async def calls(market: TestMarket, agent: Agent, on: str = "test") -> None:
    """Make a call with this agent's key and store its time, as the worker does."""
    await market.answer("list_threads", key=agent.keys[on])
    await market.workers.write_touches()


async def listed(market: TestMarket, **asked: Any) -> list[str]:
    found = await market.call("search_listings", env="test", **asked)
    return sorted(one["seller"]["handle"] for one in found["data"])


@covers("second.presence.listings")
@pytest.mark.parametrize("asked", SEARCHES, ids=str)
async def test_listings_are_filtered_by_when_their_seller_was_seen(trade: Trade, asked: dict[str, Any]) -> None:
    market, sellers = trade.market, [await trade.agent(name) for name in ("Early", "Late")]
    for one in sellers:
        await trade.listing(one)
        await calls(market, one)
    market.pass_seconds(100)
    await calls(market, sellers[1])
    assert await listed(market, **asked) == ["early", "late"]
    assert await listed(market, **asked, seen_within_seconds=99) == ["late"]
    assert await listed(market, **asked, seen_within_seconds=100) == ["early", "late"]
    market.pass_seconds(3600)
    assert await listed(market, **asked, seen_within_seconds=3600) == ["late"]
    assert await listed(market, **asked, seen_within_seconds=60) == []


async def test_pages_of_a_filtered_search_go_on_where_the_page_before_ended(trade: Trade) -> None:
    market, seller, gone = trade.market, await trade.agent("Here"), await trade.agent("Gone")
    made = []
    for _ in range(3):
        await trade.listing(gone)
        made.append((await trade.listing(seller))["id"])
    await calls(market, gone)
    market.pass_seconds(1000)
    await calls(market, seller)
    found: list[str] = []
    asked: dict[str, Any] = {"env": "test", "seen_within_seconds": 60, "limit": 1, "sort": "newest"}
    while True:
        page = await market.call("search_listings", **asked)
        found += [one["id"] for one in page["data"]]
        if not page["has_more"]:
            break
        asked["cursor"] = page["next_cursor"]
    assert found == made[::-1]
    other = {**asked, "seen_within_seconds": 61}
    assert (await market.refusal("search_listings", **other))["code"] == "invalid_cursor"


@covers("second.presence.agents")
async def test_agents_are_filtered_by_when_they_were_seen(trade: Trade) -> None:
    market = trade.market
    early, late = [await market.register(name) for name in ("Early", "Late")]
    await market.register("Never")
    for one in (early, late):
        await calls(market, one)
    market.pass_seconds(100)
    await calls(market, late, on="live")
    for asked in ({}, {"q": "early late never"}):
        found = [
            sorted(one["handle"] for one in (await market.call("search_agents", **asked, **within))["data"])
            for within in ({}, {"seen_within_seconds": 99}, {"seen_within_seconds": 100})
        ]
        assert found == [["early", "late", "never"], ["late"], ["early", "late"]]


@pytest.mark.parametrize("operation", ["search_listings", "search_agents"])
@pytest.mark.parametrize("seconds", [59, 2_592_001, "60", 60.5])
async def test_the_filter_is_bounded(market: TestMarket, operation: str, seconds: Any) -> None:
    refused = await market.refusal(operation, seen_within_seconds=seconds)
    assert (refused["code"], refused["param"]) == ("invalid_request", "seen_within_seconds")


@covers("second.presence.shown")
async def test_a_listing_shows_when_its_seller_was_seen_written_once_a_minute(trade: Trade) -> None:
    market, seller = trade.market, await trade.agent("Sela")
    made = await trade.listing(seller)

    async def shown() -> Any:
        return (await market.call("get_listing", listing_id=made["id"], env="test"))["seller_last_seen_at"]

    await calls(market, seller)
    first = await shown()
    market.pass_seconds(59)
    await calls(market, seller)
    assert await shown() == first
    market.pass_seconds(2)
    await calls(market, seller, on="live")
    assert (await shown()) > first
    (found,) = (await market.call("search_listings", env="test"))["data"]
    assert found["seller_last_seen_at"] == await shown()
    agent = await market.call("get_agent", agent_id=seller.id)
    assert agent["last_seen_at"] == await shown()


@covers("second.presence.response_rate")
async def test_a_listing_shows_how_its_seller_answers_orders(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    made = await trade.listing(seller, price=0)

    async def rate() -> Any:
        answer = await trade.market.answer("get_listing", {"listing_id": made["id"], "env": "test"})
        return orjson.loads(answer.body)["seller"]["response_rate"]

    assert await rate() is None
    await trade.order(buyer, made)
    trade.market.pass_seconds(made["accept_timeout_seconds"] + 1)
    await trade.market.workers.sweep()
    assert await rate() == 0
    job = await trade.order(buyer, made)
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    await trade.deliver(seller, job)
    await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    checked = await trade.market.call("check_counterparty", agent_id=seller.id, env="test")
    assert await rate() == checked["response_rate"] == 0.5


async def test_calls_of_many_agents_are_written_in_few_statements(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    market, few = trade.market, [await trade.agent(f"Agent {number}") for number in range(3)]
    many = [*few, *[await trade.agent(f"Other {number}") for number in range(9)]]
    taken: list[int] = []
    write = workers.write_touches

    def counted(tx: Tx, touches: dict[tuple[str, str], datetime]) -> None:
        before = tx.statements
        write(tx, touches)
        taken.append(tx.statements - before)

    monkeypatch.setattr(workers, "write_touches", counted)
    for agents in (few, many):
        market.pass_seconds(100)
        for one in agents:
            await market.answer("list_threads", key=one.keys["test"])
        await market.workers.write_touches()
    assert taken == [4, 4]
    seen = {(await market.call("get_agent", agent_id=one.id))["last_seen_at"] for one in many}
    assert len(seen) == 1


async def test_calls_are_written_in_batches(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    market, agents = trade.market, [await trade.agent(f"Agent {number}") for number in range(5)]
    monkeypatch.setattr(workers, "TOUCHES_AT_ONCE", 2)
    await market.workers.write_touches()
    market.pass_seconds(100)
    before = market.store.counters.units
    for one in agents:
        await market.answer("list_threads", key=one.keys["test"])
    await market.workers.write_touches()
    assert market.store.counters.units - before == 3
    assert len({(await market.call("get_agent", agent_id=one.id))["last_seen_at"] for one in agents}) == 1
