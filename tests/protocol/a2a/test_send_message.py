"""Messages about jobs over A2A: they order, talk, pay and make every other step; errors are explained."""

import asyncio
import json
from typing import Any

import pytest

from protocol.reserved_arguments import DRY_RUN_TOLD
from tests.support.a2a_requests import FORMS, HTTP_1, RPC_1, RPC_FORMS, error_of, message_of, request
from tests.support.a2a_tasks import compact, data_in, desk_of, task_in, until_waiting
from tests.support.market import BASE_URL, Agent
from tests.support.signed_requests import Signing
from tests.support.trade import PRICE, Trade

STATUS, RECEIPTS, ERROR = (f"x402.payment.{name}" for name in ("status", "receipts", "error"))
INPUT = {"text": "guten Tag"}


def proof(transaction: str) -> dict[str, Any]:
    """Return the metadata with which an x402 client submits a payment."""
    payload = {"x402Version": 2, "payload": {"transaction": transaction}}
    return {STATUS: "payment-submitted", "x402.payment.payload": payload}


def payment_in(task: Any) -> Any:
    return task["status"]["message"]["metadata"]


def parts_in(task: Any) -> Any:
    message = task["status"]["message"]
    return message.get("parts", message.get("content"))


def said_in(heard: Any) -> str:
    (text,) = [part["text"] for part in heard.message.get("parts", heard.message.get("content")) if "text" in part]
    return str(text)


async def jobs_of(trade: Trade, agent: Agent) -> list[Any]:
    return list((await trade.market.call("list_jobs", by=agent))["data"])


# --- ordering --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
async def test_a_data_part_that_names_a_listing_hires_and_the_job_is_the_task(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with desk_of(trade, buyer) as desk:
        heard = await desk.say(form, {"listing_id": listing["id"], "input": INPUT}, contextId="ctx-1")
        again = await desk.task(form, task_in(heard)["id"])
    task = task_in(heard)
    (job,) = await jobs_of(trade, buyer)
    assert (task["id"], task["contextId"], task["status"]["state"]) == (job["id"], "ctx-1", "TASK_STATE_SUBMITTED")
    assert job["input"] == INPUT
    assert (task["history"][0]["messageId"], data_in(form, task["history"][0])["input"]) == ("m-1", INPUT)
    assert task_in(again) == task


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", ["{id}: guten Tag", "guten Tag {id}", '{id} {{"text": "guten Tag"}}'])
async def test_a_text_that_names_a_listing_hires(trade: Trade, form: str, text: str) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with desk_of(trade, buyer) as desk:
        task_in(await desk.say(form, text.format(id=listing["id"])))
    (job,) = await jobs_of(trade, buyer)
    assert job["input"] == INPUT


@pytest.mark.parametrize("form", RPC_FORMS)
@pytest.mark.parametrize("text", ["{id}", " {id}.", "- {id} —\n"])
async def test_a_text_that_is_a_listing_and_nothing_else_orders_nothing(trade: Trade, form: str, text: str) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with desk_of(trade, buyer) as desk:
        code, message = (refused := await desk.say(form, text.format(id=listing["id"]))).error
    assert (code, "no order" in message) == (-32602, True)
    assert "get_listing" in refused.raw
    assert await jobs_of(trade, buyer) == []


async def test_an_order_may_say_how_many_units(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, pricing_model="per_unit", price=200, unit_name="word")
    async with desk_of(trade, buyer) as desk:
        task = task_in(await desk.say(RPC_1, {"listing_id": listing["id"], "input": INPUT, "units": 3}))
    (job,) = await jobs_of(trade, buyer)
    assert (job["units"], data_in(RPC_1, task["history"][0])["units"]) == (3, 3)


@pytest.mark.parametrize("form", FORMS)
async def test_a_message_that_comes_twice_is_one_order(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with desk_of(trade, buyer) as desk:
        order = {"listing_id": listing["id"], "input": INPUT}
        first = task_in(await desk.say(form, order, messageId="once"))
        second = task_in(await desk.say(form, order, messageId="once"))
        other = error_of(await desk.say(form, {**order, "input": {"text": "moin"}}, messageId="once"))
    assert first["id"] == second["id"]
    assert other["code"] == "idempotency_key_reused"
    assert len(await jobs_of(trade, buyer)) == 1


@pytest.mark.parametrize("form", FORMS)
async def test_nobody_is_hired_by_a_stranger_who_is_told_how(trade: Trade, form: str) -> None:
    seller, _ = await trade.parties()
    listing = await trade.listing(seller)
    async with desk_of(trade) as desk:
        heard = await desk.say(form, {"listing_id": listing["id"], "input": INPUT})
    assert error_of_two(heard)["code"] == "unauthenticated"
    assert "register_agent" in said_in(heard)
    assert await jobs_of(trade, seller) == []


@pytest.mark.parametrize("form", FORMS)
async def test_an_order_that_is_refused_says_what_would_be_right(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with desk_of(trade, buyer) as desk:
        wrong = await desk.say(form, {"listing_id": listing["id"], "input": {"txt": 1}})
        unknown = await desk.say(form, {"listing_id": "lst_nowhere", "input": INPUT})
        two = await desk.say(form, {"listing_id": "a", "input": INPUT}, {"listing_id": "b", "input": INPUT})
        long = await desk.say(form, {"listing_id": listing["id"], "input": INPUT}, contextId="c" * 300)
    assert error_of_two(wrong)["code"] == "input_schema_mismatch"
    assert f'{{"tool": "get_listing", "arguments": {{"listing_id": "{listing["id"]}"}}}}' in said_in(wrong)
    assert error_of_two(unknown)["code"] == "not_found"
    assert {two.error[0], long.error[0]} == {-32602 if form in RPC_FORMS else 400}
    assert await jobs_of(trade, buyer) == []


async def test_a_rehearsed_order_is_a_message_and_no_task(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with desk_of(trade, buyer) as desk:
        heard = await desk.say(RPC_1, {"listing_id": listing["id"], "input": INPUT}, metadata={"dry_run": True})
    assert (heard.data["object"], heard.message["metadata"]) == ("job", {"service/dryRun": True})
    assert said_in(heard) == DRY_RUN_TOLD
    assert await jobs_of(trade, buyer) == []


async def test_an_order_may_say_itself_that_it_is_rehearsed_and_how_long_it_waits(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    order = {"listing_id": (await trade.listing(seller))["id"], "input": INPUT}
    async with desk_of(trade, buyer) as desk:
        rehearsed = await desk.say(RPC_1, order | {"dry_run": True})
        for parts in ((f"{order['listing_id']} guten Tag", {"dry_run": True}), (order, {"dry_run": True})):
            beside = await desk.say(RPC_1, *parts)  # dry_run in a separate part, beside an order as text or data
            assert beside.message["metadata"] == {"service/dryRun": True}
        assert await jobs_of(trade, buyer) == []
        refused = await desk.say(RPC_1, order | {"wait_seconds": 56})
        async with asyncio.timeout(10):  # the clock is stopped, so a wait would never end
            task = task_in(await desk.say(RPC_1, order | {"wait_seconds": 0}, wait=True))
        step = {"action": "cancel", "dry_run": True}
        shown = await desk.say(RPC_1, step, taskId=task["id"])
        await desk.say(RPC_1, {"dry_run": True, "listing_id": "mine"}, taskId=task["id"])
    assert (rehearsed.data["object"], rehearsed.message["metadata"]) == ("job", {"service/dryRun": True})
    assert refused.error == (-32602, "wait_seconds: must be a whole number, 0-55")
    assert shown.message["metadata"] == {"service/dryRun": True}
    (job,) = await jobs_of(trade, buyer)
    assert (job["id"], job["status"]) == (task["id"], "open")
    said = (await trade.market.call("list_messages", by=buyer, thread_id=job["thread_id"]))["data"]
    assert {"dry_run": True, "listing_id": "mine"} in [one["data"] for one in said]


# --- waiting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [RPC_1, HTTP_1])
async def test_a_message_that_may_wait_is_answered_when_it_is_the_buyer_s_turn(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with desk_of(trade, buyer) as desk:
        asked = asyncio.create_task(desk.say(form, {"listing_id": listing["id"], "input": INPUT}, wait=True))
        await until_waiting(trade)
        (job,) = await jobs_of(trade, seller)
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        await trade.deliver(seller, job)
        async with asyncio.timeout(10):
            task = task_in(await asked)
    assert payment_in(task)[STATUS] == "payment-required"


async def test_after_twenty_seconds_the_task_is_answered_as_it_stands(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with desk_of(trade, buyer) as desk:
        asked = asyncio.create_task(desk.say(RPC_1, {"listing_id": listing["id"], "input": INPUT}, wait=True))
        await until_waiting(trade)
        (job,) = await jobs_of(trade, seller)
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        trade.market.pass_seconds(20)
        await trade.market.call("post_message", by=seller, thread_id=job["thread_id"], body="Soon.")  # wakes it
        async with asyncio.timeout(10):
            task = task_in(await asked)
    assert task["status"]["state"] == "TASK_STATE_WORKING"


async def test_where_no_place_to_wait_is_left_the_order_is_answered_at_once(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    notifier = trade.market.market.services.notifier
    key = (await trade.market.call("list_api_keys", by=buyer))["data"][0]["id"]
    notifier.streams[key] = trade.market.market.config.limits.streams_per_key
    async with desk_of(trade, buyer) as desk, asyncio.timeout(10):
        task = task_in(await desk.say(RPC_1, {"listing_id": listing["id"], "input": INPUT}, wait=True))
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"


# --- later messages --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
async def test_text_and_data_go_to_the_other_party(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        task = task_in(await desk.say(form, "How long?", {"n": 1}, taskId=job["id"], messageId="once"))
        await desk.say(form, "How long?", {"n": 1}, taskId=job["id"], messageId="once")
    (message,) = (await trade.market.call("list_messages", by=seller, thread_id=job["thread_id"]))["data"]
    assert (message["body"], message["data"]) == ("How long?", {"n": 1})
    assert len(task["history"]) == 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "words, step",
    [
        ("Accept.", 'accept send {"action":"accept"}'),
        ("Thank you!", 'accept send {"action":"accept"}'),
        ("dispute", 'dispute send {"action":"dispute","reason":"<reason>"}'),
    ],
)
async def test_the_answer_to_words_in_a_task_says_first_where_they_went(
    trade: Trade, form: str, words: str, step: str
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        task = task_in(await desk.say(form, words, taskId=job["id"]))
        streamed = (await desk.saying(form, words, taskId=job["id"], messageId="other"))[0]["task"]
    told = f"Your words went to the seller; to {step}."
    for seen in (task, streamed):
        assert parts_in(seen)[0]["text"] == told
    assert (await trade.seen(buyer, job))["status"] == "delivered", "words alone take no step"


@pytest.mark.parametrize("form", FORMS)
async def test_where_no_step_is_waited_for_words_are_only_said_to_have_gone(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        task = task_in(await desk.say(form, {"n": 1}, taskId=job["id"]))
    assert parts_in(task)[0]["text"] == "Your data went to the seller."
    async with desk_of(trade, seller) as desk:
        task = task_in(await desk.say(form, "Soon.", taskId=job["id"], messageId="m-9"))
    step = 'deliver send {"action":"deliver","output":"<output>"}'
    assert parts_in(task)[0]["text"] == f"Your words went to the buyer; to {step}."


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", ["x402", "data"])
async def test_a_payment_is_proven_by_its_hash_and_reveals_the_output(trade: Trade, form: str, way: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    sent = await trade.send(buyer, job)
    async with desk_of(trade, buyer) as desk:
        if way == "x402":
            task = task_in(await desk.say(form, "Paid.", taskId=job["id"], metadata=proof(sent)))
        else:
            task = task_in(await desk.say(form, {"transaction": sent}, taskId=job["id"]))
    assert data_in(form, task["artifacts"][0]) == {"english": "good day"}
    assert payment_in(task)[STATUS] == "payment-completed"
    assert [one["transaction"] for one in payment_in(task)[RECEIPTS]] == [sent]
    assert len(task["history"]) == 1, "the words beside a payment go to nobody"


@pytest.mark.parametrize("form", FORMS)
async def test_a_payment_that_does_not_count_leaves_the_task_waiting_and_says_why(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    short = await trade.send(buyer, job, PRICE - 1)
    async with desk_of(trade, buyer) as desk:
        low = task_in(await desk.say(form, "Paid.", taskId=job["id"], metadata=proof(short)))
        lost = task_in(await desk.say(form, {"transaction": "0x" + "0" * 64}, taskId=job["id"]))
        signed = {STATUS: "payment-submitted", "x402.payment.payload": {"payload": {"signature": "0x12"}}}
        relayed = task_in(await desk.say(form, "Paid.", taskId=job["id"], metadata=signed))
    for task in (low, lost, relayed):
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        assert payment_in(task)["x402.payment.required"]["accepts"][0]["amount"] == "1"
    assert (payment_in(low)[STATUS], payment_in(low)[ERROR]) == ("payment-failed", "INVALID_AMOUNT")
    assert payment_in(low)[RECEIPTS] == [
        {
            "success": False,
            "errorReason": "INVALID_AMOUNT",
            "network": job["payment"]["network"],
            "transaction": short,
        }
    ]
    assert payment_in(lost)[STATUS] == "payment-submitted"
    assert "transaction_not_found" in compact(lost["status"]["message"])
    assert "settle_it_yourself" in compact(relayed["status"]["message"])


@pytest.mark.parametrize("form", FORMS)
async def test_a_buyer_that_declines_to_pay_cancels(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        task = task_in(await desk.say(form, "No.", taskId=job["id"], metadata={STATUS: "payment-rejected"}))
    assert task["status"]["state"] == "TASK_STATE_CANCELED"


@pytest.mark.parametrize("form", FORMS)
async def test_a_delivery_is_revised_and_accepted_by_its_task(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer)
    async with desk_of(trade, buyer) as desk, desk_of(trade, seller) as hers:
        revised = task_in(await desk.say(form, "Shorter, please.", {"action": "revise"}, taskId=job["id"]))
        done = {"action": "deliver", "output": {"english": "hi"}}
        delivered = task_in(await hers.say(form, done, taskId=job["id"], wait=True))
        accepted = task_in(await desk.say(form, {"action": "accept"}, taskId=job["id"]))
        reviewed = task_in(await desk.say(form, "Fine.", {"action": "review", "rating": 5}, taskId=job["id"]))
    states = [task["status"]["state"] for task in (revised, delivered, accepted, reviewed)]
    assert states == [f"TASK_STATE_{name}" for name in ("WORKING", "INPUT_REQUIRED", "COMPLETED", "COMPLETED")]
    assert data_in(form, accepted["artifacts"][0]) == {"english": "hi"}
    (review,) = (await trade.market.call("list_reviews", agent_id=seller.id, env="test"))["data"]
    assert (review["rating"], review["comment"]) == (5, "Fine.")


@pytest.mark.parametrize("form", FORMS)
async def test_what_cannot_be_done_now_is_a_message_with_the_actions_there_are(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        early = await desk.say(form, {"action": "accept"}, taskId=job["id"])
        strange = await desk.say(form, {"action": "dance"}, taskId=job["id"])
        empty = await desk.say(form, taskId=job["id"])
        moved = await desk.say(form, "Hello", taskId=job["id"], contextId="ctx-other")
        call = await desk.say(form, {"tool": "get_job", "arguments": {"job_id": job["id"]}}, taskId=job["id"])
    refused = error_of_two(early)
    assert (refused["code"], refused["details"]["available_actions"]) == ("invalid_transition", ["message"])
    assert said_in(early).endswith(refused["hint"])
    assert {one.error[0] for one in (strange, empty, moved)} == {-32602 if form in RPC_FORMS else 400}
    assert call.data["id"] == job["id"]


@pytest.mark.parametrize("form", FORMS)
async def test_a_task_that_has_ended_takes_no_more_words(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    async with desk_of(trade, buyer) as desk:
        heard = await desk.say(form, "One more thing.", taskId=job["id"])
    assert heard.error == (-32004 if form in RPC_FORMS else 400, "the task has ended: the job is completed")


@pytest.mark.parametrize("form", FORMS)
async def test_a_task_of_others_takes_no_message_and_is_not_cancelled(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    stranger = await trade.agent("Eve")
    job = await trade.job_at("open", seller, buyer)
    for who in (stranger, None):
        async with desk_of(trade, who) as desk:
            for heard in (
                await desk.say(form, "Hello", taskId=job["id"]),
                await desk.say(form, {"action": "cancel"}, taskId=job["id"]),
                await desk.task(form, job["id"], "cancel"),
            ):
                assert heard.error == (-32001 if form in RPC_FORMS else 404, "Task not found")
    assert (await trade.seen(buyer, job))["status"] == "open"


@pytest.mark.parametrize("form", FORMS)
async def test_a_task_is_cancelled_once_and_only_while_it_can_be(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    working = await trade.job_at("in_progress", seller, buyer, title="Another")
    async with desk_of(trade, buyer) as desk:
        first = task_in(await desk.task(form, job["id"], "cancel"))
        second = task_in(await desk.task(form, job["id"], "cancel"))
        late = await desk.task(form, working["id"], "cancel")
    assert first == second
    assert first["status"]["state"] == "TASK_STATE_CANCELED"
    assert late.error[0] == (-32002 if form in RPC_FORMS else 400)


def error_of_two(heard: Any) -> Any:
    """Return the market's error object from a message that also explains it."""
    assert heard.status == 200
    return heard.data["error"]


async def test_the_whole_trade_is_one_task(trade: Trade) -> None:
    """Both sides order, accept, deliver, pay and accept the output by A2A messages alone."""
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    async with desk_of(trade, buyer) as desk, desk_of(trade, seller) as hers:
        task = task_in(await desk.say(RPC_1, {"listing_id": listing["id"], "input": INPUT}))
        mine: Any = {"taskId": task["id"]}
        await hers.say(HTTP_1, {"action": "accept"}, **mine)
        await hers.say(HTTP_1, {"action": "deliver", "output": {"english": "good day"}}, **mine)
        (terms,) = payment_in(task_in(await desk.task(RPC_1, task["id"])))["x402.payment.required"]["accepts"]
        sent = trade.evm.transfer(buyer.wallet, terms["payTo"], int(terms["amount"]))
        await desk.say(RPC_1, "Paid.", **mine, metadata=proof(sent))
        task = task_in(await desk.say(RPC_1, {"action": "accept"}, **mine))
    assert (task["status"]["state"], len(task["artifacts"])) == ("TASK_STATE_COMPLETED", 1)


@pytest.mark.parametrize("form", FORMS)
async def test_who_may_order_but_not_read_is_answered_with_the_job_that_was_ordered(trade: Trade, form: str) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    made = await trade.market.call("create_api_key", by=buyer, env="test", name="shopper", scopes=["buy"])
    order = {"listing_id": listing["id"], "input": INPUT}
    async with desk_of(trade, buyer) as desk:
        desk.headers = {"x-api-key": made["key"]}
        heard, again = [await desk.say(form, order, messageId="m-order") for _ in range(2)]
    (job,) = await jobs_of(trade, buyer)
    assert (heard.data["id"], again.data["id"]) == (job["id"], job["id"])
    assert "was ordered" in said_in(heard)
    assert "lacks the scope read" in said_in(heard)


@pytest.mark.parametrize("at", ["/a2a", "/a2a/agents/sela"])
@pytest.mark.parametrize("named", [True, False], ids=["listing", "input"])
async def test_a_signature_is_good_for_all_a_message_takes_and_for_no_second_one(
    trade: Trade, at: str, named: bool
) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    order = {"listing_id": listing["id"], "input": INPUT} if named or at == "/a2a" else {"input": INPUT}
    async with desk_of(trade, at=None if at == "/a2a" else seller.handle) as desk:

        async def signed(nonce: str, part: Any, **message: Any) -> tuple[bytes, dict[str, str]]:
            _, body = request(RPC_1, message_of(RPC_1, [part], messageId=nonce, **message))
            body["params"]["configuration"] = {"returnImmediately": True}
            raw = json.dumps(body).encode()
            now = int(trade.market.clock.now().timestamp())
            made = Signing("POST", f"{BASE_URL}{at}", raw, buyer.id, now, nonce=nonce)
            return raw, made.headers(buyer.seed)

        hiring = await signed("n1", order)
        task = task_in(await desk.a2a.post(RPC_1, hiring[0], headers=hiring[1]))
        cancelling = await signed("n2", {"action": "cancel"}, taskId=task["id"])
        cancelled = task_in(await desk.a2a.post(RPC_1, cancelling[0], headers=cancelling[1]))
        again = await desk.a2a.post(RPC_1, hiring[0], headers=hiring[1])
    assert cancelled["status"]["state"] == "TASK_STATE_CANCELED"
    assert error_of_two(again)["details"] == {"code": "invalid_signature", "reason": "replay"}
    assert "this signature was used before" in said_in(again)
    assert len(await jobs_of(trade, buyer)) == 1
