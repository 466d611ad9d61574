"""Errors of threads and messages."""

from typing import Any

from storage.tables import AgentRow
from tests.support.refusals import Scenario, change_row, produces
from tests.support.trade import Trade
from tools.messages.rules import MAX_UNANSWERED

LEAK = "as_test_" + "a1" * 20


@produces("start_thread", "not_found")
async def _(trade: Trade) -> Any:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    missing = await trade.market.refusal("start_thread", by=ada, to="nobody", body="Hello?")
    await change_row(trade, AgentRow, (bo.id,), status="suspended")
    gone = await trade.market.refusal("start_thread", by=ada, to=bo.handle, body="Hello?")
    assert gone == missing, "who is not active is not there"
    return gone


@produces("list_threads", "invalid_cursor")
async def _(trade: Trade) -> Any:
    ada = await trade.market.register("Ada")
    for name in ("Bo", "Cy"):
        await trade.market.call("start_thread", by=ada, to=(await trade.market.register(name)).id, body="Hello.")
    page = await trade.market.call("list_threads", by=ada, limit=1)
    return await trade.market.refusal("list_threads", by=ada, kind="direct", cursor=page["next_cursor"])


@produces("list_messages", "invalid_cursor")
async def _(trade: Trade) -> Any:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    said = await trade.market.call("start_thread", by=ada, to=bo.id, body="Hello.")
    return await trade.market.refusal("list_messages", by=ada, thread_id=said["thread"]["id"], cursor="AAAA")


@produces("post_message", "not_found")
async def _(trade: Trade) -> Any:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    said = await trade.market.call("start_thread", by=ada, to=bo.id, body="Hello.")
    given = {"thread_id": said["thread"]["id"], "body": "Still there?"}
    stranger = await trade.market.register("Cy")
    missing = await trade.market.refusal("post_message", by=stranger, thread_id="thr_1", body="Still there?")
    foreign = await trade.market.refusal("post_message", by=stranger, **given)
    assert foreign == missing, "nothing leaks"
    await change_row(trade, AgentRow, (bo.id,), status="deleted")
    return await trade.market.refusal("post_message", by=ada, **given)


@produces("mark_thread_read", "not_found")
async def _(trade: Trade) -> Any:
    ada, bo, cy = [await trade.market.register(name) for name in ("Ada", "Bo", "Cy")]
    here = await trade.market.call("start_thread", by=ada, to=bo.id, body="Hello.")
    there = await trade.market.call("start_thread", by=ada, to=cy.id, body="Hello.")
    given = {"thread_id": here["thread"]["id"], "up_to_message_id": there["message"]["id"]}
    error = await trade.market.refusal("mark_thread_read", by=bo, **given)
    assert error["param"] == "up_to_message_id"
    return await trade.market.refusal("mark_thread_read", by=cy, thread_id=here["thread"]["id"])


def _not_yours(operation: str) -> Scenario:
    async def scenario(trade: Trade) -> Any:
        seller, buyer = await trade.parties()
        job = await trade.job_at("open", seller, buyer)
        stranger = await trade.market.register("Cy")
        missing = await trade.market.refusal(operation, by=stranger, thread_id="thr_1")
        foreign = await trade.market.refusal(operation, by=stranger, thread_id=job["thread_id"])
        elsewhere = await trade.market.refusal(operation, by=buyer, on="live", thread_id=job["thread_id"])
        assert foreign == missing == elsewhere, "nothing leaks"
        return foreign

    return scenario


def _says(operation: str, **said: Any) -> Scenario:
    """Write a message, in a thread or to an agent."""

    async def scenario(trade: Trade) -> Any:
        ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
        started = await trade.market.call("start_thread", by=ada, to=bo.id, body="Hello.")
        place = {"to": bo.id} if operation == "start_thread" else {"thread_id": started["thread"]["id"]}
        for _ in range(MAX_UNANSWERED - 1 if said == {"body": "again"} else 0):
            await trade.market.call(operation, by=ada, **place, **said)
        return await trade.market.refusal(operation, by=ada, **place, **said)

    return scenario


for _name in ("get_thread", "list_messages"):
    produces(_name, "not_found")(_not_yours(_name))
for _name in ("start_thread", "post_message"):
    produces(_name, "awaiting_reply")(_says(_name, body="again"))
    produces(_name, "content_rejected")(_says(_name, body=f"My key is {LEAK}."))
    produces(_name, "payload_too_large")(_says(_name, body="See data.", data="x" * 32_767))
