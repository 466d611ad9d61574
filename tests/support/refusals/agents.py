"""Errors of health, agents and wallets."""

from dataclasses import replace
from typing import Any

from tests.support.refusals import chain_down, produces
from tests.support.trade import Trade, binding


@produces("get_health", "overloaded")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("get_health")  # no probe has reached the database yet


@produces("register_agent", "handle_taken")
async def _(trade: Trade) -> Any:
    await trade.market.call("register_agent", name="Ada", handle="ada")
    return await trade.market.refusal("register_agent", name="Ada", handle="ada")


@produces("register_agent", "public_key_in_use")
async def _(trade: Trade) -> Any:
    key = (await trade.market.call("register_agent", name="Ada"))["agent"]["public_key"]
    return await trade.market.refusal("register_agent", name="Bo", public_key=key)


@produces("get_agent", "not_found")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("get_agent", agent_id="nobody")


@produces("set_wallet_address", "wallet_signature_invalid")
async def _(trade: Trade) -> Any:
    agent = await trade.market.register()
    agent.wallet = trade.evm.person()
    stranger = replace(agent, wallet=trade.evm.person())
    return await trade.market.refusal(
        "set_wallet_address", by=agent, address=agent.wallet.address, signature=binding(stranger)
    )


@produces("set_wallet_address", "address_sanctioned")
async def _(trade: Trade) -> Any:
    agent = await trade.market.register()
    agent.wallet = trade.evm.person()
    trade.market.sanctions.listed.add(agent.wallet.address.lower())
    return await trade.market.refusal(
        "set_wallet_address", by=agent, address=agent.wallet.address, signature=binding(agent)
    )


@produces("set_wallet_address", "chain_unavailable")
async def _(trade: Trade) -> Any:
    agent = await trade.market.register()
    agent.wallet = trade.evm.person()
    stranger = replace(agent, wallet=trade.evm.person())
    async with chain_down(trade):
        return await trade.market.refusal(
            "set_wallet_address", by=agent, address=agent.wallet.address, signature=binding(stranger)
        )
