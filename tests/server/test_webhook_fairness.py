"""Clauses of the contract about many agents' webhooks: slow receivers or backlogs do not delay other agents."""

from collections import Counter
from dataclasses import replace
from threading import Event
from typing import Any

from server.adapters.web import LOOK_UPS_OF_ONE
from server.workers import context_of
from storage.store import Store
from tests.support.http_receiver import Receiver, hang
from tests.support.market import Agent
from tests.support.webhooks import Scene, opened
from tools.events.webhooks.deliveries import MAX_LOOKED, MAX_OF_ONE_AGENT, Posting, claim
from tools.events.webhooks.logic import MAX_WAITING


async def test_m15_webhooks_that_wait_for_a_full_host_hide_none_behind_them(scene: Scene) -> None:
    async with Receiver(always=hang) as slow, Receiver(host="127.0.0.2") as quick:
        crowd = [await scene.market.register(f"Agent {number}") for number in range(5)]
        for agent in crowd:
            for _ in range(10):
                await scene.hook(agent, slow)
            await scene.tell(agent)
        await scene.sender.fan_out()
        assert len(await everything(scene)) == 2 * len(crowd) < MAX_LOOKED < 8 * len(crowd)
        scene.market.pass_seconds(6)
        last = await scene.market.register()
        await scene.hook(last, quick)
        await scene.tell(last)
        assert await scene.sender.step() == 1
        assert len(quick.got) == 1


async def everything(scene: Scene) -> list[Posting]:
    """Claim until no more can be claimed, while no claimed delivery ends."""
    claimed = await scene.sender.claim()
    found = list(claimed.postings)
    while claimed.more:
        claimed = await scene.sender.claim()
        found += claimed.postings
    return found


async def claimed(scene: Scene, most: int) -> list[Posting]:
    """Claim at most this many deliveries."""
    market = scene.market.market
    return (await scene.market.store.write(lambda tx: claim(context_of(market, tx), most), "claim")).postings


async def busy(scene: Scene, receiver: Receiver, *kinds: str) -> Agent:
    """Return an agent with events for ten webhooks, each on its own host."""
    agent = await scene.market.register("Busy")
    for number in range(10):
        await scene.hook(agent, receiver, url=f"http://127.0.1.{number}:{receiver.port}/hook")
    await scene.tell(agent, *kinds)
    await scene.sender.fan_out()
    return agent


async def test_m15_one_agents_webhooks_take_four_places_in_flight_at_most(scene: Scene, receiver: Receiver) -> None:
    crowd = [await busy(scene, receiver) for _ in range(3)]
    held = await everything(scene)
    assert Counter(one.agent_id for one in held) == {agent.id: MAX_OF_ONE_AGENT for agent in crowd}
    bo = await scene.market.register("Bo")
    await scene.hook(bo, receiver)
    await scene.tell(bo)
    assert await scene.sender.step() == 1
    assert [one.body["agent_id"] for one in receiver.got] == [bo.id]
    await scene.sender.deliver(replace(held[0], webhook=held[0].webhook.with_(url=receiver.url)))
    assert [one.agent_id for one in await everything(scene)] == [held[0].agent_id]
    scene.market.pass_seconds(31)  # the leases expired
    assert Counter(one.agent_id for one in await everything(scene)) == {a.id: MAX_OF_ONE_AGENT for a in crowd}


async def test_m15_nobody_gets_a_second_place_while_somebody_waits_for_a_first(
    scene: Scene, receiver: Receiver
) -> None:
    ada = await busy(scene, receiver)
    scene.market.pass_seconds(1)
    bo = await scene.market.register("Bo")
    await scene.hook(bo, receiver)
    await scene.tell(bo)
    await scene.sender.fan_out()
    assert [one.agent_id for one in await claimed(scene, 3)] == [ada.id, bo.id, ada.id]


async def test_m15_a_backlog_goes_behind_what_others_are_told_later(scene: Scene, receiver: Receiver) -> None:
    ada = await scene.market.register()
    await scene.hook(ada, receiver)
    await scene.tell(ada, *["job.created"] * 4)
    await scene.sender.fan_out()
    bo = await scene.market.register("Bo")
    await scene.hook(bo, receiver)
    for number in range(5):
        scene.market.pass_seconds(1)
        if number == 1:
            await scene.tell(bo)
            await scene.sender.fan_out()
            scene.market.pass_seconds(1)
        (only,) = await claimed(scene, 1)
        await scene.sender.deliver(only)
    assert [one.body["agent_id"] for one in receiver.got] == [ada.id, ada.id, bo.id, ada.id, ada.id]


async def test_the_oldest_of_more_than_a_thousand_that_wait_are_given_up_and_the_rest_go_on(
    scene: Scene, receiver: Receiver
) -> None:
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada)
    await scene.sender.fan_out()
    (flying,) = (await scene.sender.claim()).postings
    await scene.tell(ada, *["job.accepted"] * (MAX_WAITING + 2))
    await scene.sender.fan_out()
    first, *rest = await every_delivery(scene, ada, hook)
    lost, left = rest[:2], rest[2:]
    shown = ("status", "attempt", "next_attempt_at", "last_error")
    assert [[one[name] for name in shown] for one in lost] == [["failed", 0, None, "too_many_waiting"]] * 2
    assert ({one["status"] for one in (first, *left)}, len(left)) == ({"pending"}, MAX_WAITING)
    assert [one["id"] for one in (await scene.events(ada))[1:3]] == [one["event_id"] for one in lost]
    await scene.sender.deliver(flying)
    (then,) = (await scene.sender.claim()).postings
    assert [flying.event_id, then.event_id] == [first["event_id"], left[0]["event_id"]]
    seen = await scene.seen(ada, hook)
    assert (seen["status"], seen["consecutive_failures"]) == ("active", 0)
    ref = {"webhook_id": hook["id"], "delivery_id": lost[0]["id"]}
    assert (await scene.market.call("redeliver_webhook", by=ada, **ref))["status"] == "pending"


async def every_delivery(scene: Scene, agent: Agent, hook: Any) -> list[Any]:
    """Return all deliveries of a webhook, oldest event first."""
    asked = {"by": agent, "webhook_id": hook["id"], "limit": 100}
    page = await scene.market.call("list_webhook_deliveries", **asked)
    found = list(page["data"])
    while page["has_more"]:
        page = await scene.market.call("list_webhook_deliveries", **asked, cursor=page["next_cursor"])
        found += page["data"]
    return found[::-1]


async def test_names_that_hang_fail_no_attempt_that_waits_for_them(
    store: Store, receiver: Receiver, hanging: Event
) -> None:
    async with opened(store, timeout_in_seconds=0.3) as scene:
        ada, bo = await scene.market.register(), await scene.market.register("Bo")
        hooks = [await scene.hook(ada, receiver, url=f"https://hangs{number}.example/") for number in range(10)]
        await scene.hook(bo, receiver, url=receiver.url.replace("127.0.0.1", "localhost"))
        for agent in (ada, bo):
            await scene.tell(agent)
        assert await scene.sender.step() == 11
        assert [one.body["agent_id"] for one in receiver.got] == [bo.id]
        ended = Counter[Any]()
        for hook in hooks:
            (waits,) = await scene.deliveries(ada, hook)
            ended[waits["status"], waits["attempt"], waits["last_error"]] += 1
        assert ended == {("pending", 1, "timeout"): LOOK_UPS_OF_ONE, ("pending", 0, None): 10 - LOOK_UPS_OF_ONE}
        assert await scene.after(3600) == 10, "they have their turns again"
