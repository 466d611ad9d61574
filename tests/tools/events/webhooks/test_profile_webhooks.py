"""Clauses of the contract about endpoints.webhook_url: events of jobs, messages and payments, platform-signed."""

import json
from typing import Any

from storage.tables import AgentRow
from tests.requirements import covers
from tests.requirements.probes import write_row
from tests.support.http_receiver import Receiver, status, verified_by_key
from tests.support.market import Agent
from tests.support.webhooks import Scene


async def listener(scene: Scene, url: str | None) -> Agent:
    """Return an agent whose profile names this URL."""
    made = await scene.market.call("register_agent", name="Ada", endpoints={"webhook_url": url})
    seed = bytes.fromhex(made["keypair"]["secret_key"])
    return Agent(made["agent"]["id"], made["agent"]["handle"], made["api_keys"], seed)


async def profile_says(scene: Scene, agent: Agent, **endpoints: str) -> None:
    await write_row(scene.market, AgentRow, agent.id, endpoints=json.dumps(endpoints))


async def hooks(scene: Scene, agent: Agent, on: str = "test") -> Any:
    return (await scene.market.call("list_webhooks", by=agent, on=on))["data"]


@covers("event.webhook_url")
async def test_the_profiles_url_gets_jobs_messages_and_payments_signed_by_the_platform(
    scene: Scene, receiver: Receiver
) -> None:
    ada = await listener(scene, receiver.url)
    await scene.tell(ada, "agent.referred", "job.created", "job.paid", "message.received", "review.received")
    await scene.tell(ada, "job.created", env="live")
    await scene.sender.step()
    keys = await scene.market.call("get_platform_keys")
    bodies = [verified_by_key(one, keys) for one in receiver.got]
    here = [one["type"] for one in bodies if one["env"] == "test"]
    assert here == ["job.created", "job.paid", "message.received"]
    assert [one["type"] for one in bodies if one["env"] == "live"] == ["job.created"]
    for one in receiver.got:
        assert [part[:4] for part in one.headers["webhook-signature"].split(" ")] == ["v1a,"]
        assert "x-webhook-signature" not in one.headers
        assert one.body["agent_id"] == ada.id
    for env in ("test", "live"):
        (shown,) = await hooks(scene, ada, env)
        assert (shown["source"], shown["url"], shown["env"]) == ("profile", receiver.url, env)
        assert shown["event_types"] == ["job.*", "message.*"]
        assert {one["webhook_id"] for one in bodies if one["env"] == env} == {shown["id"]}


async def test_it_begins_with_the_first_event_and_is_there_once(scene: Scene, receiver: Receiver) -> None:
    ada = await listener(scene, receiver.url)
    await scene.tell(ada, "agent.referred")
    await scene.sender.step()
    assert await hooks(scene, ada) == []
    for _ in range(2):
        await scene.tell(ada, "job.created")
        await scene.sender.step()
    assert (len(await hooks(scene, ada)), len(receiver.got)) == (1, 2)


async def test_it_takes_no_place_of_the_ten(scene: Scene, receiver: Receiver) -> None:
    ada = await listener(scene, receiver.url)
    await scene.tell(ada)
    await scene.sender.step()
    for _ in range(10):
        await scene.hook(ada, receiver)
    assert len(await hooks(scene, ada)) == 11


async def test_it_follows_the_profile(scene: Scene, receiver: Receiver) -> None:
    receiver.always = status(410)
    ada = await listener(scene, receiver.url)
    await scene.tell(ada)
    await scene.sender.step()
    (first,) = await hooks(scene, ada)
    assert (first["status"], first["disabled_reason"]) == ("disabled", "gone")
    async with Receiver() as other:
        await profile_says(scene, ada, webhook_url=other.url, homepage="https://ada.example")
        await scene.tell(ada, "job.paid")
        await scene.sender.step()
        (now,) = await hooks(scene, ada)
        assert (now["id"], now["url"], now["status"], now["disabled_reason"]) == (
            first["id"],
            other.url,
            "active",
            None,
        )
        assert [one.body["type"] for one in other.got] == ["job.paid"]
        await scene.tell(ada, "job.completed")
        await scene.sender.fan_out()
        await profile_says(scene, ada, homepage="https://ada.example")
        assert await scene.sender.step() == 0
        await scene.tell(ada, "job.created")
        assert await scene.sender.step() == 0
        assert len(other.got) == 1
    assert (await hooks(scene, ada), len(receiver.got)) == ([], 1)


async def test_what_waits_goes_where_the_profile_says_when_it_is_sent(scene: Scene, receiver: Receiver) -> None:
    receiver.always = status(500)
    ada = await listener(scene, receiver.url)
    await scene.tell(ada)
    await scene.sender.step()
    async with Receiver() as other:
        await profile_says(scene, ada, webhook_url=other.url)
        assert await scene.after(6) == 1
        assert [one.body["type"] for one in other.got] == ["job.created"]


async def test_it_is_switched_off_and_on_tested_and_read_like_any_other_but_changed_in_the_profile_alone(
    scene: Scene, receiver: Receiver
) -> None:
    ada = await listener(scene, receiver.url)
    await scene.tell(ada)
    await scene.sender.step()
    (hook,) = await hooks(scene, ada)
    ref = {"webhook_id": hook["id"]}
    for change in ({"url": "https://other.example/"}, {"event_types": ["*"]}, {"secret": "x" * 16}):
        error = await scene.market.refusal("update_webhook", by=ada, **ref, **change)
        assert (error["code"], error["param"]) == ("invalid_request", next(iter(change)))
        assert "endpoints.webhook_url" in error["hint"]
    error = await scene.market.refusal("delete_webhook", by=ada, **ref)
    assert (error["code"], error["param"]) == ("invalid_request", "webhook_id")
    await scene.market.call("update_webhook", by=ada, **ref, status="disabled")
    await scene.tell(ada, "job.paid")
    assert await scene.sender.step() == 0
    await scene.market.call("update_webhook", by=ada, **ref, status="active")
    await scene.market.call("test_webhook", by=ada, **ref)
    assert await scene.sender.step() == 1
    assert [one.body["type"] for one in receiver.got] == ["job.created", "webhook.test"]
    assert len(await scene.deliveries(ada, hook)) == 2


async def test_an_url_of_before_that_may_not_be_called_is_not(scene: Scene, receiver: Receiver) -> None:
    ada = await listener(scene, receiver.url)
    await profile_says(scene, ada, webhook_url="ftp://169.254.169.254/")
    await scene.tell(ada)
    await scene.sender.step()
    (hook,) = await hooks(scene, ada)
    assert [one["last_error"] for one in await scene.deliveries(ada, hook)] == ["blocked_address"]


async def test_a_profile_without_it_has_none(scene: Scene) -> None:
    ada = await listener(scene, None)
    await scene.tell(ada)
    assert await scene.sender.step() == 0
    assert await hooks(scene, ada) == []
