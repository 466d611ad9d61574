"""Helpers for tests of clauses that go around the operations: rows, settings, agents on live."""

from typing import Any

from eth_account.signers.local import LocalAccount
from sqlalchemy import bindparam, delete, select

from server.settings import Settings, config_of
from storage.query import Query
from storage.rows import metadata
from storage.store import Store
from storage.tables import WalletRow
from storage.transaction import Tx
from tests.support.market import BASE_URL, Agent, TestMarket
from tests.support.trade import binding
from tools.engine.config import MarketConfig

FORGET_WALLET = Query(delete(WalletRow.__table__).where(WalletRow.agent_id == bindparam("agent_id")))
EVERY_TABLE: list[Query[Any]] = [Query(select(table)) for table in metadata.sorted_tables]


def as_deployed(market: TestMarket) -> MarketConfig:
    """Give the market the default settings, without rate limits."""
    settings = Settings(_env_file=None, base_url=BASE_URL, rate_limits=False)
    market.market.config = config_of(settings, market.market.config.pepper)
    return market.market.config


async def stored(store: Store) -> str:
    """Return the content of the whole database as text."""

    def read(tx: Tx) -> list[Any]:
        return [row for query in EVERY_TABLE for row in tx.all(query)]

    return "\n".join(map(repr, await store.read(read)))


async def write_row(market: TestMarket, kind: Any, *key: str, **values: Any) -> None:
    """Change a row as only an operation of a later issue could."""

    def write(tx: Tx) -> None:
        tx.change(tx.get(kind, *key), **values)

    await market.store.write(write)


async def forget_wallet(market: TestMarket, agent: Agent) -> None:
    """Unbind a wallet, which no operation does; a restored old database could look so."""
    await market.store.write(lambda tx: tx.run(FORGET_WALLET, agent_id=agent.id))


async def live_agent(market: TestMarket, name: str, wallet: LocalAccount) -> Agent:
    """Register an agent and bind a wallet on live; the signature of an EOA needs no chain."""
    agent = await market.register(name)
    agent.wallet = wallet
    await market.call("set_wallet_address", by=agent, on="live", address=wallet.address, signature=binding(agent))
    return agent
