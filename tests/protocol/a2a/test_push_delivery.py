"""Push notifications: each change of a job is sent once, signed, retried, with the task as it is at that time."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from eth_account import Account

from server.webhook_sender import Sender
from storage.tables import AgentRow, WebhookRow
from storage.vocabulary import AgentStatus
from tests.requirements.probes import write_row
from tests.shape.test_gates import statements
from tests.support.a2a_requests import FORMS, RPC_03, RPC_1, RPC_FORMS
from tests.support.a2a_tasks import desk_of
from tests.support.databases import Opening
from tests.support.http_receiver import Receiver, status, verified_by_key
from tests.support.market import Agent
from tests.support.push_notifications import SECRET, TOKEN, Pushes, pushing, shown, state_in
from tests.support.trade import OFFER, Trade, binding
from tests.support.webhooks import Scene, opened, scene_of

FREE = OFFER | {"price": 0, "max_open_jobs": 100}


@pytest.fixture
async def sender(trade: Trade) -> AsyncIterator[Sender]:
    async with pushing(trade) as made:
        yield made


async def pushed(
    trade: Trade, agent: Agent, job: Any, receiver: Receiver | str, form: str = RPC_1, **more: Any
) -> None:
    async with desk_of(trade, agent) as desk:
        assert (await Pushes(desk, form).set(job["id"], receiver, **more)).status == 200


async def hook_of(trade: Trade, agent: Agent) -> Any:
    (hook,) = (await trade.market.call("list_webhooks", by=agent))["data"]
    return hook


async def deliveries_of(trade: Trade, agent: Agent) -> list[Any]:
    """Return the deliveries of the agent's one webhook, oldest event first."""
    hook = (await hook_of(trade, agent))["id"]
    page = await trade.market.call("list_webhook_deliveries", by=agent, webhook_id=hook, limit=100)
    return list(page["data"][::-1])


def without_old(shown: Any, new: tuple[str, ...]) -> Any:
    """Remove from a task of GetTask the parts that were pushed before."""
    task = shown.get("task", shown)
    if "order" not in new:
        task["history"] = task["history"][1:]
        if not task["history"]:
            del task["history"]
    if "artifacts" not in new:
        task.pop("artifacts", None)
    return shown


@pytest.mark.parametrize("form", RPC_FORMS)
async def test_each_change_is_one_notification_that_says_what_get_task_says(
    trade: Trade, sender: Sender, receiver: Receiver, form: str
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer, output_schema=None, example_output=None)
    output = {"held": "0", "big": 9_007_199_254_740_991, "line": "a\u2028b", "none": None, "list": [1, 1.5]}
    await pushed(trade, buyer, job, receiver, form)
    told = []
    async with desk_of(trade, buyer) as desk:
        for move in ("accept", "deliver", "pay", "accept"):
            if move == "deliver":
                await trade.deliver(seller, job, output)
            elif move == "pay":
                await trade.pay(buyer, job)
            else:
                by = buyer if told else seller
                await trade.market.call("accept_job", by=by, job_id=job["id"])
            before = len(receiver.got)
            assert await sender.step() == 1
            told += [(one.headers["x-event-type"], state_in(one)) for one in receiver.got[before:]]
            now = await shown(desk, form, job["id"], buyer)
            new = ("order", "artifacts") if not before else ("artifacts",) if move == "pay" else ()
            now = without_old(now, new)
            assert receiver.got[-1].body == now
            assert json.dumps(now, sort_keys=True) == json.dumps(receiver.got[-1].body, sort_keys=True)
    assert told == [
        ("job.accepted", "WORKING"),
        ("job.delivered", "INPUT_REQUIRED"),
        ("job.paid", "INPUT_REQUIRED"),
        ("job.completed", "COMPLETED"),
    ]
    paid, completed = (one.body.get("task", one.body) for one in receiver.got[-2:])
    assert paid["artifacts"][0]["parts"][0]["data"] == output
    assert "artifacts" not in completed, "no push repeats what it has sent"
    assert await sender.step() == 0


@pytest.mark.parametrize("form", FORMS)
async def test_a_notification_is_signed_and_carries_what_its_receiver_asked_for(
    trade: Trade, sender: Sender, receiver: Receiver, form: str
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await pushed(trade, buyer, job, receiver, form)
    await trade.market.call("decline_job", by=seller, job_id=job["id"])
    assert await sender.step() == 1
    (posted,) = receiver.got
    assert posted.headers["x-a2a-notification-token"] == TOKEN
    assert posted.headers["authorization"] == f"Bearer {SECRET}"
    assert posted.headers["webhook-id"] == posted.headers["x-event-id"]
    assert verified_by_key(posted, await trade.market.call("get_platform_keys")) == posted.body
    assert state_in(posted) == "REJECTED"
    metadata = posted.body.get("task", posted.body)["metadata"]["service"]
    assert metadata["agentId"] == buyer.id


async def test_each_party_gets_the_task_as_it_sees_it(trade: Trade, sender: Sender, receiver: Receiver) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    for party in (seller, buyer):
        await pushed(trade, party, job, f"{receiver.url}/{party.handle}")
    await trade.deliver(seller, job)
    assert await sender.step() == 2  # it is delivered, and the payment is due at once
    found = {one.path.split("/")[-1]: one.body["task"] for one in receiver.got}
    assert not any("artifacts" in task for task in found.values())  # the output is sealed
    roles = {name: task["status"]["message"]["parts"][-1]["data"]["role"] for name, task in found.items()}
    assert roles == {seller.handle: "seller", buyer.handle: "buyer"}


async def test_a_task_is_told_its_own_changes_and_messages_and_no_others(
    trade: Trade, sender: Sender, receiver: Receiver
) -> None:
    seller, buyer = await trade.parties()
    job, other = await trade.job_at("open", seller, buyer), await trade.job_at("open", seller, buyer, title="Else")
    await pushed(trade, buyer, job, receiver)
    await trade.market.call("accept_job", by=seller, job_id=other["id"])
    await trade.market.call("start_thread", by=seller, to=buyer.handle, body="Hello.")
    assert await sender.step() == 0
    await trade.market.call("post_message", by=seller, thread_id=job["thread_id"], body="A question.")
    assert await sender.step() == 1
    task = receiver.got[0].body["task"]
    assert (task["id"], task["history"][-1]["parts"][0]["text"]) == (job["id"], "A question.")
    assert receiver.got[0].headers["x-event-type"] == "message.received"


async def test_what_is_not_taken_is_tried_again_and_says_what_then_holds(
    trade: Trade, sender: Sender, receiver: Receiver
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await pushed(trade, buyer, job, receiver)
    receiver.answers = [status(500)]
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    assert await sender.step() == 1
    (waits,) = await deliveries_of(trade, buyer)
    assert (waits["status"], waits["attempt"], waits["last_status_code"]) == ("pending", 1, 500)
    await trade.market.call("cancel_job", by=seller, job_id=job["id"])
    trade.market.pass_seconds(10)
    assert await sender.step() == 2
    first, again, last = receiver.got
    assert first.headers["webhook-id"] == again.headers["webhook-id"] != last.headers["webhook-id"]
    assert [state_in(one) for one in receiver.got] == ["WORKING", "CANCELED", "CANCELED"]
    assert [one["attempt"] for one in await deliveries_of(trade, buyer)] == [2, 1]


async def test_an_ended_config_gets_nothing_not_even_what_waits(
    trade: Trade, sender: Sender, receiver: Receiver
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await pushed(trade, buyer, job, receiver)
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    await sender.fan_out()
    async with desk_of(trade, buyer) as desk:
        await Pushes(desk, RPC_1).end(job["id"], job["id"])
    await trade.deliver(seller, job)
    for _ in range(3):
        assert await sender.step() == 0
        trade.market.pass_seconds(60)
    assert receiver.got == []


async def test_a_config_set_again_leads_what_waits_elsewhere_in_its_own_form(
    trade: Trade, sender: Sender, receiver: Receiver
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await pushed(trade, buyer, job, receiver)
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    await sender.fan_out()
    await pushed(trade, buyer, job, receiver.url + "/new", RPC_03, token="another", authentication=None)
    assert await sender.step() == 1
    (posted,) = receiver.got
    assert (posted.path, posted.body["kind"]) == ("/hook/new", "task")
    assert posted.headers["x-a2a-notification-token"] == "another"
    assert "authorization" not in posted.headers


async def test_who_says_gone_is_told_no_more_and_its_agent_hears_why(
    trade: Trade, sender: Sender, receiver: Receiver
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await pushed(trade, buyer, job, receiver)
    receiver.answers = [status(410)]
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    assert await sender.step() == 1
    await trade.deliver(seller, job)
    assert await sender.step() == 0
    hook = await hook_of(trade, buyer)
    assert (hook["status"], hook["disabled_reason"]) == ("disabled", "gone")
    (event,) = (await trade.market.call("list_events", by=buyer, types=["webhook.disabled"]))["data"]
    assert event["data"]["webhook_id"] == hook["id"]
    await pushed(trade, buyer, job, receiver)  # setting the config again re-enables it
    await trade.pay(buyer, job)
    assert await sender.step() == 1
    assert receiver.got[-1].headers["x-event-type"] == "job.paid"


async def test_what_a_killed_process_held_is_sent_after_its_lease(
    trade: Trade, sender: Sender, receiver: Receiver
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await pushed(trade, buyer, job, receiver)
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    await sender.fan_out()
    (lost,) = (await sender.claim()).postings
    assert SECRET not in repr(lost)
    other = Sender(trade.market.market)
    trade.market.pass_seconds(29)
    assert await other.step() == 0
    trade.market.pass_seconds(2)
    assert await other.step() == 1
    await sender.deliver(lost)  # the first sender was slow, not dead
    assert [one["attempt"] for one in await deliveries_of(trade, buyer)] == [2]
    assert {one.headers["webhook-id"] for one in receiver.got} == {lost.event_id}


async def test_an_address_that_is_not_allowed_any_more_is_not_called(
    trade: Trade, sender: Sender, receiver: Receiver
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await pushed(trade, buyer, job, receiver)
    await trade.market.call("accept_job", by=seller, job_id=job["id"])

    async def inside(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with opened(trade.market.store, allow_private=False, resolve=inside) as strict:
        strict.market.clock.at = trade.market.clock.at
        assert await strict.sender.step() == 1
        await write_row(trade.market, WebhookRow, (await hook_of(trade, buyer))["id"], url="https://a.example/hook")
        strict.market.pass_seconds(10)
        assert await strict.sender.step() == 1
    (waits,) = await deliveries_of(trade, buyer)
    assert (waits["attempt"], waits["last_error"]) == (2, "blocked_address")
    assert receiver.connections == 0


async def test_who_has_left_is_sent_nothing(trade: Trade, sender: Sender, receiver: Receiver) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await pushed(trade, buyer, job, receiver)
    await write_row(trade.market, AgentRow, buyer.id, status=AgentStatus.DELETED)
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    assert await sender.step() == 0
    await write_row(trade.market, AgentRow, buyer.id, status=AgentStatus.ACTIVE)
    assert (await trade.market.call("list_webhooks", by=buyer))["data"] == []


async def test_a_config_is_forgotten_ninety_days_after_the_last_change(
    trade: Trade, sender: Sender, receiver: Receiver
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await pushed(trade, buyer, job, receiver)
    trade.market.pass_seconds(60)
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    await sender.step()
    await trade.market.call("create_webhook", by=buyer, url=receiver.url)
    for seconds, kept in ((90 * 86_400 - 1, {"task", "registered"}), (2, {"registered"})):
        trade.market.pass_seconds(seconds)
        await trade.market.workers.purge_old()
        found = (await trade.market.call("list_webhooks", by=buyer))["data"]
        assert {one["source"] for one in found} == kept


async def test_a_fan_out_asks_no_more_however_many_other_tasks_have_configs(trade: Trade, sender: Sender) -> None:
    seller, buyer = await trade.parties()
    count, costs = statements(trade.market.store), []
    for _ in range(3):
        job = await trade.job_at("open", seller, buyer)
        for number in range(2):
            await pushed(trade, buyer, job, "https://agent.example/hook", id=str(number))
        await sender.fan_out()
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        before = next(count)
        await sender.fan_out()
        costs.append(next(count) - before)
    assert costs[0] == costs[1] == costs[2]
    for hook in (await trade.market.call("list_webhooks", by=buyer))["data"]:
        page = await trade.market.call("list_webhook_deliveries", by=buyer, webhook_id=hook["id"])
        assert [one["event_type"] for one in page["data"]] == ["job.accepted"]


async def free_trade(scene: Scene) -> tuple[Trade, Agent, Agent, Any]:
    """Return a market without a chain, its parties and a free listing."""
    trade = Trade(scene.market, None)  # type: ignore[arg-type]
    seller, buyer = await scene.market.register("Sela"), await scene.market.register("Bo")
    seller.wallet = Account.create()
    await scene.market.call("set_wallet_address", by=seller, address=seller.wallet.address, signature=binding(seller))
    return trade, seller, buyer, await scene.market.call("create_listing", by=seller, **FREE)


async def test_two_processes_on_one_database_send_each_change_once(postgres_url: str, opening: Opening) -> None:
    receivers = [Receiver(host=f"127.0.0.{n}") for n in range(2, 7)]
    async with AsyncExitStack() as stack:
        scene, guest = [await stack.enter_async_context(opened(opening(postgres_url))) for _ in range(2)]
        for one in receivers:
            await stack.enter_async_context(one)
        other = scene_of(guest.market.store, guest.web, dice="other")
        trade, seller, buyer, listing = await free_trade(scene)
        jobs = [await trade.order(buyer, listing) for _ in receivers]
        for job, receiver in zip(jobs, receivers, strict=True):
            await pushed(trade, buyer, job, receiver)
        running = [asyncio.create_task(one.sender.run()) for one in (scene, other)]
        work = {"output": {"english": "good day"}}
        for by, move, given in ((seller, "accept_job", {}), (seller, "deliver_job", work), (buyer, "accept_job", {})):
            await asyncio.gather(*(trade.market.call(move, by=by, job_id=one["id"], **given) for one in jobs))
        async with asyncio.timeout(60):
            await asyncio.gather(*(one.has(3) for one in receivers))
        await asyncio.sleep(0.2)  # wait for possible duplicates
        for one in running:
            one.cancel()
        await asyncio.wait(running)
        for job, receiver in zip(jobs, receivers, strict=True):
            ids = [one.headers["webhook-id"] for one in receiver.got]
            assert (len(ids), ids) == (3, sorted(set(ids))), "each change once, in order"
            assert (receiver.got[-1].body["task"]["id"], state_in(receiver.got[-1])) == (job["id"], "COMPLETED")
