"""Alerts of new bounties: their recipients, content and limits; each is sent once."""

import asyncio
from typing import Any

import pytest

from storage.alerts import ANY_MATCH
from tests.requirements import covers
from tests.support.bounties import bounty
from tests.support.databases import Opening
from tests.support.market import Agent, TestMarket
from tests.support.trade import Trade
from tools.bounties import alerts
from tools.bounties.alert_rules import MAX_A_DAY, MAX_OF_BUYER, MAX_OF_STRANGERS, MAX_TOLD_OF

NEED = {"title": "Translate a manual to French", "description": "Twelve pages of plain text.", "category": "text"}


async def seller(market: TestMarket, name: str, *capabilities: str, enabled: bool = True) -> Agent:
    made = await market.register(name)
    await market.call("update_me", by=made, capabilities=[*capabilities])
    if enabled:
        await market.call("set_bounty_alerts", by=made, enabled=True)
    return made


async def told(market: TestMarket, agent: Agent, on: str = "test") -> list[Any]:
    while await market.store.read(lambda tx: tx.one(ANY_MATCH)):
        await market.workers.tell_of_bounties()
    found = await market.call("list_events", by=agent, on=on, types=["bounty.match"], limit=100)
    return [one["data"] for one in found["data"]]


@covers("second.alerts.match", "second.alerts.switch")
async def test_an_agent_is_told_of_a_bounty_that_speaks_of_what_it_can_do(trade: Trade) -> None:
    market, buyer = trade.market, await trade.agent("Bea")
    fits = await seller(market, "Tilda", "translate", "poetry")
    others = [
        await seller(market, "Cara", "code"),
        await seller(market, "Otto", "translate", enabled=False),
        await seller(market, "Nomi"),
    ]
    made = await bounty(trade, buyer, **NEED)
    (found,) = await told(market, fits)
    assert found == {
        "bounty_id": made["id"],
        "title": NEED["title"],
        "category": "text",
        "budget_max": made["budget_max"],
        "budget_display": made["budget_display"],
        "matched_terms": ["translate"],
        "buyer_id": buyer.id,
        "expires_at": made["expires_at"],
    }
    assert [await told(market, one) for one in others] == [[], [], []]
    assert await told(market, fits, on="live") == []


async def test_the_switch_holds_in_its_environment_and_can_be_turned_back(trade: Trade) -> None:
    market, buyer = trade.market, await trade.agent("Bea")
    tilda = await seller(market, "Tilda", "translate")
    on, off = [await market.call("get_bounty_alerts", by=tilda, on=env) for env in ("test", "live")]
    assert (on["enabled"], off["enabled"], on["terms"]) == (True, False, ["translate"])
    again = await market.call("set_bounty_alerts", by=tilda, enabled=False)
    assert (again["enabled"], again["env"]) == (False, "test")
    await bounty(trade, buyer, **NEED)
    assert await told(market, tilda) == []


async def test_nobody_is_told_of_its_own_bounty_nor_of_one_that_has_ended(trade: Trade) -> None:
    market = trade.market
    tilda = await seller(market, "Tilda", "translate")
    await bounty(trade, tilda, **NEED)
    bea = await trade.agent("Bea")
    closed = await bounty(trade, bea, **NEED)
    await market.call("close_bounty", by=bea, bounty_id=closed["id"])
    late = await bounty(trade, await trade.agent("Bo"), **NEED, expires_in_seconds=300)
    market.pass_seconds(301)
    assert late["status"] == "open"
    assert await told(market, tilda) == []
    assert await market.store.read(lambda tx: tx.one(ANY_MATCH)) is None


@covers("second.alerts.a_day")
async def test_an_agent_is_told_of_twenty_a_day_and_of_two_of_one_buyer(trade: Trade) -> None:
    market = trade.market
    tilda = await seller(market, "Tilda", "translate")
    buyers = [await trade.known(await market.register(f"Buyer {number}")) for number in range(12)]
    for buyer in buyers:
        for _ in range(MAX_OF_BUYER + 1):
            await bounty(trade, buyer, **NEED)
    found = await told(market, tilda)
    assert len(found) == MAX_A_DAY
    assert max([one["buyer_id"] for one in found].count(buyer.id) for buyer in buyers) == MAX_OF_BUYER
    assert (await market.call("get_bounty_alerts", by=tilda))["told_today"] == MAX_A_DAY
    market.pass_seconds(86_400)
    await bounty(trade, buyers[0], **NEED)
    assert len(await told(market, tilda)) == MAX_A_DAY + 1


@covers("second.alerts.a_day")
async def test_buyers_that_never_paid_fill_a_quarter_of_a_day(trade: Trade) -> None:
    market = trade.market
    tilda = await seller(market, "Tilda", "translate")
    for day in (1, 2):
        for number in range(10):
            mallory = await market.register(f"Mallory {day} {number}")
            for _ in range(MAX_OF_BUYER):
                await bounty(trade, mallory, **NEED | {"budget_max": 1})
        honest = await trade.known(await market.register(f"Honest {day}"))
        made = await bounty(trade, honest, **NEED | {"budget_max": 500_000_000})
        found = await told(market, tilda)
        assert len(found) == day * (MAX_OF_STRANGERS + 1)
        assert made["id"] in [one["bounty_id"] for one in found]
        market.pass_seconds(86_400)


async def test_a_buyer_that_was_paid_back_has_never_paid(trade: Trade) -> None:
    market, buyer = trade.market, await trade.agent("Bea", 1_000_000)
    tilda, shill = await seller(market, "Tilda", "translate"), await trade.agent("Shill")
    job = await trade.job_at("completed", shill, buyer, price=10_000)
    for number in range(MAX_OF_STRANGERS):
        await bounty(trade, await market.register(f"New {number}"), **NEED)
    await bounty(trade, buyer, **NEED)
    assert len(await told(market, tilda)) == MAX_OF_STRANGERS + 1, "a payment of 0.01 USDC counts"
    await trade.give_back(shill, buyer, job, 1)
    await bounty(trade, buyer, **NEED)
    assert len(await told(market, tilda)) == MAX_OF_STRANGERS + 1


async def test_a_buyer_that_posts_many_in_a_day_makes_no_more_work(trade: Trade) -> None:
    market, buyer = trade.market, await trade.agent("Bea")
    for _ in range(MAX_TOLD_OF):
        made = await bounty(trade, buyer, **NEED)
        await market.call("close_bounty", by=buyer, bounty_id=made["id"])
        market.pass_seconds(1)
    tilda = await seller(market, "Tilda", "translate")
    await bounty(trade, buyer, **NEED)
    assert await told(market, tilda) == []


@covers("second.alerts.once")
async def test_many_processes_tell_each_agent_once_batch_by_batch(
    trade: Trade, monkeypatch: pytest.MonkeyPatch, database_url: str, opening: Opening
) -> None:
    monkeypatch.setattr(alerts, "BATCH", 3)
    market = trade.market
    processes = [market] if database_url.startswith("sqlite") else [market, TestMarket(opening(database_url))]
    sellers = [await seller(market, f"Seller {number}", "translate") for number in range(10)]
    for name in ("Bea", "Bo"):
        await bounty(trade, await trade.agent(name), **NEED)
    for _ in range(3):
        await asyncio.gather(*(one.workers.tell_of_bounties() for one in processes for _ in range(2)))
    assert {len(await told(market, one)) for one in sellers} == {2}
    assert await market.store.read(lambda tx: tx.one(ANY_MATCH)) is None


async def test_who_has_left_is_told_nothing(trade: Trade) -> None:
    market = trade.market
    tilda, cara = [await seller(market, name, "translate") for name in ("Tilda", "Cara")]
    await market.as_operator("set_agent_status", agent_id=tilda.id, status="suspended")
    await bounty(trade, await trade.agent("Bea"), **NEED)
    assert len(await told(market, cara)) == 1
    await market.as_operator("set_agent_status", agent_id=tilda.id, status="active")
    assert await told(market, tilda) == []
