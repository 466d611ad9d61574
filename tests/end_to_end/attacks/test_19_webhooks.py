"""Finding 19: a message of one byte makes the market post the whole task to a host that never agreed."""

import asyncio

import pytest

from tests.end_to_end.attacks.world import Arena
from tests.requirements import covers
from tests.support.http_receiver import Receiver

OUTPUT = 400_000


@pytest.mark.finding(19)
@covers("second.edge.pushes")
async def test_small_messages_send_no_large_task_again_and_again(arena: Arena) -> None:
    market = await arena.market()
    seller, buyer = await market.agent("Mallory"), await market.agent("Bo", usdc_minor=1_000_000)
    listing = await market.listing(seller, price=10_000, output_schema=None, example_output=None)
    job = await market.order(buyer, listing, input={"text": "y" * OUTPUT})
    await market.deliver(seller, job, {"text": "x" * OUTPUT})
    await market.pay(buyer, job)
    async with Receiver() as victim:
        config = {"taskId": job["id"], "url": victim.url}
        (await market.a2a("CreateTaskPushNotificationConfig", config, buyer.test)).expect()
        for number in range(8):
            body = {"body": "x"}
            await market.post(f"/v1/threads/{job['thread_id']}/messages", seller.test, body)
            for _ in range(100):
                if len(victim.got) > number:
                    break
                await asyncio.sleep(0.05)
        await asyncio.sleep(1)
        assert victim.got, "the receiver was told"
        assert sum(len(one.raw) for one in victim.got) < 2 * OUTPUT + 100_000, "order and output were sent once"


async def test_many_configs_of_one_agent_post_a_host_no_more_than_one_may(arena: Arena) -> None:
    """Each order adds push configs; one rate limit for agent and host covers them all."""
    market = await arena.market(rate_limits="off")
    seller, buyer = await market.agent("Sela"), await market.agent("Mallory")
    listing = await market.listing(seller, price=0)
    async with Receiver() as victim:
        for number in range(5):
            job = await market.order(buyer, listing, input={"text": "y" * 400_000})
            for config in range(5):
                given = {"taskId": job["id"], "id": f"c{number}-{config}", "url": victim.url}
                (await market.a2a("CreateTaskPushNotificationConfig", given, buyer.test)).expect()
            (await market.post(f"/v1/jobs/{job['id']}/decline", seller.test, {})).expect()
        for _ in range(100):
            if sum(len(one.raw) for one in victim.got) >= 4_000_000:
                break
            await asyncio.sleep(0.1)
        await asyncio.sleep(2)
        assert sum(len(one.raw) for one in victim.got) <= 5 * 2**20
