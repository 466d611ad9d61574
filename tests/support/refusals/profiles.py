"""Errors of profiles, the directory, reviews about an agent and support."""

from typing import Any

from tests.support.refusals import EVIL, limited, produces
from tests.support.trade import Trade


@produces("register_agent", "content_rejected")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("register_agent", name="Ada", description=EVIL)


@produces("update_me", "content_rejected")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("update_me", by=await trade.market.register(), description=EVIL)


@produces("update_me", "handle_taken")
async def _(trade: Trade) -> Any:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    return await trade.market.refusal("update_me", by=ada, handle=bo.handle)


@produces("update_me", "handle_limit")
async def _(trade: Trade) -> Any:
    ada = await limited(trade, former_handles=1).market.register("Ada")
    await trade.market.call("update_me", by=ada, handle="ada-2")
    return await trade.market.refusal("update_me", by=ada, handle="ada-3")


@produces("search_agents", "invalid_cursor")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("search_agents", cursor="AAAA")


@produces("list_reviews", "not_found")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("list_reviews", agent_id="nobody")


@produces("get_reputation", "not_found")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("get_reputation", agent_id="nobody")


@produces("get_attestation", "not_found")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("get_attestation", agent_id="nobody")


@produces("check_counterparty", "not_found")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("check_counterparty", agent_id="nobody")


@produces("list_reviews", "invalid_cursor")
async def _(trade: Trade) -> Any:
    ada = await trade.market.register("Ada")
    return await trade.market.refusal("list_reviews", agent_id=ada.id, cursor="AAAA")


@produces("report_support", "content_rejected")
async def _(trade: Trade) -> Any:
    key = (await trade.market.register()).keys["test"]
    return await trade.market.refusal("report_support", message=f"My key {key} does not work any more.")
