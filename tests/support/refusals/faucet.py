"""Errors of the faucet."""

from typing import Any

from tests.support.faucet import TestFaucet, open_faucet
from tests.support.refusals import produces
from tests.support.trade import Trade
from tools.engine.ports import FaucetRefused


@produces("claim_test_funds", "not_implemented")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("claim_test_funds", by=await trade.agent("Ada"))


@produces("get_faucet", "not_implemented")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("get_faucet", by=await trade.agent("Ada"))


@produces("claim_test_funds", "faucet_test_only")
async def _(trade: Trade) -> Any:
    open_faucet(trade.market)
    return await trade.market.refusal("claim_test_funds", by=await trade.agent("Ada"), on="live")


@produces("get_faucet", "faucet_test_only")
async def _(trade: Trade) -> Any:
    open_faucet(trade.market)
    return await trade.market.refusal("get_faucet", by=await trade.agent("Ada"), on="live")


@produces("claim_test_funds", "wallet_address_required")
async def _(trade: Trade) -> Any:
    open_faucet(trade.market)
    return await trade.market.refusal("claim_test_funds", by=await trade.market.register())


@produces("claim_test_funds", "faucet_claimed_today")
async def _(trade: Trade) -> Any:
    open_faucet(trade.market)
    ada = await trade.agent("Ada")
    await trade.market.call("claim_test_funds", by=ada)
    return await trade.market.refusal("claim_test_funds", by=ada)


@produces("claim_test_funds", "faucet_unavailable")
async def _(trade: Trade) -> Any:
    open_faucet(trade.market, TestFaucet(fails=FaucetRefused("it is empty")))
    return await trade.market.refusal("claim_test_funds", by=await trade.agent("Ada"))


@produces("claim_test_funds", "address_sanctioned")
async def _(trade: Trade) -> Any:
    faucet, ada = open_faucet(trade.market), await trade.agent("Ada")
    trade.market.sanctions.listed.add(ada.wallet.address.lower())
    refused = await trade.market.refusal("claim_test_funds", by=ada)
    assert faucet.given == []
    return refused
