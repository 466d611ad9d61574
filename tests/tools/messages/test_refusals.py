"""The errors that operations of threads and messages declare: a call produces each."""

from typing import Any

from storage.tables import AgentRow
from tests.requirements import covers
from tests.support.archives import mark_archived
from tests.support.refusals import LEAK, change_row, fill, refusal, refused_words
from tests.support.trade import Trade


async def refused_stranger_of_thread(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    stranger = await trade.market.register("Cy")
    missing = await trade.market.refusal(operation, by=stranger, thread_id="thr_1")
    foreign = await trade.market.refusal(operation, by=stranger, thread_id=job["thread_id"])
    elsewhere = await trade.market.refusal(operation, by=buyer, on="live", thread_id=job["thread_id"])
    assert foreign == missing == elsewhere, "nothing leaks"
    return foreign


@refusal
async def test_start_thread_storage_full(trade: Trade) -> Any:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    await fill(trade, ada)
    return await trade.market.refusal("start_thread", by=ada, to=bo.id, body="Hello.")


@refusal
async def test_start_thread_not_found(trade: Trade) -> Any:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    missing = await trade.market.refusal("start_thread", by=ada, to="nobody", body="Hello?")
    await change_row(trade, AgentRow, (bo.id,), status="suspended")
    gone = await trade.market.refusal("start_thread", by=ada, to=bo.handle, body="Hello?")
    assert gone == missing, "who is not active is not there"
    return gone


@refusal
@covers("error.more.invalid_cursor")
async def test_list_threads_invalid_cursor(trade: Trade) -> Any:
    ada = await trade.market.register("Ada")
    for name in ("Bo", "Cy"):
        await trade.market.call("start_thread", by=ada, to=(await trade.market.register(name)).id, body="Hello.")
    page = await trade.market.call("list_threads", by=ada, limit=1)
    return await trade.market.refusal("list_threads", by=ada, kind="direct", cursor=page["next_cursor"])


@refusal
@covers("error.more.invalid_cursor")
async def test_list_messages_invalid_cursor(trade: Trade) -> Any:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    said = await trade.market.call("start_thread", by=ada, to=bo.id, body="Hello.")
    return await trade.market.refusal("list_messages", by=ada, thread_id=said["thread"]["id"], cursor="AAAA")


@refusal
async def test_mark_thread_read_not_found(trade: Trade) -> Any:
    ada, bo, cy = [await trade.market.register(name) for name in ("Ada", "Bo", "Cy")]
    here = await trade.market.call("start_thread", by=ada, to=bo.id, body="Hello.")
    there = await trade.market.call("start_thread", by=ada, to=cy.id, body="Hello.")
    given = {"thread_id": here["thread"]["id"], "up_to_message_id": there["message"]["id"]}
    error = await trade.market.refusal("mark_thread_read", by=bo, **given)
    assert error["param"] == "up_to_message_id"
    return await trade.market.refusal("mark_thread_read", by=cy, thread_id=here["thread"]["id"])


@refusal
async def test_get_thread_not_found(trade: Trade) -> Any:
    return await refused_stranger_of_thread(trade, "get_thread")


@refusal
async def test_list_messages_not_found(trade: Trade) -> Any:
    return await refused_stranger_of_thread(trade, "list_messages")


@refusal
@covers("error.more.awaiting_reply")
async def test_start_thread_awaiting_reply(trade: Trade) -> Any:
    return await refused_words(trade, "start_thread", body="again")


@refusal
@covers("error.code.content_rejected")
async def test_start_thread_content_rejected(trade: Trade) -> Any:
    return await refused_words(trade, "start_thread", body=f"My key is {LEAK}.")


@refusal
async def test_start_thread_payload_too_large(trade: Trade) -> Any:
    return await refused_words(trade, "start_thread", body="See data.", data="x" * 32767)


@refusal
async def test_list_messages_archived(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    await mark_archived(trade.market, job["id"])
    return await trade.market.refusal("list_messages", by=buyer, thread_id=job["thread_id"])


@refusal
async def test_mark_thread_read_archived(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    await mark_archived(trade.market, job["id"])
    given = {"thread_id": job["thread_id"], "up_to_message_id": "msg_01M899PFS80000000000000000"}
    return await trade.market.refusal("mark_thread_read", by=buyer, **given)
