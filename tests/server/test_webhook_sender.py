"""Clauses of the contract about sending webhooks: leases, limits, several processes, blocked addresses."""

import asyncio
import json
from collections import Counter
from typing import Any

from server.webhook_sender import Sender
from storage.store import Store
from storage.tables import AgentRow, WebhookRow
from storage.vocabulary import AgentStatus
from tests.requirements.probes import write_row
from tests.support.databases import Opening
from tests.support.http_receiver import Receiver, hang
from tests.support.market import Agent
from tests.support.webhooks import Scene, opened, scene_of

THIRD_OF_A_MINUTE = 20.0


async def test_a_slow_receiver_delays_nobody_else(store: Store) -> None:
    quick = Receiver(host="127.0.0.2")
    async with opened(store, timeout_in_seconds=60) as scene, Receiver(always=hang) as slow, quick:
        ada, bo = await scene.market.register(), await scene.market.register("Bo")
        await scene.hook(ada, slow)
        await scene.hook(bo, quick)
        running = asyncio.create_task(scene.sender.run())
        for agent in (ada, bo, ada, bo):
            await scene.tell(agent)
        async with asyncio.timeout(THIRD_OF_A_MINUTE):
            await asyncio.gather(quick.has(2), slow.has(1))
        assert len(slow.got) == 1
        running.cancel()
        await asyncio.wait([running])


async def test_one_agent_calls_one_host_twice_at_a_time_at_most(scene: Scene, receiver: Receiver) -> None:
    ada, bo = await scene.market.register(), await scene.market.register("Bo")
    async with Receiver(host="127.0.0.2") as other:
        for agent, at in ((ada, receiver), (ada, receiver), (ada, receiver), (ada, other), (bo, receiver)):
            await scene.hook(agent, at)
        await tell_both(scene, ada, bo)
        await scene.sender.fan_out()
        postings = (await scene.sender.claim()).postings
        called = {(ada.id, "127.0.0.1"): 2, (ada.id, "127.0.0.2"): 1, (bo.id, "127.0.0.1"): 1}
        assert Counter((one.agent_id, one.host) for one in postings) == called
        scene.market.pass_seconds(6)
        assert (await scene.sender.claim()).postings == []
        first = next(one for one in postings if (one.agent_id, one.host) == (ada.id, "127.0.0.1"))
        await scene.sender.deliver(first)
        scene.market.pass_seconds(6)
        (third,) = (await scene.sender.claim()).postings
        assert (third.agent_id, third.host) == (first.agent_id, first.host)
        scene.market.pass_seconds(31)  # the leases expired and their places are free
        called[ada.id, "127.0.0.1"] = 2
        again = (await scene.sender.claim()).postings
        assert Counter((one.agent_id, one.host) for one in again) == called


async def test_one_agent_calls_one_host_sixty_times_a_minute_at_most(scene: Scene, receiver: Receiver) -> None:
    ada, bo = await scene.market.register(), await scene.market.register("Bo")
    for agent in (ada, ada, bo):
        await scene.hook(agent, receiver)
    await scene.tell(ada, *["job.created"] * 50)
    await scene.tell(bo)
    await scene.sender.step()
    for _ in range(8):
        await scene.after(6)
    assert Counter(one.body["agent_id"] for one in receiver.got) == {ada.id: 60, bo.id: 1}
    for _ in range(12):
        await scene.after(10)
    assert Counter(one.body["agent_id"] for one in receiver.got) == {ada.id: 100, bo.id: 1}


async def test_what_a_killed_process_held_is_sent_after_its_lease(scene: Scene, receiver: Receiver) -> None:
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada, "job.created", "job.accepted")
    await scene.sender.fan_out()
    (lost,) = (await scene.sender.claim()).postings
    assert await scene.after(29) == 0
    assert await scene.after(2) == 2
    assert [one.body["type"] for one in receiver.got] == ["job.created", "job.accepted"]
    assert [one["attempt"] for one in await scene.deliveries(ada, hook)] == [2, 1]
    await scene.sender.deliver(lost)  # it was slow, not dead: its result must not overwrite the newer one
    assert len(receiver.got) == 3
    assert [one["attempt"] for one in await scene.deliveries(ada, hook)] == [2, 1]


async def test_an_attempt_that_is_cut_short_every_time_is_given_up(scene: Scene, receiver: Receiver) -> None:
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada)
    await scene.sender.fan_out()
    for _ in range(10):
        assert len((await scene.sender.claim()).postings) == 1
        scene.market.pass_seconds(31)
    assert await scene.sender.step() == 0
    (failed,) = await scene.deliveries(ada, hook)
    assert (failed["status"], failed["attempt"], failed["last_error"]) == ("failed", 10, "interrupted")
    assert (await scene.seen(ada, hook))["consecutive_failures"] == 1


async def agents_of(scene: Scene, receivers: list[Receiver]) -> list[Agent]:
    agents = []
    for number, receiver in enumerate(receivers):
        agents.append(await scene.market.register(f"Agent {number}"))
        await scene.hook(agents[-1], receiver)
    return agents


def sent_once(receivers: list[Receiver], each: int) -> None:
    for receiver in receivers:
        ids = [one.body["id"] for one in receiver.got]
        assert ids == sorted(set(ids)), "each event once, in order"
        assert (len(ids), receiver.most_at_once) == (each, 1)


async def test_a9_sweeps_that_overlap_deliver_each_event_once(scene: Scene) -> None:
    receivers = [Receiver(host=f"127.0.0.{n}") for n in range(2, 7)]
    async with receivers[0], receivers[1], receivers[2], receivers[3], receivers[4]:
        agents = await agents_of(scene, receivers)
        for _ in range(6):
            await asyncio.gather(*(scene.tell(agent) for agent in agents))
            await asyncio.gather(*(Sender(scene.market.market).step() for _ in range(3)))
        await scene.sender.step()
        sent_once(receivers, 6)


async def test_a9_two_processes_on_one_database_make_each_attempt_once(postgres_url: str, opening: Opening) -> None:
    receivers = [Receiver(host=f"127.0.0.{n}") for n in range(2, 7)]
    async with opened(opening(postgres_url)) as scene, opened(opening(postgres_url)) as guest:
        other = scene_of(guest.market.store, guest.web, dice="other")
        async with receivers[0], receivers[1], receivers[2], receivers[3], receivers[4]:
            agents = await agents_of(scene, receivers)
            running = [asyncio.create_task(one.sender.run()) for one in (scene, other)]
            for number in range(50):
                teller = (scene, other)[number % 2]
                await asyncio.gather(*(teller.tell(agent) for agent in agents))
            async with asyncio.timeout(3 * THIRD_OF_A_MINUTE):
                await asyncio.gather(*(one.has(50) for one in receivers))
            for one in running:
                one.cancel()
            await asyncio.wait(running)
            sent_once(receivers, 50)
        deliveries = [one for agent in agents for one in await all_deliveries(scene, agent)]
        assert {(one["status"], one["attempt"]) for one in deliveries} == {("delivered", 1)}


async def all_deliveries(scene: Scene, agent: Agent) -> list[Any]:
    hooks = (await scene.market.call("list_webhooks", by=agent))["data"]
    return [one for hook in hooks for one in await scene.deliveries(agent, hook)]


async def test_a16_a_name_that_leads_inside_when_it_is_called_is_not_called(store: Store) -> None:
    answers = {
        "inside.example": ["127.0.0.1"],
        "metadata.example": ["169.254.169.254"],
        "both.example": ["1.1.1.1", "::1"],
    }

    async def resolve(host: str, port: int) -> list[str]:
        return answers[host]

    async with Receiver() as receiver, opened(store, allow_private=False, resolve=resolve) as scene:
        for host in answers:
            ada = await scene.market.register()
            hook = await scene.hook(ada, receiver, url=f"https://{host}/hook")
            await scene.tell(ada)
            await scene.sender.step()
            (waits,) = await scene.deliveries(ada, hook)
            assert (waits["status"], waits["last_error"], waits["attempt"]) == ("pending", "blocked_address", 1)
            assert "169" not in json.dumps(waits["last_error"])
        assert receiver.connections == 0


async def test_an_url_that_is_not_allowed_any_more_is_not_called(
    scene: Scene, receiver: Receiver, store: Store
) -> None:
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada)
    async with opened(store, allow_private=False) as strict:
        assert await strict.sender.step() == 1
    assert [one["last_error"] for one in await scene.deliveries(ada, hook)] == ["blocked_address"]
    await write_row(scene.market, WebhookRow, hook["id"], url="http://market.test/v1/agents")
    assert await scene.after(6) == 1
    assert [one["last_error"] for one in await scene.deliveries(ada, hook)] == ["blocked_address"]
    assert receiver.got == []


async def test_a_deleted_agents_webhooks_end(scene: Scene, receiver: Receiver) -> None:
    ada = await scene.market.register()
    await scene.hook(ada, receiver)
    await scene.tell(ada)
    await scene.sender.fan_out()
    await write_row(scene.market, AgentRow, ada.id, status=AgentStatus.DELETED)
    assert await scene.sender.step() == 0
    await scene.tell(ada)
    assert await scene.sender.step() == 0
    await write_row(scene.market, AgentRow, ada.id, status=AgentStatus.ACTIVE)
    await scene.tell(ada)
    assert await scene.after(10**5) == 0
    assert (receiver.got, (await scene.market.call("list_webhooks", by=ada))["data"]) == ([], [])


async def test_a_suspended_agents_webhooks_wait(scene: Scene, receiver: Receiver) -> None:
    ada = await scene.market.register()
    await scene.hook(ada, receiver)
    await scene.tell(ada, "job.created")
    await scene.sender.fan_out()
    await write_row(scene.market, AgentRow, ada.id, status=AgentStatus.SUSPENDED)
    await scene.tell(ada, "job.accepted")
    assert await scene.sender.step() == 0
    await write_row(scene.market, AgentRow, ada.id, status=AgentStatus.ACTIVE)
    assert await scene.after(3600) == 1
    assert [one.body["type"] for one in receiver.got] == ["job.created"]


async def test_m11_a_webhook_that_cannot_be_served_stops_none_behind_it(scene: Scene, receiver: Receiver) -> None:
    ada, bo = await scene.market.register(), await scene.market.register("Bo")
    bad, _ = await scene.hook(ada, receiver), await scene.hook(bo, receiver)
    await tell_both(scene, ada, bo)
    await scene.sender.fan_out()
    await write_row(scene.market, WebhookRow, bad["id"], source="profile")
    await write_row(scene.market, AgentRow, ada.id, endpoints="webhook_url")
    assert await scene.sender.step() == 1
    await tell_both(scene, ada, bo)  # the agent cannot be read
    assert await scene.sender.step() == 1
    await write_row(scene.market, AgentRow, ada.id, endpoints="{}")
    await write_row(scene.market, WebhookRow, bad["id"], source="registered", event_types='["job.exploded"]')
    await tell_both(scene, ada, bo)  # the webhook cannot be read
    assert await scene.sender.step() == 1
    assert [one.body["agent_id"] for one in receiver.got] == [bo.id] * 3
    await write_row(scene.market, WebhookRow, bad["id"], event_types='["*"]')
    assert await scene.after(3600) == 1


async def tell_both(scene: Scene, *agents: Agent) -> None:
    for agent in agents:
        await scene.tell(agent)


async def test_deliveries_are_kept_thirty_days(scene: Scene, receiver: Receiver) -> None:
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada)
    await scene.sender.step()
    for days, left in ((29, 1), (2, 0)):
        scene.market.pass_seconds(days * 86_400)
        await scene.market.workers.purge_old()
        assert len(await scene.deliveries(ada, hook)) == left
