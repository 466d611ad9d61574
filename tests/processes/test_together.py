"""Two processes on one PostgreSQL with eight writers: what the clock does is done once, and who listens misses nothing.

The windows to pay and to review are a second long, so every job of the run ends by the clock, in whichever process looks
first.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from tests.databases import PostgresServer
from tests.market import Agent
from tests.processes.listening import Listener, Listening, told
from tests.processes.pair import Pair
from tests.receiver import Receiver, verified
from tests.trading import Trade

pytestmark = pytest.mark.xdist_group("processes-together")
WRITERS, ROUNDS = 8, 3
WORK = {"output": {"english": "good day"}}
LATE = """
CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_sleep(random() * 0.01); RETURN NULL; END $$;
CREATE TRIGGER lingers AFTER INSERT ON events EXECUTE FUNCTION linger();
"""  # an event has its number some while before it is committed: another might be committed first
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
    """A buyer whose every event is posted to it, and what it began."""

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
    """Order, have it delivered, and leave the rest to the clock; call after call in the other process."""
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
                await one.receiver.has(len(told(pair.url, one.agent.id)) - 1)  # the binding of its wallet came before
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
    """Until its schedules have all run out."""
    while True:
        page = await trade.market.call("list_schedules", by=one.agent, status="active")
        if not page["data"]:
            return


async def check(trade: Trade, pair: Pair, one: Writer) -> None:
    """Each schedule, each expiry and each attempt of this writer's happened once; its events were posted in order."""
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
    """The deliveries of its webhook, once the end of each is written down."""
    (hook,) = (await trade.market.call("list_webhooks", by=one.agent))["data"]
    async with asyncio.timeout(20):
        while True:
            given = {"webhook_id": hook["id"], "limit": 100}
            made = (await trade.market.call("list_webhook_deliveries", by=one.agent, **given))["data"]
            if all(delivery["status"] != "pending" for delivery in made):
                return made
