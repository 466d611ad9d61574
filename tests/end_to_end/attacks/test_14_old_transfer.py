"""Finding 14: a transfer that was made before the order is accepted as its payment."""

import asyncio
from typing import Any

import pytest

from tests.end_to_end.attacks.world import Agent, Arena, Market

PRICE = 250_000
APART = 2.3  # seconds between transfer and order; a difference of two is accepted
TRIES = 6  # a market that polls the chain every 5 s misses about half of such transfers


async def shown(market: Market, buyer: Agent, job: Any, transaction: str, env: str = "test") -> tuple[bool, str | None]:
    """Submit a transfer for a job; return whether it pays, and otherwise the reason."""
    for _ in range(20):
        answer = await market.post(f"/v1/jobs/{job['id']}/pay", buyer.key(env), {"transaction": transaction})
        if answer.code not in ("transaction_pending", "transaction_not_found"):
            break
        await asyncio.sleep(0.25)
    reason = None if answer.status == 200 else answer.record["error"]["details"].get("reason")
    return answer.status == 200, reason


@pytest.mark.finding(14)
@pytest.mark.parametrize("env", ["test", "live"])
async def test_a_transfer_from_before_the_order_pays_for_nothing(arena: Arena, env: str) -> None:
    """The buyer pays for something else, then orders and submits that old transfer."""
    market = await arena.market()
    seller, buyer = await market.agent("Sela", env=env), await market.agent("Bo", env=env, usdc_minor=5_000_000)
    listing = await market.listing(seller, env)
    paid = []
    for number in range(TRIES):
        old = arena.chains[env].transfer(buyer.wallet, seller.wallet.address, PRICE, confirm=False)
        await asyncio.sleep(APART)
        job = await market.order(buyer, listing, env)
        arena.chains[env].mine(3)
        await market.deliver(seller, job, env=env)
        found, reason = await shown(market, buyer, job, old, env)
        paid += [number] if found else []
        assert found or reason == "too_old", "it may not count as anything else"
        assert (await market.get(f"/v1/jobs/{job['id']}", buyer.key(env))).expect()["output_sealed"] or found
    assert paid == []


@pytest.mark.finding(14)
async def test_an_upfront_order_and_an_award_are_not_paid_by_an_old_transfer_either(arena: Arena) -> None:
    market = await arena.market()
    seller, buyer = await market.agent("Sela"), await market.agent("Bo", usdc_minor=5_000_000)
    listing = await market.listing(seller, payment="upfront")
    need = {"title": "Count words", "description": "Of one text.", "category": "text", "budget_max": PRICE, "input": {}}
    bounty = (await market.post("/v1/bounties", buyer.test, need)).expect(201)
    offer = {"price": PRICE, "payment": "upfront", "message": "I can."}
    proposal = (await market.post(f"/v1/bounties/{bounty['id']}/proposals", seller.test, offer)).expect(201)
    for begin in (*["order"] * (TRIES - 1), "award"):
        old = arena.chains["test"].transfer(buyer.wallet, seller.wallet.address, PRICE, confirm=False)
        await asyncio.sleep(APART)
        if begin == "order":
            job = await market.order(buyer, listing)
            (await market.post(f"/v1/jobs/{job['id']}/accept", seller.test)).expect()
        else:
            chosen = {"proposal_id": proposal["id"]}
            job = (await market.post(f"/v1/bounties/{bounty['id']}/award", buyer.test, chosen)).expect()["job"]
        arena.chains["test"].mine(3)
        assert await shown(market, buyer, job, old) == (False, "too_old"), begin
        assert (await market.get(f"/v1/jobs/{job['id']}", seller.test)).expect()["status"] == "awaiting_payment"
        (
            await market.post(f"/v1/jobs/{job['id']}/cancel", buyer.test)
        ).expect()  # a buyer that never paid holds at most one order


async def test_a_transfer_made_right_after_the_order_pays(arena: Arena) -> None:
    """Only old transfers are refused: a quick honest buyer loses nothing."""
    market = await arena.market()
    seller, buyer = await market.agent("Sela"), await market.agent("Bo", usdc_minor=5_000_000)
    listing = await market.listing(seller)
    for _ in range(3):
        job = await market.order(buyer, listing)
        quick = arena.chains["test"].transfer(buyer.wallet, seller.wallet.address, PRICE)
        await market.deliver(seller, job)
        assert await shown(market, buyer, job, quick) == (True, None)
        await asyncio.sleep(0.7)


@pytest.mark.verify
async def test_an_old_transfer_that_was_refused_pays_no_other_job(arena: Arena) -> None:
    market = await arena.market()
    seller, buyer = await market.agent("Sela"), await market.agent("Bo", usdc_minor=5_000_000)
    listing = await market.listing(seller)
    old = arena.chains["test"].transfer(buyer.wallet, seller.wallet.address, PRICE)
    await asyncio.sleep(3)
    for _ in range(2):
        job = await market.order(buyer, listing)
        await market.deliver(seller, job)
        assert await shown(market, buyer, job, old) == (False, "too_old")
    settled = (await market.get("/v1/payments/settlements", buyer.test)).expect()["data"]
    assert settled == []
