"""Waiting: get_job, get_inbox and list_events answer when there is news, or at the timeout."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from tests.requirements import covers
from tests.support.market import Agent
from tests.support.trade import Trade
from tools.engine.idempotency import Response


@asynccontextmanager
async def waiting(trade: Trade, operation: str, by: Agent, **given: Any) -> AsyncIterator["asyncio.Task[Response]"]:
    """Start a waiting call; yield its task once it waits."""
    notifier = trade.market.market.notifier
    task = asyncio.create_task(trade.market.answer(operation, {"wait_seconds": 55} | given, key=by.keys["test"]))
    while not notifier.ears and not task.done():  # noqa: ASYNC110 - the notifier has no event for it
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.01)
    yield task
    task.cancel()


async def answered(task: "asyncio.Task[Response]") -> Any:
    async with asyncio.timeout(5):
        return orjson.loads((await task).body)


async def test_a_buyer_hears_of_the_delivery_it_waits_for(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    async with waiting(trade, "get_job", buyer, job_id=job["id"]) as task:
        assert not task.done()
        await trade.deliver(seller, job)
        found = await answered(task)
    assert (found["status"], found["waiting_on"]["who"]) == ("delivered", "buyer")
    assert found == await trade.seen(buyer, job)


async def test_what_leaves_the_turn_with_others_is_not_said_unless_since_asks_for_any_change(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    async with (
        waiting(trade, "get_job", buyer, job_id=job["id"]) as turn,
        waiting(trade, "get_job", buyer, job_id=job["id"], since=job["updated_at"]) as change,
    ):
        trade.market.pass_seconds(1)
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        assert (await answered(change))["status"] == "in_progress"
        assert not turn.done()


async def test_a_job_that_waits_for_the_caller_or_for_nobody_is_answered_at_once(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    ordered = await trade.job_at("open", seller, buyer)
    done = await trade.job_at("completed", seller, buyer)
    assert (await trade.market.call("get_job", by=seller, job_id=ordered["id"], wait_seconds=55))["role"] == "seller"
    for party in (seller, buyer):
        assert await trade.market.call("get_job", by=party, job_id=done["id"], wait_seconds=55) == await trade.seen(
            party, done
        )


async def test_a_change_that_came_before_the_call_is_answered_at_once(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    trade.market.pass_seconds(1)
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    late = await trade.market.call("get_job", by=buyer, job_id=job["id"], wait_seconds=55, since=job["updated_at"])
    assert late["status"] == "in_progress"


@pytest.mark.parametrize("operation", ["get_job", "list_events", "get_inbox"])
async def test_when_the_time_is_up_the_record_is_answered_as_it_stands(trade: Trade, operation: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    events = await trade.market.call("list_events", by=buyer, limit=100)
    given = {"job_id": job["id"]} if operation == "get_job" else {"since": events["next_since"]}
    async with waiting(trade, operation, buyer, **given, wait_seconds=1) as task:
        assert not task.done()
        trade.market.pass_seconds(2)
        found = await answered(task)
    assert found == await trade.market.call(operation, by=buyer, **given)
    assert not trade.market.market.notifier.ears, "the place is free again"


async def test_an_event_is_told_to_who_waits_for_it_and_only_the_kinds_asked_for(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    since = (await trade.market.call("list_events", by=buyer, limit=100))["next_since"]
    given = {"since": since, "types": ["job.delivered"]}
    async with waiting(trade, "list_events", buyer, **given) as task:
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        await asyncio.sleep(0.05)
        assert not task.done()
        await trade.deliver(seller, job)
        found = await answered(task)
    assert [one["type"] for one in found["data"]] == ["job.delivered"]


async def next_since(trade: Trade, agent: Agent) -> str:
    found: str = (await trade.market.call("get_inbox", by=agent))["next_since"]
    return found


@covers("second.inbox.at_once")
async def test_an_inbox_without_since_is_answered_at_once_empty_or_not(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    fresh = await trade.market.register()
    assert (await trade.market.call("get_inbox", by=fresh, wait_seconds=55))["unread_total"] == 0
    await trade.market.call("start_thread", by=buyer, to=seller.id, body="Hi, can you do French?")
    assert (await trade.market.call("get_inbox", by=seller, wait_seconds=55))["unread_total"] == 1


@covers("second.inbox.no_spin", "second.inbox.waits")
async def test_nothing_that_is_left_alone_keeps_an_inbox_from_waiting(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.job_at("open", seller, buyer)
    await trade.market.call("start_thread", by=buyer, to=seller.id, body="Hi, can you do French?")
    seen = await trade.market.call("get_inbox", by=seller)
    assert (seen["unread_total"], len(seen["jobs_awaiting_my_action"])) == (1, 1)
    async with waiting(trade, "get_inbox", seller, since=seen["next_since"]) as task:
        assert not task.done()
        await trade.market.call("start_thread", by=buyer, to=seller.id, body="And Catalan?")
        found = await answered(task)
    assert (found["unread_total"], found["next_since"] > seen["next_since"]) == (2, True)


@covers("second.inbox.since")
async def test_an_inbox_tells_at_once_what_happened_between_two_calls(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing, before = await trade.listing(seller), await next_since(trade, seller)
    job = await trade.order(buyer, listing)
    found = await trade.market.call("get_inbox", by=seller, since=before, wait_seconds=55)
    assert [one["id"] for one in found["jobs_awaiting_my_action"]] == [job["id"]]
    assert found["next_steps"][-1]["arguments"] == {"since": found["next_since"], "wait_seconds": 20}


async def test_an_agent_that_was_never_told_anything_waits_from_the_beginning(trade: Trade) -> None:
    fresh = await trade.market.register()
    since = await next_since(trade, fresh)
    async with waiting(trade, "get_inbox", fresh, since=since) as task:
        assert not task.done()
        ada = await trade.market.register("Ada")
        await trade.market.call("start_thread", by=ada, to=fresh.id, body="Hello")
        assert (await answered(task))["unread_total"] == 1


async def test_since_is_an_event_id(trade: Trade) -> None:
    fresh = await trade.market.register()
    for since in ("now", "evt_", "evt_" + "z" * 26, "evt_" + "Z" * 26, "job_" + "0" * 26):
        error = await trade.market.refusal("get_inbox", by=fresh, since=since)
        assert (error["code"], error["param"]) == ("invalid_request", "since")


async def test_an_inbox_fills_while_it_is_waited_for(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with waiting(trade, "get_inbox", seller, since=await next_since(trade, seller)) as task:
        assert not task.done()
        job = await trade.order(buyer, listing)
        found = await answered(task)
    assert [one["id"] for one in found["jobs_awaiting_my_action"]] == [job["id"]]


async def test_a_key_that_is_revoked_while_it_waits_hears_nothing_more(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    keys = (await trade.market.call("list_api_keys", by=seller))["data"]
    mine = next(key["id"] for key in keys if key["env"] == "test")
    async with waiting(trade, "get_inbox", seller, since=await next_since(trade, seller)) as task:
        await trade.market.call("revoke_api_key", by=seller, on="live", key_id=mine)
        await trade.order(buyer, listing)
        assert (await answered(task))["error"]["code"] == "unauthenticated"


async def test_waiting_takes_one_of_the_keys_places_for_streams(trade: Trade) -> None:
    seller = await trade.agent("Sela")
    most = trade.market.market.config.limits.streams_per_key
    given = {"wait_seconds": 55, "since": await next_since(trade, seller)}
    tasks = [asyncio.create_task(trade.market.answer("get_inbox", given, key=seller.keys["test"])) for _ in range(most)]
    while len(trade.market.market.notifier.ears[seller.id]) < most:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    refused = await trade.market.refusal("get_inbox", by=seller, **given)
    assert refused["code"] == "rate_limited"
    assert (await trade.market.call("get_inbox", by=seller))["unread_total"] == 0
    for task in tasks:
        task.cancel()


@pytest.mark.parametrize("seconds", [56, -1, 1.5, "3"])
async def test_nobody_waits_longer_than_55_seconds(trade: Trade, seconds: Any) -> None:
    seller = await trade.agent("Sela")
    error = await trade.market.refusal("get_inbox", by=seller, wait_seconds=seconds)
    assert (error["code"], error["param"]) == ("invalid_request", "wait_seconds")


async def test_a_process_that_stops_answers_who_waits(trade: Trade) -> None:
    seller = await trade.agent("Sela")
    async with waiting(trade, "get_inbox", seller, since=await next_since(trade, seller)) as task:
        trade.market.market.notifier.close()
        assert (await answered(task))["unread_total"] == 0
