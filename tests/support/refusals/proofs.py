"""Errors of domains, on-chain identities, and the documents of an agent."""

from typing import Any

from storage.tables import IdentityRow
from tests.support.proofs import Registry, own_file
from tests.support.refusals import chain_down, produces
from tests.support.trade import Trade


@produces("add_domain", "too_many_domains")
async def _(trade: Trade) -> Any:
    ada = await trade.market.register()
    for number in range(5):
        await trade.market.call("add_domain", by=ada, domain=f"a{number}.example.com")
    return await trade.market.refusal("add_domain", by=ada, domain="a5.example.com")


@produces("verify_domain", "not_found")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("verify_domain", by=await trade.market.register(), domain="example.com")


@produces("remove_domain", "not_found")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("remove_domain", by=await trade.market.register(), domain="example.com")


@produces("get_domain_claim", "not_found")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("get_domain_claim", domain="example.com")


@produces("link_erc8004", "not_found")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("link_erc8004", by=await trade.market.register(), agent_id=str(2**256 - 1))


@produces("link_erc8004", "chain_unavailable")
async def _(trade: Trade) -> Any:
    ada = await trade.market.register()
    async with chain_down(trade):
        return await trade.market.refusal("link_erc8004", by=ada, agent_id=0)


@produces("link_erc8004", "erc8004_uri_mismatch")
async def _(trade: Trade) -> Any:
    ada = await trade.agent("Ada")
    token = Registry(trade.evm).register(ada.wallet, "https://ada.example/agent.json")
    return await trade.market.refusal("link_erc8004", by=ada, agent_id=token)


async def linked_on_live(trade: Trade) -> Any:
    """Return an agent with a link to a live identity, made by rows: there is no live chain here."""
    ada, at = await trade.market.register(), trade.market.clock.now()
    row = IdentityRow(agent_id=ada.id, env="live", token="7", owner="0x" + "1" * 40, verified_at=at, check_at=at)
    await trade.market.store.write(lambda tx: tx.add(row))
    return ada


@produces("link_erc8004", "erc8004_live_link_exists")
async def _(trade: Trade) -> Any:
    ada = await linked_on_live(trade)
    token = Registry(trade.evm).register(trade.evm.bank, own_file(ada))
    return await trade.market.refusal("link_erc8004", by=ada, agent_id=token)


@produces("unlink_erc8004", "erc8004_live_link_exists")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("unlink_erc8004", by=await linked_on_live(trade))


def unknown(operation: str) -> None:
    @produces(operation, "not_found")
    async def _(trade: Trade) -> Any:
        return await trade.market.refusal(operation, agent_id="nobody")


for name in (
    "get_registration_file", "get_agent_card", "get_did_document", "get_agent_keys", "get_client_metadata",
):  # fmt: skip
    unknown(name)
