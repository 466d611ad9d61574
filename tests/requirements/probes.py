"""What the tests of clauses ask of a market beside its operations: its rows, its HTTP, its other environment."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
from eth_account.signers.local import LocalAccount
from sqlalchemy import bindparam, delete, select

from rest.routes import Rest
from server.edge import Edge, hosts_of
from server.identify import approach_reader
from storage.query import Query
from storage.rows import metadata
from storage.store import Store
from storage.tables import WalletRow
from storage.unit import Tx
from tests.market import BASE_URL, Agent, TestMarket
from tests.trading import binding

FORGET_WALLET = Query(delete(WalletRow.__table__).where(WalletRow.agent_id == bindparam("agent_id")))
EVERY_TABLE: list[Query[Any]] = [Query(select(table)) for table in metadata.sorted_tables]


async def stored(store: Store) -> str:
    """Everything the database holds, as one text."""

    def read(tx: Tx) -> list[Any]:
        return [row for query in EVERY_TABLE for row in tx.all(query)]

    return "\n".join(map(repr, await store.look(read)))


async def write_row(market: TestMarket, kind: Any, *key: str, **values: Any) -> None:
    """Write into a row what only an operation of a later issue could."""

    def write(tx: Tx) -> None:
        tx.change(tx.get(kind, *key), **values)

    await market.store.write(write)


async def forget_wallet(market: TestMarket, agent: Agent) -> None:
    """Unbind a wallet, which no operation does: what a restored old database could hold."""
    await market.store.write(lambda tx: tx.run(FORGET_WALLET, agent_id=agent.id))


async def live_agent(market: TestMarket, name: str, wallet: LocalAccount) -> Agent:
    """An agent with a wallet bound on live. A plain wallet's signature needs no chain."""
    agent = await market.register(name)
    agent.wallet = wallet
    await market.call("set_wallet_address", by=agent, on="live", address=wallet.address, signature=binding(agent))
    return agent


class Web:
    """The market over HTTP: the real facade behind the real edge."""

    def __init__(self, market: TestMarket) -> None:
        house = market.market.house
        facade = Rest(market.market, approach_reader(frozenset()))
        self.app: Any = Edge(facade, hosts_of([BASE_URL]), house.docs_url, market.market.world.dice)

    async def ask(
        self, method: str, path: str, body: Any = None, *, key: str | None = None, **headers: str
    ) -> httpx.Response:
        """One request; `key` goes as Bearer, further headers by their name with _ for -."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if key:
            named["Authorization"] = f"Bearer {key}"
        transport = httpx.ASGITransport(self.app, client=("203.0.113.9", 4711))
        async with httpx.AsyncClient(transport=transport, base_url=BASE_URL, headers=named) as client:
            return await client.request(method, path, json=body)

    async def listen(self, path: str, key: str, frames: int, **headers: str) -> str:
        """The beginning of a stream, up to that many frames."""
        heard, enough = [b""], asyncio.Event()

        async def send(message: Mapping[str, Any]) -> None:
            heard.append(message.get("body", b""))
            if b"".join(heard).count(b"\n\n") >= frames:
                enough.set()

        async def receive() -> Mapping[str, Any]:
            await enough.wait()
            return {"type": "http.disconnect"}

        running = asyncio.create_task(self.app(_scope(path, key, headers), receive, send))
        await asyncio.wait_for(enough.wait(), 10)
        await asyncio.wait_for(running, 10)
        return b"".join(heard).decode()


def _scope(path: str, key: str, headers: Mapping[str, str]) -> dict[str, Any]:
    host = BASE_URL.partition("://")[2]
    named = {"host": host, "authorization": f"Bearer {key}"} | {n.replace("_", "-"): v for n, v in headers.items()}
    route, _, query = path.partition("?")
    return {
        "type": "http",
        "method": "GET",
        "path": route,
        "raw_path": route.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        "client": ("203.0.113.9", 4711),
        "state": {},
    }
