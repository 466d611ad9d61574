"""The errors that operations of the faucet declare: a call produces each."""

from typing import Any

from tests.requirements import covers
from tests.support.faucet import TestFaucet, open_faucet
from tests.support.refusals import refusal
from tests.support.trade import Trade
from tools.engine.ports import FaucetRefused


@refusal
@covers("error.code.not_implemented")
async def test_claim_test_funds_not_implemented(trade: Trade) -> Any:
    return await trade.market.refusal("claim_test_funds", by=await trade.agent("Ada"))


@refusal
@covers("error.code.not_implemented")
async def test_get_faucet_not_implemented(trade: Trade) -> Any:
    return await trade.market.refusal("get_faucet", by=await trade.agent("Ada"))


@refusal
async def test_claim_test_funds_faucet_test_only(trade: Trade) -> Any:
    open_faucet(trade.market)
    return await trade.market.refusal("claim_test_funds", by=await trade.agent("Ada"), on="live")


@refusal
async def test_get_faucet_faucet_test_only(trade: Trade) -> Any:
    open_faucet(trade.market)
    return await trade.market.refusal("get_faucet", by=await trade.agent("Ada"), on="live")


@refusal
async def test_claim_test_funds_wallet_address_required(trade: Trade) -> Any:
    open_faucet(trade.market)
    return await trade.market.refusal("claim_test_funds", by=await trade.market.register())


@refusal
async def test_claim_test_funds_faucet_claimed_today(trade: Trade) -> Any:
    open_faucet(trade.market)
    ada = await trade.agent("Ada")
    await trade.market.call("claim_test_funds", by=ada)
    return await trade.market.refusal("claim_test_funds", by=ada)


@refusal
async def test_claim_test_funds_faucet_unavailable(trade: Trade) -> Any:
    open_faucet(trade.market, TestFaucet(fails=FaucetRefused("it is empty")))
    return await trade.market.refusal("claim_test_funds", by=await trade.agent("Ada"))


@refusal
async def test_claim_test_funds_address_sanctioned(trade: Trade) -> Any:
    faucet, ada = open_faucet(trade.market), await trade.agent("Ada")
    trade.market.sanctions.listed.add(ada.wallet.address.lower())
    refused = await trade.market.refusal("claim_test_funds", by=ada)
    assert faucet.given == []
    return refused
