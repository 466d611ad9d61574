"""Finding 8: an agent could have 100 keys, each with its own rate limits."""

import asyncio
import secrets  # noqa: TID251 - an attacker has dice of its own
from collections import Counter
from typing import Any

import pytest

from tests.end_to_end.attacks.world import Agent, Arena, Market, personal_sign
from tests.requirements import covers

PER_KEY, PER_AGENT = 60, 180


async def keys_of(market: Market, agent: Agent, count: int) -> list[str]:
    made = [await market.post("/v1/agents/me/keys", agent.test, {"env": "test"}) for _ in range(count - 1)]
    return [agent.test, *(one.expect(201)["key"] for one in made)]


async def in_parallel(count: int, call: Any) -> Counter[int]:
    """Make the calls, 16 at a time; count the answers by status."""
    turns = asyncio.Semaphore(16)

    async def one(number: int) -> int:
        async with turns:
            return int((await call(number)).status)

    return Counter(await asyncio.gather(*(one(number) for number in range(count))))


@pytest.mark.finding(8)
@covers("second.windows.together", "second.windows.agent")
async def test_keys_of_one_agent_ask_the_node_no_more_than_three_keys_may(arena: Arena) -> None:
    market = await arena.market(postgres=True, processes=2)
    seller, buyer = await market.agent("Sela"), await market.agent("Mallory")
    job = await market.order(buyer, await market.listing(seller))
    await market.deliver(seller, job)
    keys = await keys_of(market, buyer, 6)

    async def prove(number: int) -> Any:
        body = {"transaction": "0x" + secrets.token_hex(32)}
        return await market.post(f"/v1/jobs/{job['id']}/pay", keys[number % 6], body)

    answered = await in_parallel(300, prove)
    assert set(answered) <= {409, 429}, answered
    assert answered[409] <= PER_AGENT, "each answer but a refusal asked the operator's node"


@pytest.mark.finding(8)
async def test_keys_of_one_agent_try_no_more_wallets_than_three_keys_may(arena: Arena) -> None:
    market = await arena.market(postgres=True, processes=2)
    mallory = await market.agent("Mallory")
    keys = await keys_of(market, mallory, 6)
    wrong = personal_sign(mallory.wallet, "another text")

    async def bind(number: int) -> Any:
        body = {"address": "0x" + secrets.token_hex(20), "signature": wrong}
        return await market.post("/v1/agents/me/wallet-address", keys[number % 6], body)

    answered = await in_parallel(300, bind)
    assert sum(count for status, count in answered.items() if status != 429) <= PER_AGENT, answered


@covers("second.windows.invalid")
async def test_calls_that_fail_validation_count_too(arena: Arena) -> None:
    market = await arena.market()
    mallory = await market.register("Mallory")

    async def invalid(_: int) -> Any:
        body = {"value": 1, "ttl_seconds": "never"}
        return await market.send("PUT", "/v1/memory/k", mallory["api_keys"]["test"], body)

    answered = await in_parallel(200, invalid)
    assert set(answered) == {400, 429}
    assert answered[400] <= 120


async def test_the_keys_of_one_environment_leave_the_other_its_window(arena: Arena) -> None:
    market = await arena.market()
    mallory = await market.agent("Mallory")
    keys = await keys_of(market, mallory, 5)

    async def put(number: int) -> Any:
        return await market.send("PUT", "/v1/memory/k", keys[number % 5], {"value": number})

    assert (await in_parallel(500, put))[429] > 0
    live = await market.send("PUT", "/v1/memory/k", mallory.live, {"value": 1})
    assert live.status < 300, "another environment, another window"
