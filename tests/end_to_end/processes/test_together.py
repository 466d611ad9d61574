"""Two processes on one PostgreSQL with eight writers: timed work is done once, and no listener misses an event.

The windows to pay and to review are one second long. So every job ends by timeout, in either process.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from tests.end_to_end.processes.listening import Listener, Listening, told
from tests.end_to_end.processes.pair import Pair
from tests.support.databases import PostgresServer
from tests.support.http_receiver import Receiver, verified
from tests.support.market import Agent
from tests.support.trade import Trade

WRITERS, ROUNDS = 8, 3
WORK = {"output": {"english": "good day"}}
LATE = """
CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_sleep(random() * 0.01); RETURN NULL; END $$;
CREATE TRIGGER lingers AFTER INSERT ON events EXECUTE FUNCTION linger();
"""  # events are numbered before their commit, so a later number may be committed first
BY_CLOCK = {"free": "completed", "priced": "expired"}


@pytest.fixture
def pair(forged: Pair, postgres: PostgresServer) -> Iterator[Pair]:
    url = postgres.create("together")
    forged.serve(
        url,
        allow_private_networks=True,
        payment_window_seconds_test=1,
        review_window_seconds_test=1,
    )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(LATE)
    yield forged
    forged.kill()


@dataclass
class Writer:
    """A buyer with a webhook for every event, and its jobs and schedules."""

    agent: Agent
    receiver: Receiver
    secret: str
    jobs: dict[str, str]
    schedules: list[str]


async def writer(trade: Trade, number: int, receiver: Receiver) -> Writer:
    agent = await trade.agent(f"Buyer {number}")
    hook = await trade.market.call("create_webhook", by=agent, url=receiver.url)
    return Writer(agent, receiver, hook["secret"], {}, [])


async def write(trade: Trade, one: Writer, seller: Agent, offers: dict[str, Any]) -> None:
    """Order, have the job delivered, and leave it to the timeouts.

    Calls alternate between the processes.
    """
    for number in range(ROUNDS):
        made = await trade.market.call("create_schedule", by=one.agent, in_seconds=number)
        one.schedules.append(made["id"])
        for name, listing in offers.items():
            job = await trade.order(one.agent, listing)
            one.jobs[job["id"]] = name
            await trade.market.call("accept_job", by=seller, job_id=job["id"])
            await trade.market.call("deliver_job", by=seller, job_id=job["id"], **WORK)


async def test_a9_o5_in_two_processes_the_clock_acts_once_and_listeners_hear_every_event_once_in_order(
    trade: Trade, pair: Pair
) -> None:
    seller = await trade.agent("Sela")
    offers = {
        "free": await trade.listing(seller, price=0, max_open_jobs=1000),
        "priced": await trade.listing(seller, max_open_jobs=1000),
    }
    poller, streamer = (Listener(http, seller.keys["test"]) for http in trade.market.http)  # type: ignore[attr-defined]
    async with AsyncExitStack() as stack:
        receivers = [await stack.enter_async_context(Receiver(host=f"127.0.0.{n + 2}")) for n in range(WRITERS)]
        writers = [await writer(trade, number, receiver) for number, receiver in enumerate(receivers)]
        async with asyncio.timeout(60), Listening(poller.poll(), streamer.stream()):
            await asyncio.gather(*(write(trade, one, seller, offers) for one in writers))
            for listener in (poller, streamer):
                await listener.until(all_ended)
            for one in writers:
                await fired(trade, one)
                # The first event is older than the webhook.
                await one.receiver.has(len(told(pair.url, one.agent.id)) - 1)
            events = told(pair.url, seller.id)
            for listener in (poller, streamer):
                await listener.until(lambda heard: heard.last == events[-1])
    assert poller.heard == streamer.heard == events
    assert (poller.refusals, streamer.refusals, streamer.opened) == ([], [], 1)
    for one in writers:
        await check(trade, pair, one)


def all_ended(heard: Listener) -> bool:
    ended = Counter(heard.kinds)
    return ended["job.completed"] + ended["job.expired"] >= WRITERS * ROUNDS * len(BY_CLOCK)


async def fired(trade: Trade, one: Writer) -> None:
    """Wait until none of its schedules is active."""
    while True:
        page = await trade.market.call("list_schedules", by=one.agent, status="active")
        if not page["data"]:
            return


async def check(trade: Trade, pair: Pair, one: Writer) -> None:
    """Check that each schedule, expiry and delivery happened once, and the order of posts."""
    page = await trade.market.call("list_events", by=one.agent, types=["schedule.fired"], limit=100)
    assert sorted(event["data"]["schedule_id"] for event in page["data"]) == sorted(one.schedules)
    for job_id, offer in one.jobs.items():
        history = await trade.market.call("list_job_events", by=one.agent, job_id=job_id, limit=100)
        due = [] if offer == "free" else ["payment_due"]
        happened = [event["type"] for event in history["data"]]
        assert happened == ["created", "accepted", "delivered", *due, BY_CLOCK[offer]]
    posted = [verified(post, one.secret)["id"] for post in one.receiver.got]
    assert posted == told(pair.url, one.agent.id)[1:]
    made = await attempts(trade, one)
    assert {(delivery["status"], delivery["attempt"]) for delivery in made} == {("delivered", 1)}
    assert len(made) == len(posted)


async def attempts(trade: Trade, one: Writer) -> Any:
    """Return the deliveries of its webhook when each has ended."""
    (hook,) = (await trade.market.call("list_webhooks", by=one.agent))["data"]
    async with asyncio.timeout(20):
        while True:
            given = {"webhook_id": hook["id"], "limit": 100}
            made = (await trade.market.call("list_webhook_deliveries", by=one.agent, **given))["data"]
            if all(delivery["status"] != "pending" for delivery in made):
                return made
