"""Errors of schedules."""

from typing import Any

from tests.support.market import Agent
from tests.support.refusals import Scenario, produces
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


@produces("create_schedule", "schedule_limit")
async def _(trade: Trade) -> Any:
    ada, _ = await full(trade)
    await trade.market.call("create_schedule", by=ada, on="live", in_seconds=60)
    return await trade.market.refusal("create_schedule", by=ada, in_seconds=60)


@produces("update_schedule", "schedule_limit")
async def _(trade: Trade) -> Any:
    ada, paused = await full(trade)
    return await trade.market.refusal("update_schedule", by=ada, schedule_id=paused, status="active")


@produces("create_schedule", "payload_too_large")
async def _(trade: Trade) -> Any:
    ada = await trade.market.register()
    return await trade.market.refusal("create_schedule", by=ada, in_seconds=1, payload="x" * 16_383)


@produces("list_schedules", "invalid_cursor")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("list_schedules", by=await trade.market.register(), cursor="AAAA")


@produces("update_schedule", "schedule_done")
async def _(trade: Trade) -> Any:
    ada = await trade.market.register()
    made = await trade.market.call("create_schedule", by=ada, in_seconds=0)
    await trade.market.workers.fire_schedules()
    return await trade.market.refusal("update_schedule", by=ada, schedule_id=made["id"], status="paused")


def _not_yours(operation: str, **given: Any) -> Scenario:
    async def scenario(trade: Trade) -> Any:
        ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
        made = await trade.market.call("create_schedule", by=ada, in_seconds=60)
        missing = await trade.market.refusal(operation, by=bo, schedule_id="sch_1", **given)
        foreign = await trade.market.refusal(operation, by=bo, schedule_id=made["id"], **given)
        elsewhere = await trade.market.refusal(operation, by=ada, on="live", schedule_id=made["id"], **given)
        assert foreign == missing == elsewhere, "nothing leaks"
        return foreign

    return scenario


for _name, _given in {"get_schedule": {}, "update_schedule": {"status": "paused"}, "delete_schedule": {}}.items():
    produces(_name, "not_found")(_not_yours(_name, **_given))
