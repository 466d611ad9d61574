"""Clauses of the contract about a job's other paths: declining, quotes, revisions, cancellations, disputes."""

from typing import Any

import pytest

from tests.requirements import covers
from tests.support.market import Agent
from tests.support.trade import PRICE, Trade

QUOTE = {"pricing_model": "quote", "price": None}
WORK = {"english": "good day"}


async def act(trade: Trade, by: Agent, action: str, job: Any, **given: Any) -> Any:
    return await trade.market.call(action, by=by, job_id=job["id"], **given)


async def told(trade: Trade, agent: Agent, job: Any) -> list[str]:
    events = (await trade.market.call("list_events", by=agent, types=["job.*"], limit=100))["data"]
    return [one["type"] for one in events if one["data"]["job_id"] == job["id"]]


@covers("job.status.declined", "route.jobs.decline", "state.job.decided.decline", "event.kind.job.declined")
@pytest.mark.parametrize(
    ("status", "offer", "action"),
    [
        ("open", {}, "decline_job"),
        ("open", {}, "cancel_job"),
        ("open", QUOTE, "decline_job"),
        ("awaiting_payment", {"payment": "upfront"}, "decline_job"),
    ],
)
async def test_a_seller_says_no_before_the_work(trade: Trade, status: str, offer: Any, action: str) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at(status, seller, buyer, **offer)
    done = await act(trade, seller, action, job, reason="Too much to do.")
    assert (done["status"], done["cancel_reason"], done["waiting_on"]) == ("declined", "Too much to do.", None)
    assert await act(trade, seller, action, job) == done, "a repeat changes nothing"
    assert (await told(trade, buyer, job))[-1] == "job.declined"
    assert (await told(trade, buyer, job)).count("job.declined") == 1


@covers("state.job.decided.decline")
async def test_a_transfer_in_flight_of_a_declined_job_is_owed_back(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("awaiting_payment", seller, buyer, payment="upfront")
    sent = await trade.send(buyer, job)
    await act(trade, seller, "decline_job", job)
    answer = await trade.market.answer("pay_job", {"job_id": job["id"], "transaction": sent}, key=buyer.keys["test"])
    assert (answer.status, answer.error["code"]) == (409, "job_not_payable")
    seen = await trade.seen(seller, job)
    assert (seen["refund_due"], seen["refund_expected"], seen["available_actions"]) == (
        True,
        PRICE,
        ["refund", "message"],
    )
    assert (await told(trade, seller, job))[-1] == "job.refund_due"


@covers("job.status.quote_requested", "job.status.quoted", "state.job.decided.order_quote", "state.job.decided.quote")
@covers("second.price.accept_quote", "error.more.quote_changed")
async def test_who_says_which_price_it_agrees_to_agrees_to_no_other(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.order(buyer, await trade.listing(seller, pricing_model="quote", price=None))
    for price in (100, 90_000_000):
        await act(trade, seller, "quote_job", job, price=price)
    error = await trade.market.refusal("accept_quote", by=buyer, job_id=job["id"], price=100)
    assert (error["code"], error["message"]) == ("quote_changed", "the quoted price is 90000000 now, not 100")
    assert error["details"] == {
        "quoted_price": 90_000_000,
        "quoted_price_display": "90.000000 USDC",
        "status": "quoted",
        "available_actions": ["accept_quote", "cancel", "message"],
    }
    assert (await trade.seen(buyer, job))["status"] == "quoted"
    assert error["next_steps"][0]["tool"] == "get_job"
    agreed = await act(trade, buyer, "accept_quote", job, price=90_000_000)
    assert (agreed["status"], agreed["price"]) == ("in_progress", 90_000_000)
    repeated = await trade.market.refusal("accept_quote", by=buyer, job_id=job["id"], price=100)
    assert (repeated["code"], repeated["details"]["quoted_price"]) == ("quote_changed", 90_000_000)


@covers("second.price.next_steps")
async def test_steps_that_agree_to_a_quote_name_the_price_that_is_shown(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer, **QUOTE)
    await act(trade, seller, "quote_job", job, price=70_000)
    inbox = await trade.market.call("get_inbox", by=buyer)
    assert inbox["jobs_awaiting_my_action"][0]["quoted_price"] == 70_000
    for record in (inbox, await trade.seen(buyer, job)):
        (agree,) = [one for one in record["next_steps"] if one["tool"] == "accept_quote"]
        assert agree["arguments"] == {"job_id": job["id"], "price": 70_000}


@covers("open.quote", "event.kind.job.quoted", "event.kind.job.quote_accepted", "route.jobs.accept_quote")
@covers("pricing_model.quote", "state.job.quoted.accept_quote")
async def test_a_price_is_quoted_and_agreed(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer, **QUOTE)
    assert (job["status"], job["price"], job["payment"]["status"]) == ("quote_requested", None, "not_due")
    assert (job["available_actions"], job["waiting_on"]["who"]) == (["cancel", "message"], "seller")
    trade.market.pass_seconds(100)
    quoted = await act(trade, seller, "quote_job", job, price=70_000, message="By hand.")
    assert (quoted["status"], quoted["price"], quoted["quoted_price"]) == ("quoted", None, 70_000)
    assert quoted["quote_message"] == "By hand."
    first_deadline = quoted["deadlines"]["accept_by"]
    trade.market.pass_seconds(100)
    again = await act(trade, seller, "quote_job", job, price=60_000)
    assert (again["quoted_price"], again["deadlines"]["accept_by"]) == (60_000, first_deadline), "M14"
    assert await act(trade, seller, "quote_job", job, price=60_000) == again
    seen = await trade.seen(buyer, job)
    assert seen["available_actions"] == ["accept_quote", "cancel", "message"]
    agreed = await act(trade, buyer, "accept_quote", job)
    assert (agreed["status"], agreed["price"]) == ("in_progress", 60_000)
    assert await act(trade, buyer, "accept_quote", job) == agreed
    assert await told(trade, seller, job) == ["job.created", "job.quoted", "job.quoted", "job.quote_accepted"]
    await trade.deliver(seller, job)
    assert (await trade.pay(buyer, job))["payment"]["amount"] == 60_000


async def test_an_upfront_quote_is_paid_before_the_work_and_a_free_one_is_not(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    for price, status in ((5_000, "awaiting_payment"), (0, "in_progress")):
        job = await trade.job_at("open", seller, buyer, **QUOTE, payment="upfront")
        await act(trade, seller, "quote_job", job, price=price)
        agreed = await act(trade, buyer, "accept_quote", job)
        assert agreed["status"] == status
    assert (await told(trade, buyer, job)).count("job.payment_due") == 0


@covers("state.job.decided.quote")
@pytest.mark.parametrize("quoted", [False, True])
async def test_m14_an_unanswered_quote_job_expires_by_the_first_quotes_window(trade: Trade, quoted: bool) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer, **QUOTE)
    if quoted:
        trade.market.pass_seconds(500)
        await act(trade, seller, "quote_job", job, price=1)
        trade.market.pass_seconds(500)
        await act(trade, seller, "quote_job", job, price=2)
        trade.market.pass_seconds(99)
        assert (await trade.seen(buyer, job))["status"] == "quoted"
    trade.market.pass_seconds(1 if quoted else 600)
    assert (await trade.seen(buyer, job))["status"] == "expired"
    assert await trade.market.workers.sweep() == 1


@covers(
    "service.2.revision",
    "state.job.revealed.request_revision",
    "route.jobs.request_revision",
    "route.jobs.request_revision.limit",
)
@covers("event.kind.job.revision_requested")
async def test_a_delivery_is_revised_as_often_as_agreed(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.order(buyer, await trade.listing(seller), max_revisions=1)
    await act(trade, seller, "accept_job", job)
    await trade.deliver(seller, job, {"english": "day"})
    await trade.pay(buyer, job)
    trade.market.pass_seconds(60)
    asked = await act(trade, buyer, "request_revision", job, message="Good day, please.")
    assert (asked["status"], asked["revision_count"], asked["output"]) == ("in_progress", 1, {"english": "day"})
    due = asked["deadlines"]["deliver_by"]
    assert due > asked["updated_at"]
    assert await act(trade, buyer, "request_revision", job, message="Again?") == asked
    redone = await trade.deliver(seller, job, WORK)
    assert (redone["status"], redone["output_sealed"], redone["output"]) == ("delivered", False, WORK)
    seen = await trade.seen(buyer, job)
    assert [one["revision"] for one in seen["deliveries"]] == [0, 1]
    assert redone["deliveries"] == seen["deliveries"]
    first = await act(trade, buyer, "get_delivery", job, revision=0)
    assert (first["output"], first["output_hash"]) == ({"english": "day"}, seen["deliveries"][0]["output_hash"])
    assert seen["available_actions"] == ["accept", "dispute", "message"]
    error = await trade.market.refusal("request_revision", by=buyer, job_id=job["id"], message="Once more.")
    assert error["code"] == "invalid_transition"
    listed = (await trade.market.call("list_jobs", by=buyer))["data"][0]
    assert listed["deliveries"] == seen["deliveries"]


async def test_a_sealed_delivery_is_paid_before_it_is_revised(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    error = await trade.market.refusal("request_revision", by=buyer, job_id=job["id"], message="Good day, please.")
    assert error["hint"].startswith(
        "Pay first: a revision can be asked for once the output is revealed. Available now:"
    )


async def test_the_seller_reads_the_wish_in_the_thread(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer)
    await act(trade, buyer, "request_revision", job, message="Good day, please.")
    events = (await trade.market.call("list_events", by=seller, types=["message.received"]))["data"]
    assert events[-1]["data"]["preview"] == "Good day, please."


async def test_a_sealed_delivery_is_sealed_in_its_history_too(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    sealed = await act(trade, buyer, "get_delivery", job, revision=0)
    assert (sealed["output"], sealed["output_sealed"], sealed["output_hash"]) == (None, True, None)
    assert sealed["output_commitment"] == job["output_commitment"]
    trade.market.pass_seconds(3 * 86_400)
    assert (await act(trade, buyer, "get_delivery", job, revision=0))["output"] is None, "expired unpaid"
    assert (await trade.market.refusal("get_delivery", by=buyer, job_id=job["id"], revision=1))["code"] == "not_found"


@covers("route.jobs.cancel", "state.job.buyer_cancel", "state.job.buyer_cancel.sealed", "job.field.cancel_reason")
@pytest.mark.parametrize(
    ("status", "offer", "unpaid"),
    [
        ("open", {}, False),
        ("open", QUOTE, False),
        ("awaiting_payment", {"payment": "upfront"}, False),
        ("delivered", {}, False),
    ],
)
async def test_a_buyer_stops_before_the_work_and_walks_away_from_a_sealed_delivery(
    trade: Trade, status: str, offer: Any, unpaid: bool
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at(status, seller, buyer, **offer)
    done = await act(trade, buyer, "cancel_job", job, reason="No longer needed.")
    assert (done["status"], done["unpaid"], done["cancel_reason"]) == ("cancelled", unpaid, "No longer needed.")
    assert await act(trade, buyer, "cancel_job", job) == done
    listing = await trade.market.call("get_listing", env="test", listing_id=job["listing_id"])
    assert (listing["stats"]["jobs_failed"], listing["stats"]["jobs_completed"]) == (0, 0), "no mark on anybody"


async def test_m10_a_buyer_leaves_work_that_is_an_hour_late_and_is_owed_the_payment(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("awaiting_payment", seller, buyer, payment="upfront", turnaround_seconds=60)
    await trade.pay(buyer, job)
    trade.market.pass_seconds(60 + 3_599)
    assert "cancel" not in (await trade.seen(buyer, job))["available_actions"]
    trade.market.pass_seconds(1)
    done = await act(trade, buyer, "cancel_job", job)
    assert (done["status"], done["refund_due"], done["refund_expected"]) == ("cancelled", True, PRICE)
    assert (await told(trade, buyer, job))[-2:] == ["job.cancelled", "job.refund_due"]


@covers("state.job.seller_cancel", "state.job.seller_cancel.failed", "state.job.seller_cancel.refund")
@covers("refund.due.seller_cancel", "event.kind.job.refund_due")
async def test_a_seller_that_gives_up_has_failed_and_owes_what_was_paid(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    unpaid = await trade.job_at("in_progress", seller, buyer)
    done = await act(trade, seller, "cancel_job", unpaid)
    assert (done["status"], done["refund_due"]) == ("cancelled", False)
    paid = await trade.failed(seller, buyer)
    assert (paid["status"], paid["refund_due"], paid["refund_expected"]) == ("cancelled", True, PRICE)
    assert (paid["available_actions"], paid["waiting_on"]["action"]) == (["refund", "message"], "refund")
    for job in (unpaid, paid):
        listing = await trade.market.call("get_listing", env="test", listing_id=job["listing_id"])
        assert listing["stats"]["jobs_failed"] == 1
    due = (await trade.market.call("list_events", by=seller, types=["job.refund_due"]))["data"]
    assert [one["data"]["refund_expected"] for one in due] == [PRICE]


@covers("service.2.dispute", "route.jobs.dispute", "state.job.revealed.dispute", "job.status.disputed")
@covers("event.kind.job.disputed")
async def test_a_revealed_delivery_is_disputed_once(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer)
    done = await act(trade, buyer, "dispute_job", job, reason="It is empty.")
    assert (done["status"], done["dispute_reason"]) == ("disputed", "It is empty.")
    assert done["dispute_id"].startswith("dsp_")
    assert await act(trade, buyer, "dispute_job", job, reason="Still empty.") == done
    assert (done["available_actions"], done["waiting_on"]["who"]) == (["withdraw_dispute", "message"], "operator"), (
        "nobody here offers to judge"
    )
    trade.market.pass_seconds(30 * 86_400)
    assert (await trade.seen(seller, job))["status"] == "disputed", "no clock ends it"


@covers("event.kind.job.payment_due")
async def test_what_falls_due_is_told_to_both_once(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    upfront = await trade.job_at("awaiting_payment", seller, buyer, payment="upfront")
    later = await trade.job_at("delivered", seller, buyer)
    for job in (upfront, later):
        for party in (seller, buyer):
            assert (await told(trade, party, job)).count("job.payment_due") == 1
    due = (await trade.market.call("list_events", by=buyer, types=["job.payment_due"]))["data"][0]["data"]
    assert (due["amount"], due["pay_to"], due["pay_from"]) == (PRICE, seller.wallet.address, buyer.wallet.address)


async def test_the_audit_trail_holds_every_step(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    whole = (await act(trade, buyer, "list_job_events", job, limit=100))["data"]
    assert [one["type"] for one in whole] == ["created", "accepted", "delivered", "payment_due", "paid", "completed"]
    assert [one["actor_id"] for one in whole] == [buyer.id, seller.id, seller.id, None, buyer.id, buyer.id]
    pages, cursor = [], {}
    for _ in range(3):
        page = await act(trade, seller, "list_job_events", job, limit=2, **cursor)
        pages += page["data"]
        cursor = {"cursor": page["next_cursor"]}
    assert (pages, page["has_more"]) == (whole, False)
    assert set(whole[0]) == {"object", "id", "type", "actor_id", "data", "created_at"}


@covers("route.listings.delete", "state.listing.archive", "state.listing.archived.no_order")
@covers("state.listing.archived.no_edit", "state.listing.archived.jobs_continue", "route.listings.mine")
async def test_an_archived_listing_is_gone_and_its_jobs_go_on(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listings = [await trade.listing(seller) for _ in range(3)]
    job = await trade.order(buyer, listings[0])
    await trade.market.call("update_listing", by=seller, listing_id=listings[1]["id"], status="paused")
    for listing in listings[:2]:
        gone = await trade.market.call("archive_listing", by=seller, listing_id=listing["id"])
        assert gone["status"] == "archived"
        assert await trade.market.call("archive_listing", by=seller, listing_id=listing["id"]) == gone
    ref = {"listing_id": listings[0]["id"]}
    assert (await trade.market.refusal("get_listing", env="test", **ref))["code"] == "not_found"
    assert (await trade.market.call("get_listing", by=seller, **ref))["status"] == "archived"
    assert (await trade.market.refusal("update_listing", by=seller, **ref, price=1))["code"] == "listing_archived"
    order = {**ref, "input": {"text": "x"}}
    assert (await trade.market.refusal("create_job", by=buyer, **order))["code"] == "listing_unavailable"
    assert (await act(trade, seller, "accept_job", job))["status"] == "in_progress"
    found = (await trade.market.call("search_listings", env="test"))["data"]
    assert [one["id"] for one in found] == [listings[2]["id"]]
    mine = (await trade.market.call("list_my_listings", by=seller))["data"]
    assert {one["id"]: one["status"] for one in mine} == {
        listings[0]["id"]: "archived", listings[1]["id"]: "archived", listings[2]["id"]: "active",
    }  # fmt: skip
    archived = await trade.market.call("list_my_listings", by=seller, status="archived", limit=1)
    assert (len(archived["data"]), archived["has_more"]) == (1, True)
