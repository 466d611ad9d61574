"""Work that fell due while no process ran is done once at the next start."""

from datetime import timedelta
from typing import Any

import pytest
from eth_account import Account

from server.adapters.web import GuardedWeb
from storage.store import Store
from tests.support.databases import Opening, close
from tests.support.http_receiver import Receiver
from tests.support.market import START, Agent, TestMarket
from tests.support.trade import OFFER, binding
from tests.support.webhooks import Scene, opened, scene_of

pytestmark = pytest.mark.both_databases

DAY = 86_400


async def free_order(market: TestMarket, seller: Agent, buyer: Agent) -> Any:
    """Return an order that waits for the seller."""
    seller.wallet = Account.from_key("0x" + "51" * 32)
    bound = {"address": seller.wallet.address, "signature": binding(seller)}
    await market.call("set_wallet_address", by=seller, **bound)
    listing = await market.call("create_listing", by=seller, **OFFER | {"price": 0})
    return await market.call("create_job", by=buyer, listing_id=listing["id"], input=OFFER["example_input"])


def started(store: Store, web: GuardedWeb, dice: str) -> Scene:
    """Start another process on this database, two days later."""
    scene = scene_of(store, web, dice=dice)
    scene.market.clock.at = START + timedelta(seconds=2 * DAY)
    return scene


async def test_a_restart_does_what_came_due_meanwhile_once(database_url: str, opening: Opening) -> None:
    async with Receiver() as receiver, opened(opening(database_url)) as before:
        ada, bo = await before.market.register(), await before.market.register("Bo")
        once = await before.market.call("create_schedule", by=ada, in_seconds=60, payload="once")
        often = await before.market.call("create_schedule", by=ada, in_seconds=60, interval_seconds=60, payload="often")
        job = await free_order(before.market, ada, bo)
        hook = await before.hook(ada, receiver)
        await before.tell(ada, "job.created", "job.accepted")
        await before.sender.fan_out()
        (cut_short,) = (await before.sender.claim()).postings
        await close(before.market.store)

        scene = started(opening(database_url), before.web, "another process")
        for _ in range(2):
            await scene.market.workers.run_due()
            await scene.sender.step()
        fired = [one["data"] for one in await scene.events(ada, "schedule.fired")]
        assert sorted((one["payload"], one["run_count"]) for one in fired) == [("often", 1), ("once", 1)]
        states = [await scene.market.call("get_schedule", by=ada, schedule_id=one["id"]) for one in (once, often)]
        assert [one["status"] for one in states] == ["done", "active"]
        assert len(await scene.events(bo, "job.expired")) == 1
        assert (await scene.market.call("get_job", by=bo, job_id=job["id"]))["status"] == "expired"
        posted = [(one.body["id"], one.body["type"]) for one in receiver.got]
        assert posted == [(one["id"], one["type"]) for one in (await scene.events(ada))[-len(posted) :]]
        assert [kind for _, kind in posted][:2] == ["job.created", "job.accepted"]
        assert cut_short.event_id == posted[0][0]
        assert {one["status"] for one in await scene.deliveries(ada, hook)} == {"delivered"}
