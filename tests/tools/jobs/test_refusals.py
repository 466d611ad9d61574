"""The errors that operations of jobs declare: a call produces each."""

from typing import Any

from storage.tables import AgentRow
from tests.requirements import covers
from tests.support.archives import mark_archived
from tests.support.refusals import (
    COSTLY,
    LEAK,
    LONG,
    change_row,
    fill,
    forget_wallet,
    limited,
    live_agent,
    refusal,
    refused_order,
    refused_stranger,
    refused_words,
)
from tests.support.trade import OFFER, Trade

QUOTED = {"pricing_model": "quote", "price": None}


async def order_not_found(trade: Trade, operation: str) -> Any:
    return await trade.market.refusal(operation, by=await trade.market.register(), listing_id="lst_1", input={})


async def order_listing_unavailable(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    await trade.market.call("update_listing", by=seller, listing_id=listing["id"], status="paused")
    return await refused_order(trade, operation, buyer, listing)


async def order_input_schema_mismatch(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    error = await refused_order(trade, operation, buyer, await trade.listing(seller), input={"text": 5, "x": "y" * 10})
    assert [one["param"] for one in error["details"]["violations"]] == ["input/text"]
    return error


async def order_payload_too_large(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, input_schema=None, example_input=None)
    return await refused_order(trade, operation, buyer, listing, input={"text": "x" * 524_288})


async def order_content_rejected(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    return await refused_order(trade, operation, buyer, await trade.listing(seller), input={"text": buyer.keys["test"]})


async def order_seller_busy(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, max_open_jobs=1)
    await trade.order(buyer, listing)
    return await refused_order(trade, operation, await trade.agent("Cy"), listing)


async def order_job_limit(trade: Trade, operation: str) -> Any:
    seller, buyer = await limited(trade, unfinished_jobs=1).parties()
    await trade.known(buyer)
    listing = await trade.listing(seller)
    await trade.order(buyer, listing)
    return await refused_order(trade, operation, buyer, listing)


async def order_first_party_self_dealing(trade: Trade, operation: str) -> Any:
    seller, buyer = await live_agent(trade, "Sela"), await live_agent(trade, "Bo")
    for agent in (seller, buyer):
        await change_row(trade, AgentRow, (agent.id,), first_party=True)
    listing = await trade.market.call("create_listing", by=seller, on="live", **OFFER)
    order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
    return await trade.market.refusal(operation, by=buyer, on="live", **order)


async def order_schema_too_expensive(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, input_schema=COSTLY, example_input=None)
    return await refused_order(trade, operation, buyer, listing, input=LONG)


async def refused_now(trade: Trade, operation: str, status: str, by_buyer: bool, **given: Any) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at(status, seller, buyer)
    error = await trade.market.refusal(operation, by=buyer if by_buyer else seller, job_id=job["id"], **given)
    assert error["details"]["status"] == job["status"]
    return error


async def refused_secret(trade: Trade, operation: str, status: str, by_buyer: bool, field: str, **given: Any) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at(status, seller, buyer)
    said = {field: f"my key is {seller.keys['live']}"} | given
    return await trade.market.refusal(operation, by=buyer if by_buyer else seller, job_id=job["id"], **said)


async def order_storage_full(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    limit = await fill(trade, buyer, left=5)
    error = await refused_order(trade, operation, buyer, listing)
    assert (error["details"]["used"], error["details"]["limit"]) == (limit - 5, limit)
    return error


async def order_reference_reused(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    job = await trade.order(buyer, listing, reference="row-7")
    error = await refused_order(trade, operation, buyer, listing, reference="row-7", input={"text": "gute Nacht"})
    assert error["details"]["job_id"] == job["id"]
    return error


async def order_price_above_max(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    return await refused_order(trade, operation, buyer, await trade.listing(seller), max_price=1)


@refusal
async def test_create_job_not_found(trade: Trade) -> Any:
    return await order_not_found(trade, "create_job")


@refusal
async def test_hire_not_found(trade: Trade) -> Any:
    return await order_not_found(trade, "hire")


@refusal
@covers("error.more.listing_unavailable")
async def test_create_job_listing_unavailable(trade: Trade) -> Any:
    return await order_listing_unavailable(trade, "create_job")


@refusal
@covers("error.more.listing_unavailable")
async def test_hire_listing_unavailable(trade: Trade) -> Any:
    return await order_listing_unavailable(trade, "hire")


@refusal
@covers("error.more.input_schema_mismatch")
async def test_create_job_input_schema_mismatch(trade: Trade) -> Any:
    return await order_input_schema_mismatch(trade, "create_job")


@refusal
@covers("error.more.input_schema_mismatch")
async def test_hire_input_schema_mismatch(trade: Trade) -> Any:
    return await order_input_schema_mismatch(trade, "hire")


@refusal
async def test_create_job_payload_too_large(trade: Trade) -> Any:
    return await order_payload_too_large(trade, "create_job")


@refusal
async def test_hire_payload_too_large(trade: Trade) -> Any:
    return await order_payload_too_large(trade, "hire")


@refusal
@covers("error.code.content_rejected")
async def test_create_job_content_rejected(trade: Trade) -> Any:
    return await order_content_rejected(trade, "create_job")


@refusal
@covers("error.code.content_rejected")
async def test_hire_content_rejected(trade: Trade) -> Any:
    return await order_content_rejected(trade, "hire")


@refusal
@covers("error.more.seller_busy")
async def test_create_job_seller_busy(trade: Trade) -> Any:
    return await order_seller_busy(trade, "create_job")


@refusal
@covers("error.more.seller_busy")
async def test_hire_seller_busy(trade: Trade) -> Any:
    return await order_seller_busy(trade, "hire")


@refusal
@covers("error.more.job_limit")
async def test_create_job_job_limit(trade: Trade) -> Any:
    return await order_job_limit(trade, "create_job")


@refusal
@covers("error.more.job_limit")
async def test_hire_job_limit(trade: Trade) -> Any:
    return await order_job_limit(trade, "hire")


@refusal
@covers("error.code.first_party_self_dealing", "invariant.8.self_dealing")
async def test_create_job_first_party_self_dealing(trade: Trade) -> Any:
    return await order_first_party_self_dealing(trade, "create_job")


@refusal
@covers("error.code.first_party_self_dealing", "invariant.8.self_dealing")
async def test_hire_first_party_self_dealing(trade: Trade) -> Any:
    return await order_first_party_self_dealing(trade, "hire")


@refusal
async def test_create_job_reference_reused(trade: Trade) -> Any:
    return await order_reference_reused(trade, "create_job")


@refusal
async def test_hire_reference_reused(trade: Trade) -> Any:
    return await order_reference_reused(trade, "hire")


@refusal
async def test_create_job_price_above_max(trade: Trade) -> Any:
    return await order_price_above_max(trade, "create_job")


@refusal
async def test_hire_price_above_max(trade: Trade) -> Any:
    return await order_price_above_max(trade, "hire")


@refusal
@covers("error.more.invalid_cursor")
async def test_list_jobs_invalid_cursor(trade: Trade) -> Any:
    return await trade.market.refusal("list_jobs", by=await trade.market.register(), cursor="AAAA")


@refusal
async def test_accept_job_wallet_address_required(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer, payment="upfront")
    await forget_wallet(trade, seller)
    return await trade.market.refusal("accept_job", by=seller, job_id=job["id"])


@refusal
async def test_accept_job_invalid_transition(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    error = await trade.market.refusal("accept_job", by=buyer, job_id=job["id"])
    assert error["details"] == {"status": "open", "available_actions": ["cancel", "message"]}
    return error


@refusal
async def test_deliver_job_invalid_transition(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    return await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output={"english": "other"})


@refusal
async def test_deliver_job_output_schema_mismatch(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    error = await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output={})
    assert error["details"]["code"] == "output_schema_mismatch"
    return error


@refusal
async def test_deliver_job_acceptance_failed(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    rule = {"name": "long", "kind": "min_length", "path": "/english", "value": 99}
    job = await trade.job_at("in_progress", seller, buyer, acceptance=[rule], example_output=None)
    return await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output={"english": "short"})


@refusal
async def test_deliver_job_payload_too_large(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    given = {"job_id": job["id"], "output": {"english": "x"}, "preview": "p" * 4095}
    return await trade.market.refusal("deliver_job", by=seller, **given)


@refusal
@covers("error.code.content_rejected")
async def test_deliver_job_content_rejected(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    return await trade.market.refusal(
        "deliver_job", by=seller, job_id=job["id"], output={"english": "ok"}, message=seller.keys["test"]
    )


@refusal
async def test_deliver_job_wallet_address_required(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    await forget_wallet(trade, seller)
    return await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output={"english": "ok"})


@refusal
@covers("error.more.job_not_settled")
async def test_review_job_job_not_settled(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    error = await trade.market.refusal("review_job", by=buyer, job_id=job["id"], rating=5)
    assert error["hint"].startswith("You can review once the job is completed or resolved")
    return error


@refusal
@covers("error.more.already_reviewed")
async def test_review_job_already_reviewed(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer, price=0)
    await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=5)
    return await trade.market.refusal("review_job", by=buyer, job_id=job["id"], rating=4)


@refusal
@covers("error.code.content_rejected")
async def test_review_job_content_rejected(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer, price=0)
    return await trade.market.refusal("review_job", by=buyer, job_id=job["id"], rating=5, comment=buyer.keys["live"])


@refusal
async def test_get_job_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "get_job")


@refusal
async def test_accept_job_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "accept_job")


@refusal
async def test_deliver_job_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "deliver_job", output={})


@refusal
async def test_review_job_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "review_job", rating=5)


@refusal
async def test_get_receipt_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "get_receipt")


@refusal
async def test_decline_job_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "decline_job")


@refusal
async def test_quote_job_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "quote_job", price=5)


@refusal
async def test_accept_quote_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "accept_quote")


@refusal
async def test_request_revision_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "request_revision", message="Shorter.")


@refusal
async def test_cancel_job_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "cancel_job")


@refusal
async def test_dispute_job_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "dispute_job", reason="Empty.")


@refusal
async def test_list_job_events_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "list_job_events")


@refusal
async def test_get_delivery_not_found(trade: Trade) -> Any:
    return await refused_stranger(trade, "get_delivery", revision=0)


@refusal
async def test_create_job_schema_too_expensive(trade: Trade) -> Any:
    return await order_schema_too_expensive(trade, "create_job")


@refusal
async def test_hire_schema_too_expensive(trade: Trade) -> Any:
    return await order_schema_too_expensive(trade, "hire")


@refusal
async def test_deliver_job_schema_too_expensive(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer, output_schema=COSTLY, example_output=None)
    return await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output=LONG)


@refusal
async def test_accept_quote_seller_has_no_wallet_address(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer, **QUOTED, payment="upfront")
    await trade.market.call("quote_job", by=seller, job_id=job["id"], price=5)
    await forget_wallet(trade, seller)
    return await trade.market.refusal("accept_quote", by=buyer, job_id=job["id"])


@refusal
async def test_accept_quote_quote_changed(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer, **QUOTED)
    for price in (5, 50):
        await trade.market.call("quote_job", by=seller, job_id=job["id"], price=price)
    return await trade.market.refusal("accept_quote", by=buyer, job_id=job["id"], price=5)


@refusal
async def test_accept_quote_price_above_max(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.order(buyer, await trade.listing(seller, **QUOTED), max_price=4)
    await trade.market.call("quote_job", by=seller, job_id=job["id"], price=5)
    return await trade.market.refusal("accept_quote", by=buyer, job_id=job["id"])


@refusal
@covers("error.more.invalid_cursor")
async def test_list_job_events_invalid_cursor(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    return await trade.market.refusal("list_job_events", by=buyer, job_id=job["id"], cursor="AAAA")


@refusal
async def test_decline_job_invalid_transition(trade: Trade) -> Any:
    return await refused_now(trade, "decline_job", "in_progress", False)


@refusal
async def test_quote_job_invalid_transition(trade: Trade) -> Any:
    return await refused_now(trade, "quote_job", "open", False, price=5)


@refusal
async def test_accept_quote_invalid_transition(trade: Trade) -> Any:
    return await refused_now(trade, "accept_quote", "open", True)


@refusal
async def test_request_revision_invalid_transition(trade: Trade) -> Any:
    return await refused_now(trade, "request_revision", "delivered", True, message="Shorter.")


@refusal
async def test_cancel_job_invalid_transition(trade: Trade) -> Any:
    return await refused_now(trade, "cancel_job", "completed", False)


@refusal
async def test_dispute_job_invalid_transition(trade: Trade) -> Any:
    return await refused_now(trade, "dispute_job", "delivered", True, reason="Empty.")


@refusal
@covers("error.code.content_rejected")
async def test_decline_job_content_rejected(trade: Trade) -> Any:
    return await refused_secret(trade, "decline_job", "open", False, "reason")


@refusal
@covers("error.code.content_rejected")
async def test_quote_job_content_rejected(trade: Trade) -> Any:
    return await refused_secret(trade, "quote_job", "open", False, "message", price=5)


@refusal
@covers("error.code.content_rejected")
async def test_request_revision_content_rejected(trade: Trade) -> Any:
    return await refused_secret(trade, "request_revision", "revealed", True, "message")


@refusal
@covers("error.code.content_rejected")
async def test_cancel_job_content_rejected(trade: Trade) -> Any:
    return await refused_secret(trade, "cancel_job", "open", True, "reason")


@refusal
@covers("error.code.content_rejected")
async def test_dispute_job_content_rejected(trade: Trade) -> Any:
    return await refused_secret(trade, "dispute_job", "revealed", True, "reason")


@refusal
async def test_verify_receipt_payload_too_large(trade: Trade) -> Any:
    big = {"text": "x" * 70_000}
    return await trade.market.refusal("verify_receipt", receipt=big, signature={"kid": "k", "sig": "00"})


@refusal
async def test_create_job_storage_full(trade: Trade) -> Any:
    return await order_storage_full(trade, "create_job")


@refusal
async def test_hire_storage_full(trade: Trade) -> Any:
    return await order_storage_full(trade, "hire")


@refusal
async def test_accept_job_storage_full(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await fill(trade, seller, left=2**20 - 1)
    return await trade.market.refusal("accept_job", by=seller, job_id=job["id"])


@refusal
async def test_deliver_job_storage_full(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await fill(trade, seller, left=2**20 - 1)
    return await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output={"english": "good day"})


@refusal
async def test_quote_job_storage_full(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer, pricing_model="quote", price=None)
    await fill(trade, seller)
    return await trade.market.refusal("quote_job", by=seller, job_id=job["id"], price=5, message="Cheap.")


@refusal
async def test_post_message_storage_full(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    await fill(trade, seller)
    return await trade.market.refusal("post_message", by=seller, thread_id=job["thread_id"], body="Soon.")


@refusal
async def test_post_message_not_found(trade: Trade) -> Any:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    said = await trade.market.call("start_thread", by=ada, to=bo.id, body="Hello.")
    given = {"thread_id": said["thread"]["id"], "body": "Still there?"}
    stranger = await trade.market.register("Cy")
    missing = await trade.market.refusal("post_message", by=stranger, thread_id="thr_1", body="Still there?")
    foreign = await trade.market.refusal("post_message", by=stranger, **given)
    assert foreign == missing, "nothing leaks"
    await change_row(trade, AgentRow, (bo.id,), status="deleted")
    return await trade.market.refusal("post_message", by=ada, **given)


@refusal
@covers("error.more.awaiting_reply")
async def test_post_message_awaiting_reply(trade: Trade) -> Any:
    return await refused_words(trade, "post_message", body="again")


@refusal
@covers("error.code.content_rejected")
async def test_post_message_content_rejected(trade: Trade) -> Any:
    return await refused_words(trade, "post_message", body=f"My key is {LEAK}.")


@refusal
async def test_post_message_payload_too_large(trade: Trade) -> Any:
    return await refused_words(trade, "post_message", body="See data.", data="x" * 32767)


@refusal
async def test_accept_job_taken(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await trade.market.call("accept_job", by=seller, job_id=job["id"], worker="w-1")
    return await trade.market.refusal("accept_job", by=seller, job_id=job["id"], worker="w-2")


@refusal
async def test_deliver_job_taken(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await trade.market.call("accept_job", by=seller, job_id=job["id"], worker="w-1")
    work = {"job_id": job["id"], "output": {"english": "good day"}}
    return await trade.market.refusal("deliver_job", by=seller, worker="w-2", **work)


@refusal
async def test_cancel_job_fault_not_allowed(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    return await trade.market.refusal("cancel_job", by=seller, job_id=job["id"], fault="input")


async def refused_archived(trade: Trade, operation: str, **given: Any) -> Any:
    """Call an operation about the thread or the job of an archived job."""
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    await mark_archived(trade.market, job["id"])
    place = {"thread_id": job["thread_id"]} if operation == "post_message" else {"job_id": job["id"]}
    return await trade.market.refusal(operation, by=buyer, **place, **given)


@refusal
async def test_list_job_events_archived(trade: Trade) -> Any:
    return await refused_archived(trade, "list_job_events")


@refusal
async def test_get_delivery_archived(trade: Trade) -> Any:
    return await refused_archived(trade, "get_delivery", revision=0)


@refusal
async def test_post_message_archived(trade: Trade) -> Any:
    return await refused_archived(trade, "post_message", body="Do you remember?")


async def order_archived(trade: Trade, operation: str) -> Any:
    """Repeat the order of an archived job, by its reference."""
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, price=0)
    order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}, "reference": "order-7"}
    job = await trade.market.call("create_job", by=buyer, **order)
    await trade.market.call("decline_job", by=seller, job_id=job["id"])
    await mark_archived(trade.market, job["id"])
    return await trade.market.refusal(operation, by=buyer, **order)


@refusal
async def test_create_job_archived(trade: Trade) -> Any:
    return await order_archived(trade, "create_job")


@refusal
async def test_hire_archived(trade: Trade) -> Any:
    return await order_archived(trade, "hire")
