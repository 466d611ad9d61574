"""Clauses of the contract about webhooks: registered, read, changed, deleted, tested, redelivered."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from storage.store import Store
from tests.requirements import covers
from tests.requirements.probes import stored
from tests.support.http_receiver import Receiver, status
from tests.support.market import Agent, TestMarket, bare
from tests.support.webhooks import Scene
from tools.events.payloads import PAYLOADS
from tools.events.types import KINDS
from tools.events.webhooks.records import Webhook
from tools.kernel.ids import is_id
from tools.kernel.records import record_schema, stamp

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "ssrf.json").read_text(encoding="utf-8"))
URL = "https://agent.example/hook"
SECRET = "a secret of my own"


async def hooked(market: TestMarket, agent: Agent, **given: Any) -> Any:
    return await market.call("create_webhook", by=agent, **{"url": URL} | given)


@covers("route.webhooks", "open.create_webhook", "open_record.webhook", "id.whk")
async def test_a_webhook_is_registered_with_a_secret_that_is_shown_once(market: TestMarket) -> None:
    ada = await market.register()
    made = await hooked(market, ada)
    steps = made.pop("next_steps")
    assert [(one["tool"], one["path"]) for one in steps] == [("test_webhook", f"/v1/webhooks/{made['id']}/test")]
    secret = made.pop("secret")
    assert (secret[:6], len(secret)) == ("whsec_", 54)
    assert made == {
        "object": "webhook",
        "id": made["id"],
        "source": "registered",
        "url": URL,
        "event_types": ["*"],
        "status": "active",
        "disabled_reason": None,
        "consecutive_failures": 0,
        "previous_secret_until": None,
        "job_id": None,
        "env": "test",
        "created_at": stamp(market.clock.now()),
        "updated_at": stamp(market.clock.now()),
    }
    assert is_id("whk_", made["id"])
    assert await market.call("get_webhook", by=ada, webhook_id=made["id"]) == made
    assert (await market.call("list_webhooks", by=ada))["data"] == [made]
    jsonschema_rs.validate(record_schema(Webhook), made)


async def test_types_and_secret_may_be_chosen(market: TestMarket) -> None:
    ada = await market.register()
    types = ["job.*", "message.received", "job.*"]
    made = await hooked(market, ada, event_types=types, secret=SECRET)
    assert (made["event_types"], made["secret"]) == (types[:2], SECRET)
    assert set(made["event_types"]) <= KINDS | {"job.*"}


async def test_a_secret_is_stored_encrypted_and_for_its_webhook_alone(market: TestMarket) -> None:
    ada = await market.register()
    secrets = [(await hooked(market, ada, **given))["secret"] for given in ({}, {"secret": SECRET})]
    answer = await market.answer("create_webhook", {"url": URL}, key=ada.keys["test"], repeat="again")
    again = await market.answer("create_webhook", {"url": URL}, key=ada.keys["test"], repeat="again")
    assert (again.replayed, again.body) == (True, answer.body)
    text = await stored(market.store)
    for secret in (*secrets, json.loads(answer.body)["secret"]):
        assert secret not in text
        assert secret.removeprefix("whsec_") not in text


@pytest.mark.parametrize(
    ("given", "params"),
    [
        ({"url": "http://agent.example/"}, ["url"]),
        ({"url": "https://agent.example:8443/"}, ["url"]),
        ({"url": "https://" + "a" * 2048}, ["url"]),
        (
            {"url": "agent.example", "event_types": ["job.exploded"], "secret": "short"},
            ["url", "event_types", "secret"],
        ),
        ({"url": URL, "event_types": []}, ["event_types"]),
        ({"url": URL, "event_types": ["*"] * 51}, ["event_types"]),
        ({"url": URL, "event_types": ["x" * 65]}, ["event_types.0"]),
        ({"url": URL, "secret": "s" * 129}, ["secret"]),
        ({"url": URL, "secret": "sixteen or more \u00e9"}, ["secret"]),
        ({"url": URL, "status": "active"}, ["status"]),
        ({}, ["url"]),
    ],
)
async def test_all_that_is_wrong_is_named_at_once(market: TestMarket, given: Any, params: list[str]) -> None:
    ada = await market.register()
    error = await market.refusal("create_webhook", by=ada, **given)
    assert error["code"] == "invalid_request"
    assert [one["param"] for one in error["details"]["violations"]] == params
    assert "sixteen" not in json.dumps(error), "what was given as a secret is not echoed"


async def test_an_unknown_event_type_is_told_which_are_meant_in_a_whole_sentence(market: TestMarket) -> None:
    ada = await market.register()
    error = await market.refusal("create_webhook", by=ada, url=URL, event_types=["job.delivred"])
    assert "did you mean job.delivered" in error["message"]
    assert error["message"].endswith(
        "job.*, listing.*, message.*, review.*, schedule.*, webhook.*, * for all, and each kind that docs/events lists"
    )
    assert len((await market.refusal("create_webhook", by=ada, url=URL, event_types=["x" * 64]))["message"]) < 300


async def test_a16_no_url_that_leads_inside_is_taken_when_made_changed_or_said_in_a_profile(market: TestMarket) -> None:
    ada = await market.register()
    hook = await hooked(market, ada)
    inside = [f"https://[{one}]/" if ":" in one else f"https://{one}/" for one in VECTORS["blocked_addresses"]]
    urls = [*VECTORS["urls_that_must_never_connect"], *inside]
    for url in (*urls, *(one.replace("http:", "https:") for one in urls)):
        made = await market.refusal("create_webhook", by=ada, url=url)
        changed = await market.refusal("update_webhook", by=ada, webhook_id=hook["id"], url=url)
        profile = await market.refusal("register_agent", name="Bo", endpoints={"webhook_url": url})
        said = await market.refusal("update_me", by=ada, endpoints={"webhook_url": url})
        codes = [(error["code"], error["param"].split(".")[0]) for error in (made, changed, profile, said)]
        assert codes == [("invalid_request", "url")] * 2 + [("invalid_request", "endpoints")] * 2, url
    assert (await market.call("get_webhook", by=ada, webhook_id=hook["id"]))["url"] == URL
    for one in VECTORS["allowed_addresses"]:
        await hooked(market, ada, url=f"https://[{one}]/" if ":" in one else f"https://{one}/")


async def test_loopback_is_taken_only_where_the_operator_allows_private_networks(scene: Scene, store: Store) -> None:
    ada = await scene.market.register()
    for url in ("http://127.0.0.1:9000/", "http://localhost:9000/", "https://10.0.0.7:8443/", "https://10.0.0.7/"):
        await hooked(scene.market, ada, url=url)
        assert (await TestMarket(store).refusal("create_webhook", by=ada, url=url))["param"] == "url"
    for url in ("http://10.0.0.7/", "http://agent.example/", "https://169.254.169.254/", "http://market.test/"):
        assert (await scene.market.refusal("create_webhook", by=ada, url=url))["param"] == "url"


async def test_ten_are_allowed_in_each_environment(market: TestMarket) -> None:
    ada = await market.register()
    made = [await hooked(market, ada) for _ in range(10)]
    error = await market.refusal("create_webhook", by=ada, url=URL)
    assert (error["code"], error["type"], error["details"]["limit"]) == ("webhook_limit", "conflict", 10)
    await market.call("create_webhook", by=ada, on="live", url=URL)
    await market.call("delete_webhook", by=ada, webhook_id=made[0]["id"])
    await hooked(market, ada)


async def test_they_are_listed_page_by_page_newest_first(market: TestMarket) -> None:
    ada = await market.register()
    made = []
    for _ in range(3):
        market.pass_seconds(1)
        made.append((await hooked(market, ada))["id"])
    await market.call("create_webhook", by=ada, on="live", url=URL)
    first = await market.call("list_webhooks", by=ada, limit=2)
    rest = await market.call("list_webhooks", by=ada, limit=2, cursor=first["next_cursor"])
    assert [one["id"] for one in first["data"] + rest["data"]] == made[::-1]
    assert (first["has_more"], rest["has_more"], rest["next_cursor"]) == (True, False, None)
    stranger = await market.register("Bo")
    asked = {"limit": 2, "cursor": first["next_cursor"]}
    assert (await market.refusal("list_webhooks", by=stranger, **asked))["code"] == "invalid_cursor"
    assert (await market.call("list_webhooks", by=stranger))["data"] == []


@pytest.mark.parametrize(
    "operation",
    [
        "get_webhook", "update_webhook", "delete_webhook", "list_webhook_deliveries", "test_webhook", "redeliver_webhook",
    ],
)  # fmt: skip
async def test_a_webhook_of_another_agent_or_environment_is_not_found(market: TestMarket, operation: str) -> None:
    ada, bo = await market.register(), await market.register("Bo")
    hook = await hooked(market, ada)
    given = {"webhook_id": hook["id"]} | ({"delivery_id": "dlv_1"} if operation == "redeliver_webhook" else {})
    for agent, on in ((bo, "test"), (ada, "live")):
        error = await market.refusal(operation, by=agent, on=on, **given)
        assert (error["code"], error["param"]) == ("not_found", "webhook_id")


async def test_a_key_that_may_only_buy_makes_and_ends_none(market: TestMarket) -> None:
    from tools.catalogue import CATALOGUE

    writes = {name for name, op in CATALOGUE.items() if op.toolset == "webhooks" and not op.safe}
    assert {CATALOGUE[name].scopes for name in writes} == {("admin:self",)}
    assert len(writes) == 5


async def test_what_is_changed_is_changed_and_the_rest_stays(market: TestMarket) -> None:
    ada = await market.register()
    hook = await hooked(market, ada, event_types=["job.*"])
    ref = {"webhook_id": hook["id"]}
    market.pass_seconds(60)
    changed = await market.call("update_webhook", by=ada, **ref, url=URL + "/2")
    assert bare(changed) == {
        **{name: value for name, value in hook.items() if name not in ("secret", "next_steps")},
        "url": URL + "/2",
        "updated_at": stamp(market.clock.now()),
    }
    changed = await market.call("update_webhook", by=ada, **ref, event_types=["*"], status="disabled")
    assert (changed["event_types"], changed["status"], changed["disabled_reason"]) == (["*"], "disabled", "you")
    market.pass_seconds(60)
    assert await market.call("update_webhook", by=ada, **ref, status="disabled") == changed
    assert await market.call("update_webhook", by=ada, **ref) == changed
    back = await market.call("update_webhook", by=ada, **ref, status="active")
    assert (back["status"], back["disabled_reason"]) == ("active", None)


async def test_an_ended_webhook_is_gone(scene: Scene) -> None:
    async with Receiver() as receiver:
        ada = await scene.market.register()
        hook = await scene.hook(ada, receiver)
        await scene.tell(ada)
        await scene.sender.fan_out()
        gone = await scene.market.call("delete_webhook", by=ada, webhook_id=hook["id"])
        assert gone == {"object": "webhook", "id": hook["id"], "deleted": True}
        assert await scene.sender.step() == 0
        assert receiver.got == []
    assert (await scene.market.refusal("get_webhook", by=ada, webhook_id=hook["id"]))["code"] == "not_found"


@covers("event.kind.webhook.test")
async def test_a_test_goes_to_that_webhook_alone_whatever_its_types(scene: Scene) -> None:
    async with Receiver() as receiver, Receiver() as other:
        ada = await scene.market.register()
        hook = await scene.hook(ada, receiver, event_types=["job.paid"])
        await scene.hook(ada, other)
        queued = await scene.market.call("test_webhook", by=ada, webhook_id=hook["id"])
        steps = queued.pop("next_steps")
        assert queued == {"object": "webhook_test", "webhook_id": hook["id"], "status": "queued"}
        assert [one["tool"] for one in steps] == ["list_webhook_deliveries"]
        assert await scene.sender.step() == 1
        (posted,) = receiver.got
        assert other.got == []
    (told,) = await scene.events(ada, "webhook.*")
    assert posted.body == told | {"agent_id": ada.id, "webhook_id": hook["id"]}
    assert told["data"]["webhook_id"] == hook["id"]
    jsonschema_rs.validate(record_schema(PAYLOADS["webhook.test"]), told["data"])


async def test_nothing_is_tested_or_sent_again_while_a_webhook_is_off(scene: Scene) -> None:
    async with Receiver(always=status(500)) as receiver:
        ada = await scene.market.register()
        hook = await scene.hook(ada, receiver)
        await scene.tell(ada)
        await scene.sender.step()
        (sent,) = await scene.deliveries(ada, hook)
        ref = {"webhook_id": hook["id"]}
        await scene.market.call("update_webhook", by=ada, **ref, status="disabled")
        for operation, given in (("test_webhook", ref), ("redeliver_webhook", ref | {"delivery_id": sent["id"]})):
            error = await scene.market.refusal(operation, by=ada, **given)
            assert (error["code"], error["type"], error["details"]["reason"]) == (
                "webhook_disabled",
                "state_error",
                "you",
            )
        assert await scene.after(10) == 0


async def test_deliveries_are_listed_page_by_page_newest_event_first(scene: Scene) -> None:
    async with Receiver() as receiver:
        ada = await scene.market.register()
        hook, other = await scene.hook(ada, receiver), await scene.hook(ada, receiver)
        await scene.tell(ada, "job.created", "job.accepted", "job.delivered")
        await scene.sender.fan_out()
    ref = {"webhook_id": hook["id"], "limit": 2}
    first = await scene.market.call("list_webhook_deliveries", by=ada, **ref)
    rest = await scene.market.call("list_webhook_deliveries", by=ada, **ref, cursor=first["next_cursor"])
    events = await scene.events(ada)
    listed = first["data"] + rest["data"]
    assert [(one["event_id"], one["event_type"]) for one in listed] == [(one["id"], one["type"]) for one in events][
        ::-1
    ]
    assert rest["next_cursor"] is None
    assert listed[0] == {
        "object": "webhook_delivery",
        "id": listed[0]["id"],
        "webhook_id": hook["id"],
        "event_id": events[-1]["id"],
        "event_type": "job.delivered",
        "status": "pending",
        "attempt": 0,
        "next_attempt_at": stamp(scene.market.clock.now()),
        "last_attempt_at": None,
        "last_status_code": None,
        "last_error": None,
        "created_at": stamp(scene.market.clock.now()),
    }
    assert is_id("dlv_", listed[0]["id"])
    foreign = {"webhook_id": other["id"], "limit": 2, "cursor": first["next_cursor"]}
    assert (await scene.market.refusal("list_webhook_deliveries", by=ada, **foreign))["code"] == "invalid_cursor"


async def test_a_delivery_is_sent_again_from_its_first_attempt_on(scene: Scene) -> None:
    async with Receiver() as receiver:
        ada = await scene.market.register()
        hook, other = await scene.hook(ada, receiver), await scene.hook(ada, receiver)
        await scene.tell(ada)
        await scene.sender.step()
        (sent,) = await scene.deliveries(ada, hook)
        assert (sent["status"], sent["attempt"], len(receiver.got)) == ("delivered", 1, 2)
        again = {"webhook_id": hook["id"], "delivery_id": sent["id"]}
        queued = await scene.market.call("redeliver_webhook", by=ada, **again)
        assert (queued["status"], queued["attempt"]) == ("pending", 0)
        assert await scene.market.call("redeliver_webhook", by=ada, **again) == queued
        assert await scene.sender.step() == 1
        assert [one.headers["webhook-id"] for one in receiver.got] == [sent["event_id"]] * 3
        assert await scene.deliveries(ada, hook) == [sent]
        strange = again | {"webhook_id": other["id"]}
        assert (await scene.market.refusal("redeliver_webhook", by=ada, **strange))["param"] == "delivery_id"


async def test_a_delivery_that_waits_is_sent_at_once(scene: Scene) -> None:
    async with Receiver(answers=[status(500), status(500)]) as receiver:
        ada = await scene.market.register()
        hook = await scene.hook(ada, receiver)
        await scene.tell(ada)
        await scene.sender.step()
        await scene.after(6)
        (waits,) = await scene.deliveries(ada, hook)
        assert (waits["status"], waits["attempt"]) == ("pending", 2)
        again = {"webhook_id": hook["id"], "delivery_id": waits["id"]}
        assert (await scene.market.call("redeliver_webhook", by=ada, **again))["attempt"] == 2
        assert await scene.sender.step() == 1
        (sent,) = await scene.deliveries(ada, hook)
        assert (sent["status"], sent["attempt"], len(receiver.got)) == ("delivered", 3, 3)
