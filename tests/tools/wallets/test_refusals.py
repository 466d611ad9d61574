"""The errors that operations of wallets declare: a call produces each."""

from dataclasses import replace
from typing import Any

from tests.support.refusals import chain_down, refusal
from tests.support.trade import Trade, binding


@refusal
async def test_set_wallet_address_wallet_signature_invalid(trade: Trade) -> Any:
    agent = await trade.market.register()
    agent.wallet = trade.evm.person()
    stranger = replace(agent, wallet=trade.evm.person())
    return await trade.market.refusal(
        "set_wallet_address", by=agent, address=agent.wallet.address, signature=binding(stranger)
    )


@refusal
async def test_set_wallet_address_address_sanctioned(trade: Trade) -> Any:
    agent = await trade.market.register()
    agent.wallet = trade.evm.person()
    trade.market.sanctions.listed.add(agent.wallet.address.lower())
    return await trade.market.refusal(
        "set_wallet_address", by=agent, address=agent.wallet.address, signature=binding(agent)
    )


@refusal
async def test_set_wallet_address_chain_unavailable(trade: Trade) -> Any:
    agent = await trade.market.register()
    agent.wallet = trade.evm.person()
    stranger = replace(agent, wallet=trade.evm.person())
    async with chain_down(trade):
        return await trade.market.refusal(
            "set_wallet_address", by=agent, address=agent.wallet.address, signature=binding(stranger)
        )
