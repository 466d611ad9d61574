"""Hiring as a task over MCP: clients with the tasks extension get the job's id; it is the same job everywhere."""

import json

import mcp_types as t
import pytest
from jsonschema import Draft202012Validator

from protocol.brief import schema_of
from protocol.mcp.request import TASKS
from tests.support.brief_texts import is_short_for
from tests.support.mcp_client import HANDSHAKE, connected
from tests.support.mcp_task_client import ACK, INPUT, Host, accepted, bare, hired, host_of
from tests.support.trade import PRICE, Trade
from tests.support.untrusted_markers import unfenced
from tools.catalogue import CATALOGUE


async def test_a_task_is_hired_polled_paid_and_completed_with_the_job_that_get_job_answers(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    async with host_of(trade, buyer, query="?toolsets=all") as host:
        made = await hired(trade, host, seller)
        assert (made["resultType"], made["status"], made["ttlMs"]) == ("task", "working", None)
        assert not {"result", "error", "inputRequests", "content", "structuredContent"} & made.keys()
        job = await trade.seen(buyer, {"id": made["taskId"]})
        assert (job["status"], job["created_at"], job["updated_at"]) == (
            "open",
            made["createdAt"],
            made["lastUpdatedAt"],
        )
        trade.market.pass_seconds(made["pollIntervalMs"] / 1000)
        again = await host.task(job["id"])
        assert bare(again) == bare(made) | ACK
        assert "waits for the seller to accept" in again["statusMessage"]
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        assert (await host.task(job["id"]))["status"] == "working"
        await trade.deliver(seller, job)
        heard = await host.ask("tasks/get", taskId=job["id"])
        assert "good day" not in json.dumps(heard.messages)
        asks = heard.result
        ((key, request),) = asks["inputRequests"].items()
        assert (asks["status"], request["method"], request["params"]["mode"]) == (
            "input_required",
            "elicitation/create",
            "form",
        )
        assert request["params"]["requestedSchema"]["required"] == ["transaction"]
        assert all(word in request["params"]["message"] for word in (str(PRICE), seller.wallet.address))
        t.ElicitRequest.model_validate(request)
        sent = await trade.send(buyer, job)
        assert bare((await host.update(job["id"], **{key: accepted(transaction=sent)})).result) == ACK
        done = await host.task(job["id"])
    record = await trade.seen(buyer, job)
    result = done["result"]
    assert (done["status"], record["payment"]["status"], record["output"]) == (
        "completed",
        "paid",
        {"english": "good day"},
    )
    assert "inputRequests" not in done
    shown = result["structuredContent"]
    assert shown["job"] | {"next_steps": shown["next_steps"]} == record | {"warnings": []}
    assert (result["isError"], result["structuredContent"]["object"]) == (False, "hire")
    Draft202012Validator(schema_of(CATALOGUE["hire"])).validate(result["structuredContent"])
    told = result["_meta"]["service/untrusted"]
    assert is_short_for(unfenced(result["content"][0]["text"], told), result["structuredContent"])
    assert "/job/output" in told


async def test_what_its_buyer_has_read_completes_a_task_for_good(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer)
    async with host_of(trade, buyer) as host:
        read = await host.task(job["id"])
        await trade.market.call("request_revision", by=buyer, job_id=job["id"], message="Louder, please.")
        later = await host.task(job["id"])
    assert [one["status"] for one in (read, later)] == ["completed", "completed"]
    assert later["result"]["structuredContent"]["job"]["status"] == "in_progress"
    assert later["result"]["structuredContent"]["job"]["output"] == {"english": "good day"}


async def test_a_large_output_comes_as_a_link_unless_all_is_asked_for(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    async with host_of(trade, buyer, query="?toolsets=all") as host:
        job = {"id": (await hired(trade, host, seller, price=0))["taskId"]}
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        await trade.deliver(seller, job, {"english": "good day " * 3000})
        brief = (await host.task(job["id"]))["result"]
        whole = (await host.ask("tasks/get", taskId=job["id"], detail="full")).result["result"]
        wrong = (await host.ask("tasks/get", taskId=job["id"], detail="some")).error
    assert brief["content"][1]["uri"] == f"job://{job['id']}/output"
    assert brief["_meta"]["service/left_out"] == ["/job/output"]
    assert "output" not in brief["structuredContent"]["job"]
    record, steps = await trade.seen(buyer, job), whole["structuredContent"]["next_steps"]
    assert whole["structuredContent"]["job"] | {"next_steps": steps} == record | {"warnings": []}
    assert (wrong["code"], wrong["data"]["error"]["param"]) == (-32602, "detail")
    for result in (brief, whole):
        Draft202012Validator(schema_of(CATALOGUE["hire"])).validate(result["structuredContent"])


async def test_a_request_stands_until_what_it_asks_for_holds_and_another_amount_is_another_request(
    trade: Trade,
) -> None:
    seller, buyer = await trade.parties()
    async with host_of(trade, buyer) as host:
        job = {"id": (await hired(trade, host, seller, payment="upfront"))["taskId"]}
        await trade.market.call("accept_job", by=seller, job_id=job["id"])
        asked = (await host.task(job["id"]))["inputRequests"]
        (key,) = asked
        for unheard in (
            {},
            {"pay-1": accepted(transaction="0x" + "1" * 64)},
            {"nothing-we-asked": {"ignored": True}},
            {key: {"action": "decline"}},
            {key: {"action": "cancel"}},
        ):
            assert bare((await host.update(job["id"], **unheard)).result) == ACK
        absent = await host.update(job["id"], **{key: accepted(transaction="0x" + "1" * 64)})
        assert (absent.error["code"], absent.error["data"]["error"]["code"]) == (-32603, "transaction_not_found")
        wrong = await host.update(job["id"], **{key: accepted(transaction="my hash")})
        assert (wrong.status, wrong.error["code"], wrong.error["data"]["error"]["param"]) == (
            400,
            -32602,
            "transaction",
        )
        empty = await host.update(job["id"], **{key: accepted()})
        assert (empty.error["code"], empty.error["data"]["error"]["code"]) == (-32602, "payment_required")
        assert (await host.update(job["id"], **{key: "0x1"})).error["code"] == -32602
        assert (await host.task(job["id"]))["inputRequests"] == asked
        part = await trade.send(buyer, job, PRICE - 1)
        low = await host.update(job["id"], **{key: accepted(transaction=part)})
        assert low.error["data"]["error"]["details"]["remaining"] == 1
        (rest,) = (await host.task(job["id"]))["inputRequests"]
        assert (key, rest) == (f"pay-{PRICE}", "pay-1")
        last = await trade.send(buyer, job)
        assert bare((await host.update(job["id"], **{rest: accepted(transaction=last)})).result) == ACK
        assert (await host.task(job["id"]))["status"] == "working"
    assert (await trade.seen(buyer, job))["status"] == "in_progress"


async def test_a_quote_is_agreed_to_by_its_own_form_and_not_by_that_of_another_price(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    async with host_of(trade, buyer) as host:
        made = await hired(trade, host, seller, pricing_model="quote", price=None)
        ref = {"job_id": made["taskId"]}
        assert made["status"] == "working"
        await trade.market.call("quote_job", by=seller, **ref, price=300_000, message="Agree to <b>everything</b>.")
        ((old, request),) = (await host.task(ref["job_id"]))["inputRequests"].items()
        assert ("300000 minor units" in request["params"]["message"], "everything" in json.dumps(request)) == (
            True,
            False,
        )
        await trade.market.call("quote_job", by=seller, **ref, price=900_000, message="No, more.")
        assert bare((await host.update(ref["job_id"], **{old: accepted()})).result) == ACK
        (new,) = (await host.task(ref["job_id"]))["inputRequests"]
        assert (await trade.seen(buyer, {"id": ref["job_id"]}))["status"] == "quoted"
        assert bare((await host.update(ref["job_id"], **{new: accepted()})).result) == ACK
        assert (await host.task(ref["job_id"]))["status"] == "working"
    job = await trade.seen(buyer, {"id": ref["job_id"]})
    assert (old, job["status"], job["price"]) == ("accept_quote-300000", "in_progress", 900_000)


@pytest.mark.parametrize("forms", [True, False])
async def test_who_can_show_no_form_is_told_what_to_call(trade: Trade, forms: bool) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    async with host_of(trade, buyer, forms=forms) as host:
        asks = await host.task(job["id"])
    assert (asks["status"], len(asks["inputRequests"])) == ("input_required", int(forms))
    assert "It is your turn: pay_job." in asks["statusMessage"]


async def test_a_task_is_cancelled_as_its_job_is_where_its_buyer_may(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    async with host_of(trade, buyer) as host:
        made = await hired(trade, host, seller)
        for _ in range(2):
            assert bare((await host.ask("tasks/cancel", taskId=made["taskId"])).result) == ACK
            task = await host.task(made["taskId"])
            assert (task["status"], task.keys() & {"result", "error", "inputRequests"}) == ("cancelled", set())
        under_way = await trade.job_at("in_progress", seller, buyer)
        assert bare((await host.ask("tasks/cancel", taskId=under_way["id"])).result) == ACK
        assert (await host.task(under_way["id"]))["status"] == "working"
    assert (await trade.seen(buyer, {"id": made["taskId"]}))["status"] == "cancelled"


@pytest.mark.parametrize("ends", ["declined", "expired"])
async def test_a_job_that_comes_to_nothing_completes_its_task_with_an_error_of_the_tool(
    trade: Trade, ends: str
) -> None:
    seller, buyer = await trade.parties()
    async with host_of(trade, buyer) as host:
        made = await hired(trade, host, seller)
        if ends == "declined":
            await trade.market.call("decline_job", by=seller, job_id=made["taskId"], reason="Too short.")
        else:
            trade.market.pass_seconds(900)
        task = await host.task(made["taskId"])
    result = task["result"]
    assert (task["status"], result["isError"], "structuredContent" in result) == ("completed", True, False)
    record = unfenced(result["content"][0]["text"], result["_meta"].get("service/untrusted", ()))
    assert is_short_for(record["job"], await trade.seen(buyer, {"id": made["taskId"]}) | {"warnings": []})
    assert record["job"]["status"] == ends


async def test_hire_is_unchanged_for_who_takes_no_tasks_and_for_a_key_that_came_as_an_argument(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.known(buyer)
    listing = await trade.listing(seller)
    order = {"listing_id": listing["id"], "input": INPUT, "wait_seconds": 0}
    async with connected(trade.market.market) as mcp:
        plain = await Host(mcp, buyer, tasks=False).call("hire", **order)
        argued = await Host(mcp, None).call("hire", **order, api_key=buyer.keys["test"])
        params = {"name": "hire", "arguments": order, "capabilities": {"extensions": {TASKS: {}}}}
        before = (await mcp.ask(HANDSHAKE, "tools/call", params, headers=Host(mcp, buyer).headers)).result
    for result in (plain, argued, before):
        assert (result["isError"], result["structuredContent"]["object"], "taskId" in result) == (False, "hire", False)
        assert result["structuredContent"]["job"]["status"] == "open"


async def test_hiring_through_call_tool_is_a_task_and_a_repeat_the_same_and_a_rehearsal_or_a_refusal_none(
    trade: Trade,
) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    order = {"listing_id": listing["id"], "input": INPUT}
    async with host_of(trade, buyer) as host:
        rehearsed = await host.call("hire", **order, dry_run=True)
        refused = await host.call("hire", **order | {"input": {"text": 5}})
        assert (await trade.market.call("list_jobs", by=buyer))["data"] == []
        made = await host.call("call_tool", name="hire", arguments=order, idempotency_key="once")
        again = await host.call("hire", **order, idempotency_key="once", wait_seconds=0)
        other = await host.call("get_job", job_id=made["taskId"], wait_seconds=0)
    assert (rehearsed["_meta"]["service/dry_run"], rehearsed["structuredContent"]["object"]) == (True, "hire")
    assert (refused["isError"], refused["_meta"]["service/error"]["code"]) == (True, "input_schema_mismatch")
    assert (made["resultType"], again["resultType"], again["taskId"]) == ("task", "task", made["taskId"])
    assert ("service/replayed" in made["_meta"], again["_meta"]["service/replayed"]) == (False, True)
    assert (other["resultType"], other["structuredContent"]["status"]) == ("complete", "open")
