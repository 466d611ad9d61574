"""Push notification configs over A2A: set, read and deleted by a job's parties; unsafe URLs are refused."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from server.webhook_sender import Sender
from storage.tables import WebhookRow
from tests.support.a2a_requests import FORMS, HTTP_03, HTTP_1, RPC_03, RPC_1, RPC_FORMS, Heard, message_of, request
from tests.support.a2a_tasks import Desk, desk_of, task_in
from tests.support.http_receiver import Receiver, status
from tests.support.market import BASE_URL, Agent
from tests.support.push_notifications import OLD_FORMS, SECRET, TOKEN, Pushes, config_in, configs_in, pushing
from tests.support.signed_requests import Signing
from tests.support.trade import Trade

URL = "https://agent.example/hook"
ORDER = {"text": "guten Tag"}
HOSTILE = (
    "http://127.0.0.1:80/x",
    "https://169.254.169.254/latest",
    "https://[::1]/",
    "file:///etc/passwd",
    "https://a.example:22/",
)


@pytest.fixture
async def sender(trade: Trade) -> AsyncIterator[Sender]:
    async with pushing(trade) as made:
        yield made


def is_not_found(heard: Heard) -> bool:
    return heard.error == ((-32001 if heard.form in RPC_FORMS else 404), "Task not found")


async def hooks_of(trade: Trade, agent: Agent) -> list[Any]:
    return list((await trade.market.call("list_webhooks", by=agent))["data"])


async def sent_with(desk: Desk, form: str, part: Any, config: Any, **message: Any) -> Heard:
    """Send a message that includes a push config."""
    path, body = request(form, message_of(form, [part], **message))
    setting = {"blocking": False} if form in OLD_FORMS else {"returnImmediately": True}
    setting["pushNotificationConfig" if form == RPC_03 else "pushNotification" if form == HTTP_03 else "taskPushNotificationConfig"] = config  # fmt: skip
    (body["params"] if form in RPC_FORMS else body)["configuration"] = setting
    return await desk.a2a.post(form, json.dumps(body).encode(), path, desk.headers)


@pytest.mark.parametrize("form", FORMS)
async def test_a_config_is_set_read_listed_and_ended(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = (await trade.job_at("open", seller, buyer))["id"]
    async with desk_of(trade, buyer) as desk:
        pushes = Pushes(desk, form)
        made = await pushes.set(job, URL, id="mine")
        read = await pushes.get(job, "mine")
        listed = await pushes.all(job)
        assert config_in(form, made) == config_in(form, read)
        assert config_in(form, read) == {"id": "mine", "url": URL, "authentication": {"scheme": "Bearer"}}
        assert configs_in(form, listed) == [URL]
        assert not any(secret in heard.raw for heard in (made, read, listed) for secret in (TOKEN, SECRET))
        ending = Pushes(desk, RPC_1 if form == HTTP_03 else form)  # 0.3 has no DELETE over HTTP
        for _ in range(2):
            ended = await ending.end(job, "mine")
            assert (ended.status, "error" in ended.body) == (200, False)
            assert form != RPC_03 or ended.body == {"jsonrpc": "2.0", "id": 7, "result": None}
        assert is_not_found(await pushes.get(job, "mine"))
        assert configs_in(form, await pushes.all(job)) == []
    assert await hooks_of(trade, buyer) == []


@pytest.mark.parametrize("form", FORMS)
async def test_a_config_without_an_id_has_the_task_s_and_the_same_id_replaces(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = (await trade.job_at("open", seller, buyer))["id"]
    async with desk_of(trade, buyer) as desk:
        pushes = Pushes(desk, form)
        assert config_in(form, await pushes.set(job, URL))["id"] == job
        await pushes.set(job, URL + "/2")
        assert config_in(form, await pushes.get(job))["url"] == URL + "/2"
        await pushes.set(job, URL + "/3", id="other")
        assert sorted(configs_in(form, await pushes.all(job))) == [URL + "/2", URL + "/3"]
    hooks = await hooks_of(trade, buyer)
    assert {(one["source"], one["job_id"]) for one in hooks} == {("task", job)}
    assert {"job.delivered", "message.received"} <= set(hooks[0]["event_types"]) == set(hooks[1]["event_types"])


@pytest.mark.parametrize("form", FORMS)
async def test_only_the_parties_may_and_each_sees_its_own(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = (await trade.job_at("open", seller, buyer))["id"]
    for stranger in (await trade.agent("Eve"), None):
        async with desk_of(trade, stranger) as desk:
            pushes = Pushes(desk, form)
            answers = [await pushes.set(job, URL), await pushes.get(job), await pushes.all(job)]
            answers += [] if form == HTTP_03 else [await pushes.end(job, job)]
            assert [is_not_found(heard) for heard in answers] == [True] * len(answers)
    for party in (seller, buyer):
        async with desk_of(trade, party) as desk:
            await Pushes(desk, form).set(job, f"{URL}/{party.handle}")
            assert configs_in(form, await Pushes(desk, form).all(job)) == [f"{URL}/{party.handle}"]
    async with desk_of(trade, buyer) as desk:
        desk.headers = {"x-api-key": buyer.keys["live"]}
        assert is_not_found(await Pushes(desk, form).set(job, URL))
    assert [len(await hooks_of(trade, party)) for party in (seller, buyer)] == [1, 1]


@pytest.mark.parametrize("form", FORMS)
async def test_at_an_agent_s_endpoint_its_own_jobs_have_configs_and_no_others(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    other = await trade.agent("Otto")
    mine = (await trade.job_at("open", seller, buyer))["id"]
    theirs = (await trade.order(buyer, await trade.listing(other, title="Elsewhere")))["id"]
    async with desk_of(trade, buyer, at=seller.handle) as desk:
        pushes = Pushes(desk, form)
        assert config_in(form, await pushes.set(mine, URL))["url"] == URL
        assert is_not_found(await pushes.set(theirs, URL))
        assert is_not_found(await pushes.all(theirs))


async def test_a_party_has_five_configs_for_a_task_at_most(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = (await trade.job_at("open", seller, buyer))["id"]
    async with desk_of(trade, buyer) as desk, desk_of(trade, seller) as other:
        pushes = Pushes(desk, RPC_1)
        for number in range(5):
            config_in(RPC_1, await pushes.set(job, URL, id=f"c-{number}"))
        refused = await pushes.set(job, URL, id="c-5")
        config_in(RPC_1, await pushes.set(job, URL + "/2", id="c-4"))
        config_in(RPC_1, await Pushes(other, RPC_1).set(job, URL))
        assert len(configs_in(RPC_1, await pushes.all(job))) == 5
    code, message = refused.error
    assert (code, "at most 5" in message) == (-32600, True)
    assert "webhook_limit" in refused.raw
    assert (await trade.market.call("create_webhook", by=buyer, url=URL))["source"] == "registered"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("url", HOSTILE)
async def test_a_hostile_url_is_refused_at_once(trade: Trade, form: str, url: str) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    job = (await trade.order(buyer, listing))["id"]
    async with desk_of(trade, buyer) as desk:
        pushes = Pushes(desk, form)
        refused = [await pushes.set(job, url)]
        order = {"listing_id": listing["id"], "input": ORDER}
        refused.append(await sent_with(desk, form, order, pushes.config(url), messageId="m-hire"))
        refused.append(await sent_with(desk, form, "Hello", pushes.config(url), messageId="m-talk", taskId=job))
    assert {heard.error[0] for heard in refused} == {-32602 if form in RPC_FORMS else 400}
    assert len((await trade.market.call("list_jobs", by=buyer))["data"]) == 1
    assert await hooks_of(trade, buyer) == []


@pytest.mark.parametrize(
    "changes",
    [{"token": "two\nlines"}, {"token": " led"}, {"token": "ü"}, {"token": "t" * 5000}, {"id": "i" * 300}]
    + [{"authentication": {"scheme": scheme, "credentials": "c"}} for scheme in ("Bearer x", "B\r\nX: y", "s" * 65)]
    + [{"authentication": {"scheme": "Bearer", "credentials": "a\r\nX-Evil: 1"}}, {"url": "https://a.example/" + "x" * 3000}],
    ids=repr,
)  # fmt: skip
async def test_what_cannot_be_sent_is_refused_and_not_repeated(trade: Trade, changes: dict[str, Any]) -> None:
    seller, buyer = await trade.parties()
    job = (await trade.job_at("open", seller, buyer))["id"]
    async with desk_of(trade, buyer) as desk:
        heard = await Pushes(desk, RPC_1).set(job, URL, **changes)
    assert heard.error[0] == -32602
    assert SECRET not in heard.raw
    assert await hooks_of(trade, buyer) == []


@pytest.mark.parametrize("form", FORMS)
async def test_a_message_that_hires_may_come_with_a_config(
    trade: Trade, sender: Sender, receiver: Receiver, form: str
) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    order = {"listing_id": listing["id"], "input": ORDER}
    async with desk_of(trade, buyer) as desk:
        config = Pushes(desk, form).config(receiver)
        tasks = [task_in(await sent_with(desk, form, order, config, messageId="m-hire")) for _ in range(2)]
        assert tasks[0] == tasks[1]
        job = tasks[0]["id"]
        task_in(await sent_with(desk, form, "Hello", config | {"id": "two"}, messageId="m-talk", taskId=job))
    assert len(await hooks_of(trade, buyer)) == 2
    assert await sender.step() == 0  # the answer already showed this state
    await trade.market.call("accept_job", by=seller, job_id=job)
    assert await sender.step() == 2
    assert [one.headers["x-event-type"] for one in receiver.got] == ["job.accepted"] * 2
    assert receiver.got[0].headers["x-a2a-notification-token"] == TOKEN


async def test_a_message_that_makes_no_task_sets_nothing(trade: Trade, sender: Sender, receiver: Receiver) -> None:
    _, buyer = await trade.parties()
    async with desk_of(trade, buyer) as desk:
        config = Pushes(desk, RPC_1).config(receiver)
        heard = await sent_with(desk, RPC_1, {"tool": "get_me"}, config)
        assert heard.data["id"] == buyer.id
    assert await hooks_of(trade, buyer) == []


async def test_what_is_rehearsed_is_not_set(trade: Trade, sender: Sender, receiver: Receiver) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    order = {"listing_id": listing["id"], "input": ORDER}
    job = (await trade.order(buyer, listing))["id"]
    async with desk_of(trade, buyer) as desk:
        config, dry = Pushes(desk, RPC_1).config(receiver), {"dry_run": True}
        await sent_with(desk, RPC_1, order, config, messageId="m-1", metadata=dry)
        await sent_with(desk, RPC_1, "Hello", config, messageId="m-2", taskId=job, metadata=dry)
    assert await hooks_of(trade, buyer) == []


async def test_a_key_needs_to_read_and_to_trade(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = (await trade.job_at("open", seller, buyer))["id"]
    found = {}
    for scopes in (["read"], ["buy"], ["read", "buy"], ["read", "admin:self"]):
        made = await trade.market.call("create_api_key", by=buyer, env="test", scopes=scopes)
        async with desk_of(trade, buyer) as desk:
            desk.headers = {"x-api-key": made["key"]}
            heard = await Pushes(desk, RPC_1).set(job, URL)
            found["+".join(scopes)] = "error" not in heard.body
    assert found == {"read": False, "buy": False, "read+buy": True, "read+admin:self": True}


async def test_a_signed_request_sets_one_without_a_key(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = (await trade.job_at("open", seller, buyer))["id"]
    params = {"taskId": job, "url": URL}
    raw = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "CreateTaskPushNotificationConfig", "params": params}
    ).encode()
    at = int(trade.market.clock.now().timestamp())
    signed = Signing("POST", f"{BASE_URL}/a2a", raw, buyer.id, at, nonce="n-1").headers(buyer.seed)
    async with desk_of(trade) as desk:
        heard = [await desk.a2a.post(RPC_1, raw, headers=signed) for _ in range(2)]
    assert heard[0].body["result"] == {"id": job, **params}
    assert "error" in heard[1].body  # a signature is valid for one request
    assert [one["url"] for one in await hooks_of(trade, buyer)] == [URL]


async def test_no_secret_is_stored_plainly_or_logged(trade: Trade, sender: Sender, receiver: Receiver) -> None:
    seller, buyer = await trade.parties()
    job = (await trade.job_at("open", seller, buyer))["id"]
    receiver.answers = [status(500)]
    with capture_logs() as logs:
        async with desk_of(trade, buyer) as desk:
            await Pushes(desk, RPC_1).set(job, receiver)
        await trade.market.call("accept_job", by=seller, job_id=job)
        assert await sender.step() == 1
    (hook,) = await hooks_of(trade, buyer)
    row = await trade.market.store.read(lambda tx: tx.get(WebhookRow, hook["id"]))
    page = await trade.market.call("list_webhook_deliveries", by=buyer, webhook_id=hook["id"])
    for secret in (TOKEN, SECRET):
        assert secret not in f"{row} {hook} {page} {logs}"
    assert receiver.got[0].headers["authorization"] == f"Bearer {SECRET}"
    assert logs != []


async def test_the_webhook_of_a_task_is_seen_tested_and_ended_like_any_other(
    trade: Trade, sender: Sender, receiver: Receiver
) -> None:
    seller, buyer = await trade.parties()
    job = (await trade.job_at("open", seller, buyer))["id"]
    async with desk_of(trade, buyer) as desk:
        await Pushes(desk, RPC_1).set(job, receiver)
        (hook,) = await hooks_of(trade, buyer)
        for change in ({"url": URL}, {"event_types": ["*"]}, {"secret": "s" * 20}):
            refused = await trade.market.refusal("update_webhook", by=buyer, webhook_id=hook["id"], **change)
            assert (refused["code"], refused["param"]) == ("invalid_request", next(iter(change)))
            assert "over A2A" in refused["hint"]
        await trade.market.call("test_webhook", by=buyer, webhook_id=hook["id"])
        assert await sender.step() == 1
        assert receiver.got[0].headers["x-event-type"] == "webhook.test"
        assert receiver.got[0].body["task"]["id"] == job
        await trade.market.call("delete_webhook", by=buyer, webhook_id=hook["id"])
        assert configs_in(HTTP_1, await Pushes(desk, HTTP_1).all(job)) == []
