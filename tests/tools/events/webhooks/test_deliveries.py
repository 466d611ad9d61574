"""Clauses of the contract about deliveries: signed, in order, retried, given up; and hostile receivers."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from hmac import digest
from typing import Any

import jsonschema_rs
import pytest

from server.webhook_sender import Sender
from tests.requirements import covers
from tests.requirements.probes import stored
from tests.support.http_receiver import (
    Receiver,
    content_of,
    hang,
    hang_up,
    huge,
    nonsense,
    slow_headers,
    status,
    verified,
    verified_by_key,
)  # fmt: skip
from tests.support.trade import Trade
from tests.support.webhooks import Scene, opened
from tools.events.payloads import PAYLOADS
from tools.events.webhooks.logic import BATCH
from tools.events.webhooks.records import WebhookBody
from tools.events.webhooks.rules import MAX_FAILURES, WAITS_IN_SECONDS, v1
from tools.kernel.records import record_schema, stamp

THIRD_OF_A_MINUTE = 20.0


@covers("event.webhook", "event.webhook.jwks", "service.5.webhooks")
async def test_a_delivery_is_the_event_signed_with_the_secret_and_with_the_published_key(
    scene: Scene, receiver: Receiver
) -> None:
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada)
    assert await scene.sender.step() == 1
    (posted,), (told,) = receiver.got, await scene.events(ada)
    keys = await scene.market.call("get_platform_keys")
    assert verified(posted, hook["secret"]) == verified_by_key(posted, keys) == posted.body
    assert posted.body == told | {"agent_id": ada.id, "webhook_id": hook["id"]}
    jsonschema_rs.validate(record_schema(WebhookBody), posted.body)
    timestamp = str(int(scene.market.clock.now().timestamp()))
    plain = digest(hook["secret"].encode(), f"{timestamp}.".encode() + posted.raw, sha256).hex()
    assert {name: posted.headers[name] for name in posted.headers.keys() - {"webhook-signature", "host"}} == {
        "content-type": "application/json",
        "content-length": str(len(posted.raw)),
        "user-agent": "service-webhooks/0.1.0",
        "webhook-id": told["id"],
        "webhook-timestamp": timestamp,
        "x-webhook-id": hook["id"],
        "x-webhook-timestamp": timestamp,
        "x-webhook-signature": f"v1={plain}",
        "x-event-id": told["id"],
        "x-event-type": "job.created",
    }
    assert [one.partition(",")[0] for one in posted.headers["webhook-signature"].split(" ")] == ["v1", "v1a"]
    for changed in (posted.raw + b" ", posted.raw.replace(ada.id.encode(), b"agt_other")):
        forged = replace(posted, raw=changed)
        with pytest.raises(AssertionError, match="does not hold"):
            verified(forged, hook["secret"])
        with pytest.raises(AssertionError, match="does not hold"):
            verified_by_key(forged, keys)


async def test_a_given_secret_signs_as_it_is_written(scene: Scene, receiver: Receiver) -> None:
    ada = await scene.market.register()
    for secret in ("sixteen & more! ", "whsec_c2VjcmV0c2VjcmV0"):
        await scene.hook(ada, receiver, secret=secret)
        await scene.tell(ada)
        await scene.sender.step()
        posted = receiver.got[-1]
        assert v1(secret, content_of(posted)) in posted.headers["webhook-signature"].split(" ")
        signed = posted.headers["webhook-timestamp"].encode() + b"." + posted.raw
        assert posted.headers["x-webhook-signature"] == "v1=" + digest(secret.encode(), signed, sha256).hex()
        for hook in (await scene.market.call("list_webhooks", by=ada))["data"]:
            await scene.market.call("delete_webhook", by=ada, webhook_id=hook["id"])


async def test_a_changed_secret_signs_beside_the_one_before_for_a_day(scene: Scene, receiver: Receiver) -> None:
    ada = await scene.market.register()
    old, new = "the secret of before", "whsec_c2VjcmV0c2VjcmV0"
    hook = await scene.hook(ada, receiver, secret=old)
    ref = {"webhook_id": hook["id"]}
    changed = await scene.market.call("update_webhook", by=ada, **ref, secret=new)
    assert changed["previous_secret_until"] == stamp(scene.market.clock.now() + timedelta(days=1))
    shown = str(changed) + await stored(scene.market.store)
    assert not any(secret in shown for secret in (old, new))
    scene.market.pass_seconds(3600)
    again = await scene.market.call("update_webhook", by=ada, **ref, secret=new)
    assert again["previous_secret_until"] == changed["previous_secret_until"], "a repeat does not push the old one out"
    for seconds, secrets in ((0, [new, old]), (82_799, [new, old]), (1, [new])):
        scene.market.pass_seconds(seconds)
        await scene.tell(ada)
        await scene.sender.step()
        posted = receiver.got[-1]
        given = posted.headers["webhook-signature"].split(" ")
        assert given[:-1] == [v1(secret, content_of(posted)) for secret in secrets]
        assert given[-1].startswith("v1a,")
        signed = posted.headers["webhook-timestamp"].encode() + b"." + posted.raw
        assert posted.headers["x-webhook-signature"] == "v1=" + digest(new.encode(), signed, sha256).hex()
    assert (await scene.market.refusal("update_webhook", by=ada, **ref, secret="short"))["param"] == "secret"


async def test_a_webhook_gets_what_it_asks_for_since_it_began_of_its_agent_and_environment(
    scene: Scene, receiver: Receiver
) -> None:
    ada, bo = await scene.market.register(), await scene.market.register("Bo")
    await scene.tell(ada, "job.created")
    hook = await scene.hook(ada, receiver, event_types=["job.*", "message.received"])
    await scene.tell(ada, "job.paid", "review.received", "message.received")
    await scene.tell(ada, "job.expired", env="live")
    await scene.tell(bo, "job.cancelled")
    await scene.sender.step()
    assert [one.body["type"] for one in receiver.got] == ["job.paid", "message.received"]
    assert {one.body["env"] for one in receiver.got} == {"test"}
    assert len(await scene.deliveries(ada, hook)) == 2


async def test_a_real_trade_is_posted_to_both_parties_in_order(trade: Trade, receiver: Receiver) -> None:
    async with opened(trade.market.store) as scene:
        market = trade.market.market
        market.services.world = replace(market.world, web=scene.web)
        market.services.config = scene.market.market.config
        seller, buyer = await trade.parties()
        for party in (seller, buyer):
            await trade.market.call("create_webhook", by=party, url=receiver.url, event_types=["job.*"])
        await trade.job_at("completed", seller, buyer)
        await Sender(market).step()
    told = ["job.created", "job.accepted", "job.delivered", "job.payment_due", "job.paid", "job.completed"]
    for party in (seller, buyer):
        assert [one.body["type"] for one in receiver.got if one.body["agent_id"] == party.id] == told


async def test_many_events_come_in_order_one_at_a_time(scene: Scene, receiver: Receiver) -> None:
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    many = BATCH + 3
    for _ in range(many):
        await scene.tell(ada)
    made = await scene.sender.step()
    while len(receiver.got) < many:  # the limit is 60 a minute
        made += await scene.after(60)
    ids = [one.body["id"] for one in receiver.got]
    assert ids == sorted(set(ids))
    assert (made, len(ids), receiver.most_at_once) == (many, many, 1)
    assert {one["status"] for one in await scene.deliveries(ada, hook)} == {"delivered"}


@covers("event.webhook.retries")
async def test_a_failing_receiver_is_tried_ten_times_as_promised(scene: Scene, receiver: Receiver) -> None:
    receiver.always = status(500)
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada)
    assert await scene.sender.step() == 1
    promised = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
    for attempt, wait in enumerate(promised, 1):
        (waits,) = await scene.deliveries(ada, hook)
        shown = {name: waits[name] for name in ("status", "attempt", "last_status_code", "last_error")}
        assert shown == {"status": "pending", "attempt": attempt, "last_status_code": 500, "last_error": "status 500"}
        assert waits["last_attempt_at"] == stamp(scene.market.clock.now())
        assert await scene.after(0.79 * wait) == 0
        assert await scene.after(0.42 * wait) == 1
    (failed,) = await scene.deliveries(ada, hook)
    assert (failed["status"], failed["attempt"], failed["next_attempt_at"]) == ("failed", 10, None)
    assert await scene.after(10**6) == 0
    headers = [one.headers for one in receiver.got]
    assert len({one["webhook-id"] for one in headers}) == 1
    assert (
        len({one["webhook-timestamp"] for one in headers}) == len({one["webhook-signature"] for one in headers}) == 10
    )
    assert len({one.raw for one in receiver.got}) == 1
    seen = await scene.seen(ada, hook)
    assert (seen["status"], seen["consecutive_failures"]) == ("active", 1)
    receiver.always = status(200)
    await scene.tell(ada)
    await scene.sender.step()
    assert (await scene.seen(ada, hook))["consecutive_failures"] == 0


async def test_waits_differ_from_one_another(scene: Scene, receiver: Receiver) -> None:
    receiver.always = status(503)
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada, *["job.created"] * 8)
    await scene.sender.step()
    assert len({one["next_attempt_at"] for one in await scene.deliveries(ada, hook)}) > 4


async def test_what_fails_holds_back_nothing_that_comes_later(scene: Scene, receiver: Receiver) -> None:
    receiver.answers = [status(500)]
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada, "job.created", "job.accepted")
    assert await scene.sender.step() == 2
    assert [one["status"] for one in await scene.deliveries(ada, hook)] == ["pending", "delivered"]
    polled = [one["type"] for one in await scene.events(ada)]
    assert polled == ["job.created", "job.accepted"], "what is not delivered can be read"
    assert await scene.after(6) == 1
    assert [one.body["type"] for one in receiver.got] == ["job.created", "job.accepted", "job.created"]


async def test_a_retry_after_is_kept_to(scene: Scene, receiver: Receiver) -> None:
    receiver.answers = [status(429, "Retry-After: 100")]
    ada = await scene.market.register()
    await scene.hook(ada, receiver)
    await scene.tell(ada)
    await scene.sender.step()
    assert [await scene.after(99), await scene.after(2)] == [0, 1]


@covers("event.kind.webhook.disabled")
async def test_a10_twenty_deliveries_given_up_in_a_row_disable_and_say_so(scene: Scene, receiver: Receiver) -> None:
    receiver.always = status(500)
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada, *["job.created"] * (MAX_FAILURES + 1))
    await scene.sender.step()
    for wait in WAITS_IN_SECONDS:
        assert (await scene.seen(ada, hook))["status"] == "active"
        await scene.after(1.25 * wait)
    seen = await scene.seen(ada, hook)
    assert (seen["status"], seen["disabled_reason"], seen["consecutive_failures"]) == ("disabled", "failures", 20)
    (told,) = await scene.events(ada, "webhook.*")
    states = Counter(one["status"] for one in await scene.deliveries(ada, hook))
    assert states == {"failed": 20, "pending": 1}
    last = [one for one in await scene.deliveries(ada, hook) if one["id"] == told["data"]["delivery_id"]]
    assert [one["status"] for one in last] == ["failed"]
    assert told["type"] == "webhook.disabled"
    assert {name: told["data"][name] for name in told["data"].keys() - {"delivery_id", "hint"}} == {
        "webhook_id": hook["id"],
        "url": receiver.url,
        "reason": "failures",
        "consecutive_failures": 20,
        "last_status_code": 500,
        "last_error": "status 500",
    }
    jsonschema_rs.validate(record_schema(PAYLOADS["webhook.disabled"]), told["data"])
    assert await scene.after(10**6) == 0


async def test_a_taken_delivery_between_them_forgives_the_failures(scene: Scene, receiver: Receiver) -> None:
    receiver.always = status(500)
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    for given_up in (MAX_FAILURES - 1, 1):
        await scene.tell(ada, *["job.created"] * given_up)
        await scene.sender.step()
        for wait in WAITS_IN_SECONDS:
            await scene.after(1.25 * wait)
        assert (await scene.seen(ada, hook))["status"] == "active"
        receiver.answers = [status(204)]
        await scene.tell(ada)
        await scene.sender.step()
        assert (await scene.seen(ada, hook))["consecutive_failures"] == 0


async def test_a10_a_receiver_that_is_gone_is_left_at_once_and_its_agent_told_everywhere_else(
    scene: Scene, receiver: Receiver
) -> None:
    receiver.always = status(410)
    ada = await scene.market.register()
    async with Receiver() as other:
        hook, _ = await scene.hook(ada, receiver), await scene.hook(ada, other, event_types=["webhook.disabled"])
        await scene.tell(ada, "job.created", "job.accepted")
        await scene.sender.step()
        (told,) = other.got
    assert len(receiver.got) == 1
    assert (told.body["data"]["reason"], told.body["data"]["last_status_code"]) == ("gone", 410)
    seen = await scene.seen(ada, hook)
    assert (seen["status"], seen["disabled_reason"]) == ("disabled", "gone")
    assert [one["status"] for one in await scene.deliveries(ada, hook)] == ["failed", "pending"]


async def test_switched_on_again_it_gets_what_was_queued_and_not_what_happened_meanwhile(
    scene: Scene, receiver: Receiver
) -> None:
    receiver.answers = [status(410)]
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada, "job.created", "job.accepted")
    await scene.sender.step()
    await scene.tell(ada, "job.delivered")
    await scene.sender.step()
    await scene.tell(ada, "job.paid")  # not fanned out yet when the webhook is enabled again
    back = await scene.market.call("update_webhook", by=ada, webhook_id=hook["id"], status="active")
    assert (back["status"], back["disabled_reason"], back["consecutive_failures"]) == ("active", None, 0)
    await scene.tell(ada, "job.completed")
    await scene.sender.step()
    assert [one.body["type"] for one in receiver.got] == ["job.created", "job.accepted", "job.completed"]


async def test_switched_off_while_it_sends_it_ends_with_that(scene: Scene, receiver: Receiver) -> None:
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada, "job.created", "job.accepted")
    await scene.sender.fan_out()
    for ends in (True, False):
        (posting,) = (await scene.sender.claim()).postings
        await scene.market.call("update_webhook", by=ada, webhook_id=hook["id"], status="disabled")
        if ends:
            await scene.sender.deliver(posting)
        assert await scene.after(60) == 0
        await scene.market.call("update_webhook", by=ada, webhook_id=hook["id"], status="active")
    assert await scene.sender.step() == 1
    assert [one.body["type"] for one in receiver.got] == ["job.created", "job.accepted"]


@pytest.mark.parametrize(
    ("answer", "code", "error"),
    [
        (status(302, "location: http://127.0.0.1:1/"), 302, "status 302: redirects are not followed"),
        (status(404), 404, "status 404"),
        (hang, None, "timeout"),
        (slow_headers, None, "timeout"),
        (nonsense, None, "bad_response"),
        (hang_up, None, "bad_response"),
    ],
)
async def test_a_receiver_that_does_not_take_it_is_tried_again_and_the_reason_is_shown(
    scene: Scene, receiver: Receiver, answer: Any, code: int | None, error: str
) -> None:
    receiver.answers, patient = [answer], scene.web.timeout_in_seconds
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada)
    scene.web.timeout_in_seconds = 0.5 if error == "timeout" else patient
    assert await scene.sender.step() == 1
    (waits,) = await scene.deliveries(ada, hook)
    assert (waits["status"], waits["last_status_code"], waits["last_error"]) == ("pending", code, error)
    scene.web.timeout_in_seconds = patient
    assert await scene.after(6) == 1
    (sent,) = await scene.deliveries(ada, hook)
    shown = {name: sent[name] for name in ("status", "attempt", "last_status_code", "last_error")}
    assert shown == {"status": "delivered", "attempt": 2, "last_status_code": 200, "last_error": None}


async def test_nobody_listens(scene: Scene) -> None:
    async with Receiver() as receiver:
        pass
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada)
    await scene.sender.step()
    (waits,) = await scene.deliveries(ada, hook)
    assert (waits["status"], waits["last_error"]) == ("pending", "connection_failed")


async def test_an_endless_answer_is_an_answer(scene: Scene, receiver: Receiver) -> None:
    receiver.always = huge
    ada = await scene.market.register()
    hook = await scene.hook(ada, receiver)
    await scene.tell(ada)
    await scene.sender.step()
    assert [one["status"] for one in await scene.deliveries(ada, hook)] == ["delivered"]
