"""Finding 6: the seller raises a quote or a proposal between the buyer's reading it and accepting it."""

import asyncio
from typing import Any

import pytest

from tests.end_to_end.attacks.world import Agent, Arena, Market

READ, RAISED = 10_000, 900_000_000
SURFACES = ("rest", "mcp", "a2a")
NEED = {
    "title": "A poem in English",
    "description": "Four lines on the sea, in your own words.",
    "budget_max": RAISED,
    "category": "text",
}


async def follow(market: Market, surface: str, step: Any, key: str) -> None:
    """Make the call that a next step names, and return any answer."""
    if surface == "rest":
        await market.send(step["method"], step["path"], key, step["body"])
    elif surface == "mcp":
        await market.mcp_tool("call_tool", key, name=step["tool"], arguments=step["arguments"])
    else:
        await market.a2a_tool(step["tool"], key, **step["arguments"])


def named(record: Any, tool: str) -> Any:
    (found,) = [step for step in record["next_steps"] if step["tool"] == tool]
    return found


async def quoted(market: Market) -> tuple[Agent, Agent, Any]:
    """Return a job whose seller quotes READ."""
    seller, buyer = await market.agent("Sela"), await market.agent("Bo")
    job = await market.order(buyer, await market.listing(seller, pricing_model="quote", price=None))
    await quote(market, seller, job, READ)
    return seller, buyer, job


async def quote(market: Market, seller: Agent, job: Any, price: int) -> None:
    (await market.post(f"/v1/jobs/{job['id']}/quote", seller.test, {"price": price})).expect()


async def read(market: Market, buyer: Agent, job: Any) -> Any:
    return (await market.get(f"/v1/jobs/{job['id']}", buyer.test)).expect()


async def proposed(market: Market) -> tuple[Agent, Agent, Any]:
    seller, buyer = await market.agent("Sela"), await market.agent("Bo")
    bounty = (await market.post("/v1/bounties", buyer.test, NEED)).expect(201)
    await propose(market, seller, bounty, price=READ)
    return seller, buyer, bounty


async def propose(market: Market, seller: Agent, bounty: Any, **offer: Any) -> None:
    body = {"price": READ, "payment": "on_delivery"} | offer
    (await market.post(f"/v1/bounties/{bounty['id']}/proposals", seller.test, body)).expect()


async def jobs_of(market: Market, buyer: Agent) -> list[Any]:
    return list((await market.get("/v1/jobs", buyer.test)).expect()["data"])


async def proposals(market: Market, buyer: Agent, bounty: Any) -> Any:
    return (await market.get(f"/v1/bounties/{bounty['id']}/proposals", buyer.test)).expect()


@pytest.mark.finding(6)
@pytest.mark.parametrize("surface", SURFACES)
async def test_a_raised_quote_is_not_agreed_to(arena: Arena, surface: str) -> None:
    market = await arena.market()
    seller, buyer, job = await quoted(market)
    step = named(await read(market, buyer, job), "accept_quote")
    await quote(market, seller, job, RAISED)
    await follow(market, surface, step, buyer.test)
    seen = await read(market, buyer, job)
    assert (seen["status"], seen["price"]) == ("quoted", None)


@pytest.mark.finding(6)
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("change", [{"price": RAISED}, {"payment": "upfront"}])
async def test_a_changed_proposal_is_not_awarded(arena: Arena, surface: str, change: dict[str, Any]) -> None:
    market = await arena.market()
    seller, buyer, bounty = await proposed(market)
    step = named(await proposals(market, buyer, bounty), "award_bounty")
    await propose(market, seller, bounty, **change)
    await follow(market, surface, step, buyer.test)
    assert await jobs_of(market, buyer) == []


@pytest.mark.finding(6)
async def test_the_inbox_leads_to_no_raised_quote(arena: Arena) -> None:
    market = await arena.market()
    seller, buyer, job = await quoted(market)
    step = named((await market.get("/v1/inbox", buyer.test)).expect(), "accept_quote")
    await quote(market, seller, job, RAISED)
    await follow(market, "rest", step, buyer.test)
    assert (await read(market, buyer, job))["status"] == "quoted"


async def test_a_step_that_nobody_changed_agrees(arena: Arena) -> None:
    market = await arena.market()
    _, buyer, job = await quoted(market)
    await follow(market, "rest", named(await read(market, buyer, job), "accept_quote"), buyer.test)
    assert (await read(market, buyer, job))["price"] == READ
    _, owner, bounty = await proposed(market)
    await follow(market, "rest", named(await proposals(market, owner, bounty), "award_bounty"), owner.test)
    assert [one["price"] for one in await jobs_of(market, owner)] == [READ]


@pytest.mark.parametrize("count", [1, 2])
async def test_a_quote_that_is_raised_at_the_same_moment_is_never_agreed_to(arena: Arena, count: int) -> None:
    market = await arena.market(postgres=count > 1, processes=count)
    for _ in range(5):
        seller, buyer, job = await quoted(market)
        agree = market.post(f"/v1/jobs/{job['id']}/accept_quote", buyer.test, {"price": READ})
        raised = market.post(f"/v1/jobs/{job['id']}/quote", seller.test, {"price": RAISED})
        await asyncio.gather(agree, raised)
        assert (await read(market, buyer, job))["price"] in (None, READ)


async def test_a_proposal_that_is_raised_at_the_same_moment_is_never_awarded(arena: Arena) -> None:
    market = await arena.market()
    for _ in range(5):
        seller, buyer, bounty = await proposed(market)
        step = named(await proposals(market, buyer, bounty), "award_bounty")
        raised = market.post(f"/v1/bounties/{bounty['id']}/proposals", seller.test, {"price": RAISED})
        await asyncio.gather(follow(market, "rest", step, buyer.test), raised)
        assert all(one["price"] == READ for one in await jobs_of(market, buyer))


async def test_a_price_of_zero_read_is_not_taken_for_no_price(arena: Arena) -> None:
    market = await arena.market()
    seller, buyer, job = await quoted(market)
    await quote(market, seller, job, 0)
    step = named(await read(market, buyer, job), "accept_quote")
    await quote(market, seller, job, RAISED)
    await follow(market, "rest", step, buyer.test)
    assert (await read(market, buyer, job))["status"] == "quoted"
