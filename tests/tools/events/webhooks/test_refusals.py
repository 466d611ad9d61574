"""The errors that operations of webhooks declare: a call produces each."""

from typing import Any

from tests.requirements import covers
from tests.support.market import Agent
from tests.support.refusals import limited, refusal
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


@refusal
@covers("error.more.webhook_limit")
async def test_create_webhook_webhook_limit(trade: Trade) -> Any:
    agent, _ = await hooked(limited(trade, webhooks=1))
    return await trade.market.refusal("create_webhook", by=agent, url=URL)


@refusal
@covers("error.more.invalid_cursor")
async def test_list_webhooks_invalid_cursor(trade: Trade) -> Any:
    return await trade.market.refusal("list_webhooks", by=await trade.market.register(), cursor="AAAA")


@refusal
async def test_get_webhook_not_found(trade: Trade) -> Any:
    return await strangers(trade, "get_webhook")


@refusal
async def test_update_webhook_not_found(trade: Trade) -> Any:
    return await strangers(trade, "update_webhook", status="disabled")


@refusal
async def test_delete_webhook_not_found(trade: Trade) -> Any:
    return await strangers(trade, "delete_webhook")


@refusal
async def test_list_webhook_deliveries_not_found(trade: Trade) -> Any:
    return await strangers(trade, "list_webhook_deliveries")


@refusal
@covers("error.more.invalid_cursor")
async def test_list_webhook_deliveries_invalid_cursor(trade: Trade) -> Any:
    agent, webhook_id = await hooked(trade)
    return await trade.market.refusal("list_webhook_deliveries", by=agent, webhook_id=webhook_id, cursor="AAAA")


@refusal
async def test_test_webhook_not_found(trade: Trade) -> Any:
    return await strangers(trade, "test_webhook")


@refusal
@covers("error.more.webhook_disabled")
async def test_test_webhook_webhook_disabled(trade: Trade) -> Any:
    agent, webhook_id = await switched_off(trade)
    return await trade.market.refusal("test_webhook", by=agent, webhook_id=webhook_id)


@refusal
async def test_redeliver_webhook_not_found(trade: Trade) -> Any:
    agent, webhook_id = await hooked(trade)
    return await trade.market.refusal("redeliver_webhook", by=agent, webhook_id=webhook_id, delivery_id="dlv_1")


@refusal
@covers("error.more.webhook_disabled")
async def test_redeliver_webhook_webhook_disabled(trade: Trade) -> Any:
    agent, webhook_id = await switched_off(trade)
    return await trade.market.refusal("redeliver_webhook", by=agent, webhook_id=webhook_id, delivery_id="dlv_1")
