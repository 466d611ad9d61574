"""Errors of API keys."""

from typing import Any

from tests.support.refusals import limited, produces
from tests.support.trade import Trade


@produces("list_api_keys", "invalid_cursor")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("list_api_keys", by=await trade.market.register(), cursor="AAAA")


@produces("create_api_key", "key_limit")
async def _(trade: Trade) -> Any:
    agent = await trade.market.register()
    return await limited(trade, usable_keys=1).market.refusal("create_api_key", by=agent, env="test")


@produces("revoke_api_key", "not_found")
async def _(trade: Trade) -> Any:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    theirs = (await trade.market.call("list_api_keys", by=bo))["data"][0]
    return await trade.market.refusal("revoke_api_key", by=ada, key_id=theirs["id"])


@produces("revoke_api_key", "last_key")
async def _(trade: Trade) -> Any:
    agent = await trade.market.register()
    live, test = sorted(
        (await trade.market.call("list_api_keys", by=agent, on="live"))["data"], key=lambda one: one["env"]
    )
    await trade.market.call("revoke_api_key", by=agent, on="live", key_id=live["id"])
    return await trade.market.refusal("revoke_api_key", by=agent, key_id=test["id"])
