"""The errors that operations of on-chain identities declare: a call produces each."""

from typing import Any

from storage.tables import IdentityRow
from tests.support.proofs import Registry, own_file
from tests.support.refusals import chain_down, refusal
from tests.support.trade import Trade


async def linked_on_live(trade: Trade) -> Any:
    """Return an agent with a link to a live identity, made by rows: there is no live chain here."""
    ada, at = await trade.market.register(), trade.market.clock.now()
    row = IdentityRow(agent_id=ada.id, env="live", token="7", owner="0x" + "1" * 40, verified_at=at, check_at=at)
    await trade.market.store.write(lambda tx: tx.add(row))
    return ada


@refusal
async def test_link_erc8004_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("link_erc8004", by=await trade.market.register(), agent_id=str(2**256 - 1))


@refusal
async def test_link_erc8004_chain_unavailable(trade: Trade) -> Any:
    ada = await trade.market.register()
    async with chain_down(trade):
        return await trade.market.refusal("link_erc8004", by=ada, agent_id=0)


@refusal
async def test_link_erc8004_erc8004_uri_mismatch(trade: Trade) -> Any:
    ada = await trade.agent("Ada")
    token = Registry(trade.evm).register(ada.wallet, "https://ada.example/agent.json")
    return await trade.market.refusal("link_erc8004", by=ada, agent_id=token)


@refusal
async def test_link_erc8004_erc8004_live_link_exists(trade: Trade) -> Any:
    ada = await linked_on_live(trade)
    token = Registry(trade.evm).register(trade.evm.bank, own_file(ada))
    return await trade.market.refusal("link_erc8004", by=ada, agent_id=token)


@refusal
async def test_unlink_erc8004_erc8004_live_link_exists(trade: Trade) -> Any:
    return await trade.market.refusal("unlink_erc8004", by=await linked_on_live(trade))
