"""A stranger's message to a seller's worker: its loop still waits instead of spinning, and still sees the order."""

import asyncio
from typing import Any

import pytest

from tests.end_to_end.attacks.world import Agent, Arena, Market

MAX_CALLS = 30  # a loop that spins makes 600 in a second, and then exceeds the rate limit
QUIET_SECONDS = 3


class Worker:
    """The loop that a seller writes: wait for the inbox, act, wait again."""

    def __init__(self, market: Market, seller: Agent, at: int = 0) -> None:
        self.market, self.seller, self.at = market, seller, at
        self.calls = 0
        self.refused: list[str] = []
        self.jobs: list[str] = []

    async def run(self) -> None:
        since: str | None = None
        while not self.jobs and not self.refused and self.calls < 1000:
            after = "" if since is None else f"&since={since}"
            reply = await self.market.get(f"/v1/inbox?wait_seconds=1{after}", self.seller.test, at=self.at)
            self.calls += 1
            if reply.status != 200:
                self.refused.append(reply.text)
                return
            since = reply.record.get("next_since")
            self.jobs = [
                one["id"] for one in reply.record["jobs_awaiting_my_action"] if one["action_needed"] == "accept"
            ]


async def disturbed(market: Market, worker: Worker, *messages: str) -> str:
    """Let strangers write to the seller, wait, then order from it; return the order's id."""
    listing = await market.listing(worker.seller)
    buyer, stranger = await market.agent("Bo", usdc_minor=1_000_000), await market.agent("Mal")
    for body in messages:
        sent = await market.post("/v1/threads", stranger.test, {"to": worker.seller.id, "body": body})
        sent.expect(201)
    loop = asyncio.create_task(worker.run())
    await asyncio.sleep(QUIET_SECONDS)
    made: dict[str, Any] = await market.order(buyer, listing)
    async with asyncio.timeout(30):
        await loop
    return str(made["id"])


@pytest.mark.parametrize("messages", [("Hi, can you do French?",), ("One", "Two", "Three")], ids=["one", "three"])
async def test_a_strangers_message_neither_spins_nor_stops_a_sellers_loop(
    arena: Arena, messages: tuple[str, ...]
) -> None:
    market = await arena.market()
    worker = Worker(market, await market.agent("Sela"))
    order = await disturbed(market, worker, *messages)
    assert (worker.refused, worker.jobs) == ([], [order])
    assert worker.calls <= MAX_CALLS


async def test_an_order_that_is_left_alone_does_not_spin_the_loop_either(arena: Arena) -> None:
    market = await arena.market()
    seller, buyer = await market.agent("Sela"), await market.agent("Bo", usdc_minor=1_000_000)
    job = await market.order(buyer, await market.listing(seller))
    (await market.post(f"/v1/jobs/{job['id']}/accept", seller.test)).expect(200)
    worker = Worker(market, seller)
    order = await disturbed(market, worker, "Hurry up!")
    assert (worker.refused, worker.jobs) == ([], [order])
    assert worker.calls <= MAX_CALLS


async def test_a_loop_at_another_process_is_woken_and_not_spun(arena: Arena) -> None:
    market = await arena.market(postgres=True, processes=2)
    worker = Worker(market, await market.agent("Sela"), at=1)
    order = await disturbed(market, worker, "Hi, can you do French?")
    assert (worker.refused, worker.jobs) == ([], [order])
    assert worker.calls <= MAX_CALLS
