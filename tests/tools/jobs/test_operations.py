"""Clauses of the contract about jobs: the record at each stage, orders, deliveries, reviews."""

import json
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest

from storage.tables import ThreadRow
from tests.requirements import covers, named
from tests.requirements.probes import stored
from tests.support.market import BASE_URL, Agent
from tests.support.trade import PRICE, Trade
from tools.kernel.ids import is_id
from tools.kernel.records import stamp

WORK = {"english": "good day"}
CANONICAL = b'{"english":"good day"}'
SHOWN_TO_PARTIES = {
    "reference",
    "max_price",
    "max_price_display",
    "worker",
    "archived_at",
    "lease_until",
    "cancel_kind",
    "output_commitment",
    "output_salt",
    "acceptance",
    "checks",
    "deliveries",
    "waiting_on",
    "content_warnings",
    "panel_seed_hash",
    "env",
    "next_steps",
    "price_display",
    "quoted_price_display",
    "refund_expected_display",
}  # not in the contract


def after(job: Any, seconds: float) -> str:
    """Return the job's creation time plus these seconds, formatted as in records."""
    return stamp(datetime.fromisoformat(job["created_at"]) + timedelta(seconds=seconds))


def payment_of(job: Any, seller: Agent, buyer: Agent, **changes: Any) -> dict[str, Any]:
    """Return the expected job.payment of a sealed delivery that is not paid yet."""
    return {
        "timing": "on_delivery",
        "status": "due",
        "amount": PRICE,
        "currency": "USDC",
        "display": "0.250000 USDC",
        "network": "eip155:84532",
        "chain_id": 84532,
        "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
        "pay_to": seller.wallet.address,
        "pay_from": buyer.wallet.address,
        "pay_url": f"{BASE_URL}/v1/jobs/{job['id']}/pay",
        "pay_by": after(job, 900),
        "paid_at": None,
        "settlement": None,
        "refund_due": False,
        "refund_expected": None,
        "refund_expected_display": None,
        "refund": None,
    } | changes


@covers("job.field.*", "job.payment.*", "job.deadlines.*", "job.status.delivered", "id.job", "env.test.network")
@covers(
    "state.job.in_progress.deliver", "state.job.in_progress.deliver_sealed", "payment.status.due", "service.2.sealed"
)
@covers("route.jobs.get", "route.jobs.deliver", "route.jobs.deliver.preview", "invariant.4.recipient")
async def test_sealed_work_shows_the_buyer_everything_but_the_work(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    ordered = await trade.order(buyer, listing)
    await trade.market.call("accept_job", by=seller, job_id=ordered["id"])
    given = {"output": WORK, "preview": {"english": "go.."}}
    await trade.market.call("deliver_job", by=seller, job_id=ordered["id"], **given)
    seen = await trade.seen(buyer, ordered)
    made = ordered["created_at"]
    contract = {
        "object": "job",
        "id": ordered["id"],
        "status": "delivered",
        "role": "buyer",
        "available_actions": ["pay", "cancel", "message"],
        "listing_id": listing["id"],
        "bounty_id": None,
        "buyer": {"id": buyer.id, "handle": buyer.handle},
        "seller": {"id": seller.id, "handle": seller.handle},
        "title": listing["title"],
        "input": {"text": "guten Tag"},
        "output": None,
        "output_sealed": True,
        "output_hash": None,
        "output_bytes": 1024,
        "output_preview": {"english": "go.."},
        "units": 1,
        "price": PRICE,
        "payment": payment_of(ordered, seller, buyer),
        "refund_due": False,
        "refund_expected": None,
        "refund": None,
        "revision_count": 0,
        "max_revisions": 2,
        "quoted_price": None,
        "quote_message": None,
        "deadlines": {
            "accept_by": after(ordered, 600),
            "pay_by": after(ordered, 900),
            "deliver_by": after(ordered, 3600),
            "review_by": None,
        },
        "cancel_reason": None,
        "dispute_reason": None,
        "dispute_id": None,
        "unpaid": False,
        "resolution": None,
        "thread_id": ordered["thread_id"],
        "created_at": made,
        "accepted_at": made,
        "delivered_at": made,
        "completed_at": None,
        "updated_at": made,
    }
    assert {name: value for name, value in seen.items() if name not in SHOWN_TO_PARTIES} == contract
    assert set(contract) == named("job.field")
    assert set(contract["deadlines"]) == named("job.deadlines")
    beside = {"refund_due", "refund_expected", "refund_expected_display", "refund"}
    assert set(contract["payment"]) - beside == named("job.payment")
    assert is_id("job_", ordered["id"])


@covers("state.job.order", "state.job.order.nothing_charged", "state.job.order.thread", "job.status.open")
@covers("route.jobs.create", "route.jobs.create.listing_id", "route.jobs.create.input", "service.2.order")
@covers("pricing_model.fixed", "payment.status.not_due")
async def test_an_order_is_an_open_job_with_a_thread_and_nothing_charged(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.known(buyer)
    job = await trade.order(buyer, await trade.listing(seller))
    shown = (job["status"], job["role"], job["price"], job["payment"]["status"], job["payment"]["pay_to"])
    assert shown == ("open", "buyer", PRICE, "not_due", None)
    assert (job["output"], job["output_sealed"], job["output_hash"], job["output_bytes"]) == (None, False, None, None)
    assert trade.evm.balance(buyer.wallet) == 10_000_000
    thread = await trade.market.store.read(lambda tx: tx.get(ThreadRow, job["thread_id"]))
    assert thread is not None
    assert (thread.kind, thread.job_id, {thread.a, thread.b}) == ("job", job["id"], {buyer.id, seller.id})
    for wrong in ({"input": {"text": "x"}}, {"listing_id": job["listing_id"]}):
        error = await trade.market.refusal("create_job", by=buyer, **wrong)
        assert [one["message"] for one in error["details"]["violations"]] == ["required"]
    words = await trade.market.refusal("create_job", by=buyer, listing_id=job["listing_id"], input="guten Tag")
    assert words["param"] == "input"
    unfit = await trade.market.refusal("create_job", by=buyer, listing_id=job["listing_id"], input={"txt": "guten Tag"})
    assert (unfit["code"], unfit["details"].keys()) == ("input_schema_mismatch", {"violations"})


@covers("state.job.open.accept", "job.status.in_progress", "route.jobs.accept.seller", "route.jobs.answer")
async def test_acceptance_puts_the_seller_to_work(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    trade.market.pass_seconds(60)
    accepted = await trade.market.call("accept_job", by=seller, job_id=job["id"])
    assert (accepted["status"], accepted["accepted_at"]) == ("in_progress", after(job, 60))
    assert accepted["deadlines"]["deliver_by"] == after(job, 3660)
    assert accepted == await trade.seen(seller, job)


@covers("state.job.open.accept_upfront", "state.job.decided.accept_upfront", "state.job.awaiting_payment.pay")
@covers("state.job.decided.upfront_delivery", "state.job.in_progress.deliver_open", "job.status.awaiting_payment")
@covers("payment.status.paid", "invariant.4.frozen", "pay.3.advances")
async def test_an_upfront_job_waits_for_its_payment_and_is_delivered_readable(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("awaiting_payment", seller, buyer, payment="upfront")
    expected = payment_of(job, seller, buyer, timing="upfront")
    assert (job["status"], job["deadlines"]["deliver_by"]) == ("awaiting_payment", None)
    assert (await trade.seen(buyer, job))["payment"] == expected
    paid = await trade.pay(buyer, job)
    assert (paid["status"], paid["payment"]["status"], paid["payment"]["paid_at"]) == (
        "in_progress",
        "paid",
        after(job, 0),
    )
    assert paid["deadlines"]["deliver_by"] == after(job, 3600)
    await trade.deliver(seller, job, WORK)
    seen = await trade.seen(buyer, job)
    assert (seen["status"], seen["output"], seen["output_sealed"]) == ("delivered", WORK, False)
    assert seen["deadlines"]["review_by"] == after(job, 900)


@covers(
    "state.job.sealed.pay", "pay.3.reveals", "state.job.revealed.accept", "job.status.completed", "service.2.accept"
)
@covers(
    "route.jobs.accept.buyer", "job.deadlines.review_by", "job.field.completed_at", "wallet.receives", "wallet.pays"
)
@covers("service.4.direct", "service.4.proof", "open_record.job_settlement")
async def test_payment_reveals_the_work_and_acceptance_completes_the_job(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    paid = await trade.pay(buyer, job)
    assert (paid["status"], paid["output"], paid["output_sealed"], paid["payment"]["status"]) == (
        "delivered", WORK, False, "paid",
    )  # fmt: skip
    settlement = paid["payment"]["settlement"]
    assert (settlement["object"], settlement["job_id"], settlement["amount"]) == ("settlement", job["id"], PRICE)
    assert (settlement["payer_address"], settlement["pay_to"]) == (buyer.wallet.address, seller.wallet.address)
    assert (trade.evm.balance(seller.wallet), trade.evm.balance(buyer.wallet)) == (PRICE, 10_000_000 - PRICE)
    assert paid["deadlines"]["review_by"] == after(job, 900)
    trade.market.pass_seconds(5)
    done = await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    assert (done["status"], done["completed_at"]) == ("completed", after(job, 5))


@covers("state.job.delivered.final", "state.job.decided.repeat", "error.code.invalid_transition")
async def test_a_delivery_is_not_replaced_but_may_be_repeated(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    before = await trade.seen(seller, job)
    error = await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output={"english": "hello"})
    assert (error["code"], error["details"]) == (
        "invalid_transition", {"status": "delivered", "available_actions": before["available_actions"]},
    )  # fmt: skip
    assert await trade.deliver(seller, job, WORK) == before
    accepted = await trade.market.call(
        "accept_job", by=seller, job_id=(await trade.job_at("open", seller, buyer))["id"]
    )
    assert await trade.market.call("accept_job", by=seller, job_id=accepted["id"]) == accepted


@covers("route.jobs.deliver.mismatch", "error.code.output_schema_mismatch")
async def test_work_that_fails_the_schema_is_refused_with_every_violation(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    schema = {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "integer"}}}
    job = await trade.job_at("in_progress", seller, buyer, output_schema=schema, example_output=None)
    error = await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output={"a": "x"})
    assert (error["code"], error["details"]["code"]) == ("output_schema_mismatch", "output_schema_mismatch")
    assert sorted(one["param"] for one in error["details"]["violations"]) == ["output", "output/a"]
    assert (await trade.seen(seller, job))["status"] == "in_progress"


@pytest.mark.parametrize("output", [None, False, 0, "text", [1, {"a": None}], {"a": {"b": []}}])
@covers("route.jobs.deliver", "job.field.output")
async def test_any_json_can_be_delivered(trade: Trade, output: Any) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer, price=0, output_schema=None, example_output=None)
    await trade.market.call("deliver_job", by=seller, job_id=job["id"], output=output)
    seen = await trade.seen(buyer, job)
    assert (seen["status"], seen["output"]) == ("delivered", output)
    assert seen["output_hash"] == sha256(json.dumps(output, separators=(",", ":")).encode()).hexdigest()


@covers("limit.delivery.output", "limit.job.input", "limit.delivery.preview")
async def test_input_output_and_preview_are_bounded_in_bytes(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(
        seller, price=0, input_schema=None, example_input=None, output_schema=None, example_output=None
    )
    whole, one_more = "x" * (524_288 - len('{"text":""}')), "x" * (524_289 - len('{"text":""}'))
    order = {"listing_id": listing["id"], "input": {"text": one_more}}
    assert (await trade.market.refusal("create_job", by=buyer, **order))["code"] == "payload_too_large"
    job = await trade.order(buyer, listing, input={"text": whole})
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    for given in ({"output": "x" * 524_287}, {"output": 1, "preview": "x" * 4_095}):
        error = await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], **given)
        assert error["code"] == "payload_too_large"
    given = {"job_id": job["id"], "output": "x" * 524_286, "preview": "x" * 4_094}
    done = await trade.market.call("deliver_job", by=seller, **given)
    assert (done["output_bytes"], len(done["output_preview"])) == (524_288, 4_094)


@covers("route.jobs.deliver.message", "invariant.11.messages", "invariant.11.inputs", "invariant.11.outputs", "id.msg")
@covers("event.messages")
async def test_inputs_outputs_and_messages_are_stored_whole_and_readable(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.order(buyer, await trade.listing(seller), input={"text": "Zwölf Boxkämpfer"})
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    given = {"job_id": job["id"], "output": {"english": "Twelve boxers"}, "message": "Done by noon."}
    await trade.market.call("deliver_job", by=seller, **given)
    kept = await stored(trade.market.store)
    assert all(text in kept for text in ("Zwölf Boxkämpfer", "Twelve boxers", "Done by noon."))
    (message,) = (await trade.market.call("list_messages", by=buyer, thread_id=job["thread_id"]))["data"]
    said = (message["sender"]["id"], message["body"], is_id("msg_", message["id"]))
    assert said == (seller.id, "Done by noon.", True)
    events = await trade.market.call("list_events", by=buyer, types=["message.received"])
    told = [(one["data"]["message_id"], one["data"]["from"], one["data"]["thread_id"]) for one in events["data"]]
    assert told == [(message["id"], seller.id, job["thread_id"])]


@covers("route.jobs.reviews", "open_record.review", "service.2.review", "invariant.9.reviews")
async def test_a_review_is_permanent_and_flags_suspicious_text(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    said = {"job_id": job["id"], "rating": 2, "comment": "Asked what my system prompt is about."}
    review = await trade.market.call("review_job", by=buyer, **said)
    assert review == {
        "object": "review",
        "id": review["id"],
        "job_id": job["id"],
        "reviewer": {"id": buyer.id, "handle": buyer.handle},
        "subject_id": seller.id,
        "role": "buyer",
        "rating": 2,
        "comment": said["comment"],
        "job_value": PRICE,
        "job_value_display": "0.250000 USDC",
        "machine_generated": False,
        "content_warnings": ["system_prompt_reference"],
        "created_at": stamp(trade.market.clock.now()),
    }
    assert (await trade.market.refusal("review_job", by=buyer, **said | {"rating": 5}))["code"] == "already_reviewed"
    for rating in (0, 6):
        assert (await trade.market.refusal("review_job", by=seller, **said | {"rating": rating}))["param"] == "rating"
    assert (await trade.market.call("review_job", by=seller, **said | {"rating": 5}))["role"] == "seller"


@covers("route.jobs.list", "open.list_jobs.role", "open.list_jobs.status")
async def test_a_party_lists_its_jobs_by_role_and_status(trade: Trade) -> None:
    ada, bo = await trade.parties()
    sold = await trade.job_at("open", ada, bo)
    bought = await trade.job_at("in_progress", bo, ada, price=0)
    asked: list[tuple[dict[str, Any], list[str]]] = [
        ({}, [bought["id"], sold["id"]]),
        ({"role": "seller"}, [sold["id"]]),
        ({"role": "buyer"}, [bought["id"]]),
        ({"status": "open"}, [sold["id"]]),
        ({"status": "in_progress", "role": "seller"}, []),
    ]
    for filters, expected in asked:
        page = await trade.market.call("list_jobs", by=ada, **filters)
        assert [one["id"] for one in page["data"]] == expected, filters
    assert (await trade.market.call("list_jobs", by=await trade.market.register("Cy")))["data"] == []


@pytest.mark.both_databases
@covers("clients.statuses")
async def test_a_party_lists_its_jobs_of_several_statuses_page_by_page(trade: Trade) -> None:
    ada, bo = await trade.parties()
    free = {"price": 0}
    states = ("open", "in_progress", "completed", "open", "in_progress")
    made = [await trade.job_at(status, *((ada, bo) if n % 2 else (bo, ada)), **free) for n, status in enumerate(states)]
    wanted = [job["id"] for job, status in zip(made, states, strict=True) if status != "completed"][::-1]
    for asked in ("open,in_progress", ["in_progress", "open", "open"], ["open", "in_progress", "disputed"]):
        found, cursor = list[str](), None
        while True:
            page = await trade.market.call("list_jobs", by=ada, status=asked, limit=3, cursor=cursor)
            found += [one["id"] for one in page["data"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert found == wanted, asked
    seller = await trade.market.call("list_jobs", by=ada, status=["open", "completed"], role="seller")
    assert [one["id"] for one in seller["data"]] == [made[3]["id"]]


@pytest.mark.parametrize("wrong", ["", [], "open,", "open,lost", ["open"] * 13, 5, ["open", None], "open in_progress"])
async def test_a_status_that_does_not_exist_is_refused(trade: Trade, wrong: Any) -> None:
    ada = await trade.market.register()
    error = await trade.market.refusal("list_jobs", by=ada, status=wrong)
    assert error["code"] == "invalid_request"
    assert error["param"].startswith("status")


@covers("route.jobs.get.party", "auth.7.others", "error.code.not_found")
async def test_nobody_but_its_parties_sees_a_job_nor_the_same_agent_in_the_other_environment(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    stranger = await trade.market.register("Cy")
    for agent, on in ((stranger, "test"), (buyer, "live")):
        assert (await trade.market.refusal("get_job", by=agent, on=on, job_id=job["id"]))["code"] == "not_found"


@covers("open.create_job.title", "open.create_job.max_revisions", "limit.max_revisions", "job.field.max_revisions")
async def test_an_order_may_be_named_and_bound_its_revisions(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.known(buyer)
    listing = await trade.listing(seller)
    plain = await trade.order(buyer, listing)
    assert (plain["title"], plain["max_revisions"]) == (listing["title"], 2)
    chosen = await trade.order(buyer, listing, title="For Tuesday", max_revisions=0)
    assert (chosen["title"], chosen["max_revisions"]) == ("For Tuesday", 0)


@covers("state.job.decided.free", "payment.status.none")
async def test_free_work_is_never_sealed_and_never_waits_for_payment(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    for timing in ("on_delivery", "upfront"):
        job = await trade.job_at("in_progress", seller, buyer, price=0, payment=timing)
        assert (job["status"], job["payment"]["status"]) == ("in_progress", "none")
        await trade.deliver(seller, job, WORK)
        seen = await trade.seen(buyer, job)
        assert (seen["output"], seen["output_sealed"], seen["payment"]["status"]) == (WORK, False, "none")
