"""Errors of webhooks."""

from typing import Any

from tests.support.market import Agent
from tests.support.refusals import limited, produces
from tests.support.trade import Trade

URL = "https://agent.example/hook"


async def hooked(trade: Trade) -> tuple[Agent, str]:
    """Return an agent and the id of its webhook."""
    agent = await trade.market.register("Ada")
    return agent, (await trade.market.call("create_webhook", by=agent, url=URL))["id"]


async def switched_off(trade: Trade) -> tuple[Agent, str]:
    agent, webhook_id = await hooked(trade)
    await trade.market.call("update_webhook", by=agent, webhook_id=webhook_id, status="disabled")
    return agent, webhook_id


async def strangers(trade: Trade, operation: str, **given: Any) -> Any:
    """Return the error of a call on another agent's webhook."""
    _, webhook_id = await hooked(trade)
    stranger = await trade.market.register("Bo")
    return await trade.market.refusal(operation, by=stranger, webhook_id=webhook_id, **given)


@produces("create_webhook", "webhook_limit")
async def _(trade: Trade) -> Any:
    agent, _ = await hooked(limited(trade, webhooks=1))
    return await trade.market.refusal("create_webhook", by=agent, url=URL)


@produces("list_webhooks", "invalid_cursor")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("list_webhooks", by=await trade.market.register(), cursor="AAAA")


@produces("get_webhook", "not_found")
async def _(trade: Trade) -> Any:
    return await strangers(trade, "get_webhook")


@produces("update_webhook", "not_found")
async def _(trade: Trade) -> Any:
    return await strangers(trade, "update_webhook", status="disabled")


@produces("delete_webhook", "not_found")
async def _(trade: Trade) -> Any:
    return await strangers(trade, "delete_webhook")


@produces("list_webhook_deliveries", "not_found")
async def _(trade: Trade) -> Any:
    return await strangers(trade, "list_webhook_deliveries")


@produces("list_webhook_deliveries", "invalid_cursor")
async def _(trade: Trade) -> Any:
    agent, webhook_id = await hooked(trade)
    return await trade.market.refusal("list_webhook_deliveries", by=agent, webhook_id=webhook_id, cursor="AAAA")


@produces("test_webhook", "not_found")
async def _(trade: Trade) -> Any:
    return await strangers(trade, "test_webhook")


@produces("test_webhook", "webhook_disabled")
async def _(trade: Trade) -> Any:
    agent, webhook_id = await switched_off(trade)
    return await trade.market.refusal("test_webhook", by=agent, webhook_id=webhook_id)


@produces("redeliver_webhook", "not_found")
async def _(trade: Trade) -> Any:
    agent, webhook_id = await hooked(trade)
    return await trade.market.refusal("redeliver_webhook", by=agent, webhook_id=webhook_id, delivery_id="dlv_1")


@produces("redeliver_webhook", "webhook_disabled")
async def _(trade: Trade) -> Any:
    agent, webhook_id = await switched_off(trade)
    return await trade.market.refusal("redeliver_webhook", by=agent, webhook_id=webhook_id, delivery_id="dlv_1")
