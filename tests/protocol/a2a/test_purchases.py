"""Purchases over A2A by a2a-x402: a task asks for payment, and the payment comes in the metadata of a message."""

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import orjson
import pytest

from protocol.a2a import payment as x402
from protocol.a2a.purchases import ACTIVATE
from tests.support.a2a_requests import FORMS, HTTP_03, RPC_1, RPC_FORMS, A2a, Heard
from tests.support.protocols import served
from tests.support.trade import PRICE, Trade
from tests.support.x402_client import INPUT, WORK, Shop, opened_shop
from tools.chain.x402_payments import Fault

ACTIVE = {"A2A-Extensions": x402.URI}


@pytest.fixture
async def shop(trade: Trade) -> Shop:
    return await opened_shop(trade)


@asynccontextmanager
async def buyer(shop: Shop) -> AsyncIterator[A2a]:
    async with (
        served(shop.trade.market) as url,
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http,
    ):
        yield A2a(http)


def order(shop: Shop, given: Any = None) -> dict[str, Any]:
    return {"listing_id": shop.listing["id"], "input": INPUT if given is None else given}


def task_of(heard: Heard) -> Any:
    """Return the task in an answer, with its state, its payment and its only output in any form."""
    found = heard.body["result"] if heard.form in RPC_FORMS else heard.body
    found = found.get("task", found)
    message = found["status"].get("message") or found["status"].get("update")
    state = found["status"]["state"].removeprefix("TASK_STATE_").lower().replace("_", "-")
    outputs = [part["data"] for one in found.get("artifacts", ()) for part in one["parts"]]
    outputs = [one["data"] for one in outputs] if heard.form == HTTP_03 else outputs
    return found | {
        "state": state,
        "payment": message["metadata"],
        "outputs": outputs,
        "extensions": message["extensions"],
    }


async def asked(a2a: A2a, shop: Shop, form: str = RPC_1, headers: Any = None) -> Any:
    return task_of(await a2a.say(form, [order(shop)], headers=headers or ACTIVE))


async def pay(a2a: A2a, payload: Any, task_id: str, form: str = RPC_1, parts: Any = ("Here it is.",)) -> Heard:
    metadata = {x402.STATUS: "payment-submitted", x402.PAYLOAD: payload}
    named = {"taskId": task_id} if task_id else {}
    return await a2a.say(form, parts, headers=ACTIVE, metadata=metadata, **named)


@pytest.mark.parametrize("name", ["A2A-Extensions", "X-A2A-Extensions"])
@pytest.mark.parametrize("form", FORMS)
async def test_an_order_becomes_a_task_that_one_payment_completes(shop: Shop, form: str, name: str) -> None:
    headers = {name: f"https://example.com/other, {x402.URI}"}
    async with buyer(shop) as a2a, shop.open():
        heard = await a2a.say(form, [order(shop)], headers=headers)
        assert heard.headers["a2a-extensions"] == heard.headers["x-a2a-extensions"] == x402.URI
        task = task_of(heard)
        assert (task["state"], task["extensions"]) == ("input-required", [x402.URI])
        assert task["payment"][x402.STATUS] == "payment-required"
        terms = task["payment"][x402.REQUIRED]
        (accepted,) = terms["accepts"]
        assert (accepted["scheme"], accepted["amount"]) == ("exact", str(PRICE))
        payload = shop.payload({"required": terms})
        bought = task_of(await pay(a2a, payload, task["id"], form))
        again = task_of(await pay(a2a, payload, task["id"], form))
        anew = task_of(await pay(a2a, payload, "", form, [order(shop)]))
    assert (bought["id"], bought["state"], bought["outputs"]) == (task["id"], "completed", [WORK])
    (receipt,) = bought["payment"][x402.RECEIPTS]
    assert bought["payment"][x402.STATUS] == "payment-completed"
    assert (receipt["success"], receipt["transaction"], receipt["payer"]) == (
        True,
        shop.relay.sent[0],
        shop.wallet.address,
    )
    assert [again["payment"], anew["payment"]] == [bought["payment"]] * 2
    assert {one["id"] for one in (bought, again, anew)} == {task["id"]}
    assert (shop.income, len(shop.relay.sent), len(await shop.orders())) == (PRICE, 1, 1)


async def test_the_tool_is_sold_in_the_same_way_and_a_payment_of_http_gets_the_same_job(shop: Shop) -> None:
    header, record = await shop.bought()
    async with buyer(shop) as a2a:
        call = {"tool": "buy_with_x402", "arguments": order(shop)}
        offer = task_of(await a2a.say(RPC_1, [call], headers=ACTIVE))
        task = task_of(await pay(a2a, orjson.loads(b64decode(header)), offer["id"]))
    assert (task["outputs"], task["payment"][x402.RECEIPTS][0]["transaction"]) == (
        [WORK],
        record["paid"]["transaction"],
    )
    assert len(await shop.orders()) == 1


async def test_without_the_extension_nothing_changes(shop: Shop) -> None:
    async with buyer(shop) as a2a:
        plain = await a2a.say(RPC_1, [order(shop)])
        assert plain.data["error"]["code"] == "unauthenticated"
        assert plain.message["parts"][0]["text"].endswith(ACTIVATE)
        assert "a2a-extensions" not in plain.headers
        metadata = {x402.PAYLOAD: shop.payload(await shop.terms())}
        assert (await a2a.say(RPC_1, [order(shop)], metadata=metadata)).data["error"]["code"] == "unauthenticated"
        for headers in ({}, {"PAYMENT-SIGNATURE": shop.sign(await shop.terms())}):
            told = await a2a.call(RPC_1, "buy_with_x402", order(shop), headers=headers, metadata=metadata)
            assert (told.data["object"], told.data["error"]) == ("x402_quote", "Payment required")
    assert (await shop.orders(), shop.relay.bodies) == ([], [])


async def test_only_the_operator_s_listings_are_offered_with_exact(shop: Shop, trade: Trade) -> None:
    third = await trade.agent("Third")
    theirs = {"listing_id": (await trade.listing(third))["id"], "input": INPUT}
    agent = await trade.agent("Buyer")
    async with buyer(shop) as a2a:
        stranger = await a2a.say(RPC_1, [theirs], headers=ACTIVE)
        assert stranger.data["error"]["code"] == "unauthenticated"
        plain = await a2a.say(RPC_1, [theirs])
        assert plain.data["error"]["code"] == "unauthenticated"
        assert "x402" not in plain.message["parts"][0]["text"]
        named = await a2a.call(RPC_1, "buy_with_x402", theirs, headers=ACTIVE)
        assert named.data["error"]["code"] == "x402_first_party_only"
        keyed = {**ACTIVE, "X-API-Key": agent.keys["test"]}
        configuration = {"returnImmediately": True}
        params = {"message": {"messageId": "m-2", "role": "ROLE_USER", "parts": [{"data": order(shop)}]}}
        hired = await a2a.ask(RPC_1, "SendMessage", params | {"configuration": configuration}, keyed)
    assert hired.body["result"]["task"]["id"].startswith("job_"), "an agent with a key hires"


@pytest.mark.parametrize(
    ("changed", "fault", "code"),
    [
        ({"value": PRICE - 1}, Fault.VALUE, "INVALID_AMOUNT"),
        ({"to": "0x" + "11" * 20}, Fault.RECIPIENT, "SETTLEMENT_FAILED"),
        ({"validBefore": 1_700_000_000}, Fault.EXPIRED, "EXPIRED_PAYMENT"),
        ({"from": "0x" + "22" * 20}, Fault.SIGNATURE, "INVALID_SIGNATURE"),
    ],
)
async def test_a_payment_that_does_not_fit_fails_with_its_code_and_keeps_the_terms(
    shop: Shop, changed: dict[str, Any], fault: Fault, code: str
) -> None:
    async with buyer(shop) as a2a, shop.open():
        task = await asked(a2a, shop)
        terms = {"required": task["payment"][x402.REQUIRED]}
        failed = task_of(await pay(a2a, shop.payload(terms, **changed), task["id"]))
    assert (failed["id"], failed["state"], failed["payment"][x402.STATUS]) == (
        task["id"],
        "input-required",
        "payment-failed",
    )
    assert (failed["payment"][x402.ERROR], failed["payment"][x402.RECEIPTS][0]["errorReason"]) == (code, fault)
    assert failed["payment"][x402.REQUIRED]["accepts"] == terms["required"]["accepts"]
    assert (await shop.orders(), shop.relay.bodies) == ([], [])


@pytest.mark.parametrize(
    "hostile", ["text", 0, [], {}, {"x402Version": 2}, {"payload": {"transaction": "0x1"}}, {"x": "y" * 50_000}]
)
async def test_what_is_no_payment_fails_and_does_nothing(shop: Shop, hostile: Any) -> None:
    async with buyer(shop) as a2a, shop.open():
        task = await asked(a2a, shop)
        assert task_of(await pay(a2a, hostile, task["id"]))["payment"][x402.STATUS] == "payment-failed"
    assert (await shop.orders(), shop.relay.bodies) == ([], [])


async def test_each_end_of_a_purchase_has_its_state(shop: Shop) -> None:
    shop.relay.told += ["refuses"]
    async with buyer(shop) as a2a:
        task = await asked(a2a, shop)
        payload = shop.payload({"required": task["payment"][x402.REQUIRED]})
        async with shop.open():
            poor = task_of(await pay(a2a, payload, task["id"]))
            used = task_of(await pay(a2a, payload, "", parts=[order(shop, {"text": "etwas anderes"})]))
        assert (poor["state"], poor["payment"][x402.ERROR]) == ("input-required", "INSUFFICIENT_FUNDS")
        assert (used["state"], used["payment"][x402.ERROR]) == ("input-required", "DUPLICATE_NONCE")
        other = await asked(a2a, shop)
        async with shop.open("decline_job", reason="too busy"):
            vain = task_of(await pay(a2a, shop.payload({"required": other["payment"][x402.REQUIRED]}), other["id"]))
        assert (vain["state"], vain["payment"][x402.ERROR], vain["outputs"]) == ("failed", "SETTLEMENT_FAILED", [])
        shop.node.down = True
        unknown = task_of(await pay(a2a, payload, task["id"]))
        assert (unknown["state"], unknown["payment"]) == ("working", {x402.STATUS: "payment-submitted"})
        shop.node.down = False
        assert task_of(await pay(a2a, payload, task["id"]))["state"] == "completed"


async def test_a_rejected_offer_is_canceled_and_unfit_input_is_refused(shop: Shop) -> None:
    async with buyer(shop) as a2a:
        task = await asked(a2a, shop)
        no = {"headers": ACTIVE, "metadata": {x402.STATUS: "payment-rejected"}, "taskId": task["id"]}
        rejected = task_of(await a2a.say(RPC_1, ["No."], **no))
        assert (rejected["state"], rejected["payment"]) == ("canceled", {x402.STATUS: "payment-rejected"})
        unfit = await a2a.say(RPC_1, [order(shop, {"text": 5})], headers=ACTIVE)
    assert unfit.data["error"]["code"] == "input_schema_mismatch"


async def test_a_stream_shows_the_offer_and_ends(shop: Shop) -> None:
    async with buyer(shop) as a2a:
        heard = await a2a.say(RPC_1, [order(shop)], stream=True, headers=ACTIVE)
    task = task_of(heard)
    assert task["payment"][x402.STATUS] == "payment-required"
    (said,) = task["status"]["message"]["parts"]
    assert "a message with this taskId" in said["text"]
    assert "extension" not in said["text"], "it is active"


async def test_nothing_is_submitted_once_the_client_has_gone(shop: Shop) -> None:
    async with buyer(shop) as a2a:
        task = await asked(a2a, shop)
        payload = shop.payload({"required": task["payment"][x402.REQUIRED]})
        buying = asyncio.create_task(pay(a2a, payload, task["id"]))
        await shop.deliver_without_client(buying)
    assert shop.relay.bodies == []
