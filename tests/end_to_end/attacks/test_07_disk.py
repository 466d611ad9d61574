"""Finding 7: one agent fills the operator's disk with free calls whose data is kept."""

import asyncio
import secrets  # noqa: TID251 - an attacker has dice of its own
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.end_to_end.attacks.world import OFFER, Agent, Arena, Market, Reply, eventually
from tests.requirements import covers

LIMIT = 2 * 2**20
SMALL = {"agent_storage_mb": "2"}
SCHEMA = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}


async def served(arena: Arena, **more: Any) -> Market:
    return await arena.market(optional=SMALL, rate_limits="off", **more)


def noise(count: int) -> str:
    """Return random text, which cannot be compressed."""
    return secrets.token_hex(count // 2)


async def stored(calls: int, size: int, store: Callable[[int], Awaitable[Reply]]) -> int:
    """Call this many times; return the number of bytes that the market stored."""
    answers = [await store(number) for number in range(calls)]
    assert all(one.status < 300 or one.code == "storage_full" for one in answers), {one.text[:300] for one in answers}
    return size * sum(one.status < 300 for one in answers)


@pytest.mark.finding(7)
@covers("second.room.refused")
async def test_orders_that_are_cancelled_fill_no_disk(arena: Arena) -> None:
    market = await served(arena)
    seller, buyer = await market.agent("Sela"), await market.agent("Mallory")
    listing = await market.listing(seller, price=0)

    async def order_and_cancel(_: int) -> Reply:
        body = {"listing_id": listing["id"], "input": {"text": noise(400_000)}}
        answer = await market.post("/v1/jobs", buyer.test, body)
        if answer.status == 201:
            await market.post(f"/v1/jobs/{answer.record['id']}/cancel", buyer.test, {})
        return answer

    assert await stored(10, 400_000, order_and_cancel) <= LIMIT


@pytest.mark.finding(7)
async def test_schedules_fill_no_disk_without_a_call(arena: Arena) -> None:
    market = await served(arena)
    mallory = await market.register("Mallory")
    key = mallory["api_keys"]["test"]

    async def plan(_: int) -> Reply:
        return await market.post("/v1/schedules", key, {"in_seconds": 0, "payload": noise(16_000)})

    async def told() -> list[Any]:
        page = (await market.get("/v1/events?types=schedule.*&limit=100", key)).expect()
        return list(page["data"])

    planned = 0
    for _ in range(3):
        planned += await stored(60, 16_000, plan)
        await eventually(told)
        await asyncio.sleep(2.5)
    fired = sum(one["type"] == "schedule.fired" for one in await told())
    assert planned + 16_000 * fired <= LIMIT


@pytest.mark.parametrize("what", ["memory", "messages", "listings", "schemas", "bounties", "proposals"])
async def test_nothing_else_that_is_kept_fills_the_disk(arena: Arena, what: str) -> None:
    market = await served(arena)
    mallory, other = await market.agent("Mallory"), await market.agent("Bo")
    listing = await market.listing(mallory)
    thread = (await market.post("/v1/threads", mallory.test, {"to": other.id, "body": "Hello."})).expect()["thread"]

    async def memory(number: int) -> Reply:
        return await market.send("PUT", f"/v1/memory/k{number}", mallory.test, {"value": noise(60_000)})

    async def messages(_: int) -> Reply:
        body = {"body": noise(19_000), "data": noise(31_000)}
        answer = await market.post(f"/v1/threads/{thread['id']}/messages", mallory.test, body)
        await market.post(f"/v1/threads/{thread['id']}/messages", other.test, {"body": "Go on."})
        return answer

    async def listings(_: int) -> Reply:
        answer = await market.post(
            "/v1/listings", mallory.test, OFFER | {"example_output": None, "input_schema": titled()}
        )
        if answer.status == 201:
            await market.send("DELETE", f"/v1/listings/{answer.record['id']}", mallory.test)
        return answer

    async def schemas(_: int) -> Reply:
        return await market.send("PATCH", f"/v1/listings/{listing['id']}", mallory.test, {"input_schema": titled()})

    async def bounties(_: int) -> Reply:
        body = {"title": "A need", "description": "Whatever it is.", "budget_max": 1, "category": "text"}
        answer = await market.post("/v1/bounties", mallory.test, body | {"input": {"text": noise(50_000)}})
        if answer.status == 201:
            await market.post(f"/v1/bounties/{answer.record['id']}/close", mallory.test)
        return answer

    posted = {"title": "A need", "description": "Whatever it is.", "budget_max": 10, "category": "text"}
    bounty = (await market.post("/v1/bounties", other.test, posted)).expect(201)

    async def proposals(_: int) -> Reply:
        """Propose repeatedly: a new proposal replaces the last, so storage does not grow."""
        path = f"/v1/bounties/{bounty['id']}/proposals"
        return await market.post(path, mallory.test, {"price": 1, "message": noise(2_000)})

    sizes: dict[str, tuple[int, Callable[[int], Awaitable[Reply]], int]] = {
        "memory": (60_000, memory, 50), "messages": (50_000, messages, 60), "listings": (50_000, listings, 60),
        "schemas": (50_000, schemas, 60), "bounties": (100_000, bounties, 40), "proposals": (2_000, proposals, 20),
    }  # fmt: skip
    size, store, calls = sizes[what]
    assert await stored(calls, size, store) <= LIMIT
    me = (await market.get("/v1/agents/me", mallory.test)).expect()
    assert me["storage"]["used"] <= me["storage"]["limit"] == LIMIT


def titled() -> dict[str, Any]:
    return SCHEMA | {"title": noise(50_000)}


async def test_answers_kept_for_repeats_fill_no_disk(arena: Arena) -> None:
    """The value is replaced each time, so only the stored answers grow."""
    market = await served(arena)
    key = (await market.register("Mallory"))["api_keys"]["test"]

    async def put(number: int) -> Reply:
        sent = {"Idempotency-Key": f"repeat-{number}"}
        return await market.send("PUT", "/v1/memory/one", key, {"value": noise(60_000)}, headers=sent)

    assert await stored(60, 60_000, put) <= LIMIT + 60_000


async def test_more_keys_and_the_other_environment_give_no_more_room(arena: Arena) -> None:
    market = await served(arena)
    mallory = await market.register("Mallory")
    keys = [mallory["api_keys"]["test"]]
    for _ in range(3):
        made = await market.post("/v1/agents/me/keys", keys[0], {"env": "test"})
        keys.append(made.expect(201)["key"])

    async def put(number: int) -> Reply:
        key = keys[number % len(keys)]
        return await market.send("PUT", f"/v1/memory/k{number}", key, {"value": noise(60_000)})

    assert await stored(50, 60_000, put) <= LIMIT
    live = (await market.get("/v1/agents/me", mallory["api_keys"]["live"])).expect()
    assert live["storage"] == {"used": 0, "limit": LIMIT}


async def test_deliveries_that_are_never_refused_stop_at_what_was_ordered(arena: Arena) -> None:
    market = await served(arena)
    seller, buyer = await market.agent("Mallory"), await market.agent("Bo")
    listing = await market.listing(seller, price=0, output_schema=None, example_output=None)
    taken = 0
    for _ in range(12):
        answer = await market.post("/v1/jobs", buyer.test, {"listing_id": listing["id"], "input": {"text": "x"}})
        if answer.code == "storage_full":
            continue
        await market.deliver(seller, answer.expect(201), noise(400_000))
        taken += 400_000
    assert 400_000 <= taken <= LIMIT


@pytest.mark.parametrize("ends", ["cancelled", "left unpaid", "free"])
async def test_orders_nobody_pays_for_do_not_lock_an_honest_seller_out(arena: Arena, ends: str) -> None:
    """Mallory orders, gets 500 KB delivered and never pays, repeatedly; Bo can still order."""
    market = await served(arena)
    victim, mallory, honest = await market.agent("Sela"), await market.agent("Mallory"), await market.agent("Bo")
    listing = await market.listing(
        victim, price=0 if ends == "free" else 250_000, output_schema=None, example_output=None
    )

    async def order(_: int) -> Reply:
        answer = await market.post("/v1/jobs", mallory.test, {"listing_id": listing["id"], "input": {"text": "x"}})
        if answer.status == 201:
            await market.deliver(victim, answer.record, noise(500_000))
            if ends == "cancelled":
                (await market.post(f"/v1/jobs/{answer.record['id']}/cancel", mallory.test, {})).expect()
        return answer

    answers = [await order(number) for number in range(8)]
    full = [one for one in answers if one.status != 201]
    assert full, "each output fills the room of the agent that ordered it"
    assert {one.code for one in full} <= {"storage_full", "job_limit"}
    job = await market.order(honest, listing)
    assert (await market.deliver(victim, job, "done"))["status"] == "delivered"


@covers("second.room.settled")
async def test_a_coin_that_comes_back_buys_no_room(arena: Arena) -> None:
    """Two agents send one coin of 0.01 USDC back and forth, with 0.8 MB in each job."""
    market = await served(arena)
    seller, buyer = await market.agent("Sela"), await market.agent("Mallory", usdc_minor=10_000)
    listing = await market.listing(seller, price=10_000, output_schema=None, example_output=None)
    kept = 0
    for _ in range(6):
        body = {"listing_id": listing["id"], "input": {"text": noise(400_000)}}
        answer = await market.post("/v1/jobs", buyer.test, body)
        if answer.code == "storage_full":
            break
        job = answer.expect(201)
        await market.deliver(seller, job, noise(400_000))
        await market.pay(buyer, job)
        (await market.post(f"/v1/jobs/{job['id']}/accept", buyer.test)).expect()
        sent = market.chains["test"].transfer(seller.wallet, buyer.wallet.address, 10_000)
        (await market.post(f"/v1/jobs/{job['id']}/refund", seller.test, {"transaction": sent})).expect()
        kept += 800_000
    me = (await market.get("/v1/agents/me", buyer.test)).expect()
    assert kept <= me["storage"]["used"] <= LIMIT


@covers("second.room.together")
async def test_two_processes_keep_the_quota_under_16_parallel_callers(arena: Arena) -> None:
    market = await served(arena, postgres=True, processes=2)
    mallory: Agent = await market.agent("Mallory")
    before = (await market.get("/v1/agents/me", mallory.test)).expect()["storage"]["used"]
    taken: dict[str, int] = {}

    async def caller(name: int) -> None:
        for number in range(8):
            key, value = f"k{name}/{number % 3}", noise(20_000 + 2_000 * number)
            answer = await market.send("PUT", f"/v1/memory/{key}", mallory.test, {"value": value})
            if answer.status < 300:
                taken[key] = len(value) + 2
            else:
                assert answer.code == "storage_full", answer.text
            if number == 5:
                await market.send("DELETE", f"/v1/memory/{key}", mallory.test)
                taken.pop(key, None)

    await asyncio.gather(*(caller(name) for name in range(16)))
    storage = (await market.get("/v1/agents/me", mallory.test)).expect()["storage"]
    assert storage["used"] == before + sum(taken.values()) <= storage["limit"] == LIMIT
