"""The errors that operations of schedules declare: a call produces each."""

from typing import Any

from tests.requirements import covers
from tests.support.market import Agent
from tests.support.refusals import fill, refusal
from tests.support.trade import Trade
from tools.events.schedules.operations import MAX_ACTIVE


async def full(trade: Trade) -> tuple[Agent, str]:
    """Return an agent at its limit of active schedules, and the id of a paused one."""
    ada = await trade.market.register()
    paused = await trade.market.call("create_schedule", by=ada, in_seconds=60)
    await trade.market.call("update_schedule", by=ada, schedule_id=paused["id"], status="paused")
    for _ in range(MAX_ACTIVE):
        await trade.market.call("create_schedule", by=ada, in_seconds=60)
    return ada, paused["id"]


async def refused_stranger_of_schedule(trade: Trade, operation: str, **given: Any) -> Any:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    made = await trade.market.call("create_schedule", by=ada, in_seconds=60)
    missing = await trade.market.refusal(operation, by=bo, schedule_id="sch_1", **given)
    foreign = await trade.market.refusal(operation, by=bo, schedule_id=made["id"], **given)
    elsewhere = await trade.market.refusal(operation, by=ada, on="live", schedule_id=made["id"], **given)
    assert foreign == missing == elsewhere, "nothing leaks"
    return foreign


@refusal
async def test_create_schedule_storage_full(trade: Trade) -> Any:
    ada = await trade.market.register()
    await fill(trade, ada)
    return await trade.market.refusal("create_schedule", by=ada, in_seconds=60, payload="x")


@refusal
@covers("error.more.schedule_limit")
async def test_create_schedule_schedule_limit(trade: Trade) -> Any:
    ada, _ = await full(trade)
    await trade.market.call("create_schedule", by=ada, on="live", in_seconds=60)
    return await trade.market.refusal("create_schedule", by=ada, in_seconds=60)


@refusal
@covers("error.more.schedule_limit")
async def test_update_schedule_schedule_limit(trade: Trade) -> Any:
    ada, paused = await full(trade)
    return await trade.market.refusal("update_schedule", by=ada, schedule_id=paused, status="active")


@refusal
async def test_create_schedule_payload_too_large(trade: Trade) -> Any:
    ada = await trade.market.register()
    return await trade.market.refusal("create_schedule", by=ada, in_seconds=1, payload="x" * 16_383)


@refusal
@covers("error.more.invalid_cursor")
async def test_list_schedules_invalid_cursor(trade: Trade) -> Any:
    return await trade.market.refusal("list_schedules", by=await trade.market.register(), cursor="AAAA")


@refusal
@covers("error.more.schedule_done")
async def test_update_schedule_schedule_done(trade: Trade) -> Any:
    ada = await trade.market.register()
    made = await trade.market.call("create_schedule", by=ada, in_seconds=0)
    await trade.market.workers.fire_schedules()
    return await trade.market.refusal("update_schedule", by=ada, schedule_id=made["id"], status="paused")


@refusal
async def test_get_schedule_not_found(trade: Trade) -> Any:
    return await refused_stranger_of_schedule(trade, "get_schedule")


@refusal
async def test_update_schedule_not_found(trade: Trade) -> Any:
    return await refused_stranger_of_schedule(trade, "update_schedule", status="paused")


@refusal
async def test_delete_schedule_not_found(trade: Trade) -> Any:
    return await refused_stranger_of_schedule(trade, "delete_schedule")
