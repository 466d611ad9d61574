"""The errors that operations of API keys declare: a call produces each."""

from typing import Any

from tests.requirements import covers
from tests.support.refusals import limited, refusal
from tests.support.trade import Trade


@refusal
@covers("error.more.invalid_cursor")
async def test_list_api_keys_invalid_cursor(trade: Trade) -> Any:
    return await trade.market.refusal("list_api_keys", by=await trade.market.register(), cursor="AAAA")


@refusal
@covers("error.more.key_limit")
async def test_create_api_key_key_limit(trade: Trade) -> Any:
    agent = await trade.market.register()
    return await limited(trade, usable_keys=1).market.refusal("create_api_key", by=agent, env="test")


@refusal
async def test_revoke_api_key_not_found(trade: Trade) -> Any:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    theirs = (await trade.market.call("list_api_keys", by=bo))["data"][0]
    return await trade.market.refusal("revoke_api_key", by=ada, key_id=theirs["id"])


@refusal
@covers("error.code.last_key")
async def test_revoke_api_key_last_key(trade: Trade) -> Any:
    agent = await trade.market.register()
    live, test = sorted(
        (await trade.market.call("list_api_keys", by=agent, on="live"))["data"], key=lambda one: one["env"]
    )
    await trade.market.call("revoke_api_key", by=agent, on="live", key_id=live["id"])
    return await trade.market.refusal("revoke_api_key", by=agent, key_id=test["id"])
