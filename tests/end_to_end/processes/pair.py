"""Two server processes on one PostgreSQL, called over HTTP with the calls of TestMarket."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Self

import httpx
import orjson
import psycopg
from eth_account import Account
from eth_account.signers.local import LocalAccount
from psycopg import sql

from tests.end_to_end.faults.chain import OwnChain
from tests.end_to_end.faults.forge import Forge
from tests.support.market import BASE_URL, Agent
from tests.support.trade import Trade
from tools.catalogue import CATALOGUE

STANDING = """
SELECT count(DISTINCT application_name) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE %s
"""


class Chain(OwnChain):
    """The chain, with accounts on it."""

    def person(self, usdc_minor: int = 0) -> LocalAccount:
        """Create an account with this much USDC and gas."""
        someone: LocalAccount = Account.create()
        self.fund(someone, usdc_minor)
        return someone


@dataclass(frozen=True)
class Reply:
    """An answer of one of the processes."""

    status: int
    body: bytes

    @property
    def record(self) -> Any:
        return orjson.loads(self.body)

    @property
    def error(self) -> Any:
        return self.record["error"]


class Wired:
    """The market behind both processes.

    Calls alternate between them, so that each reads what the other wrote.
    """

    def __init__(self, urls: list[str]) -> None:
        self.urls = urls
        self.http = [httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) for url in urls]
        self.turns = cycle(range(len(urls)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for one in self.http:
            await one.aclose()

    async def answer(
        self, operation: str, given: Mapping[str, Any] | None = None, *, key: str | None = None, at: int | None = None
    ) -> Reply:
        """Call the process `at`, or the next one in turn."""
        op, rest = CATALOGUE[operation], dict(given or {})
        path = op.path
        for name in op.path_names:
            path = path.replace(f"{{{name}}}", str(rest.pop(name)))
        http, headers = self.http[next(self.turns) if at is None else at], {"X-API-Key": key} if key else {}
        if op.method == "GET":
            query = {name: ",".join(one) if isinstance(one, list) else one for name, one in rest.items()}
            answer = await http.get(path, params=query, headers=headers)
        else:
            answer = await http.request(op.method, path, json=rest, headers=headers)
        return Reply(answer.status_code, answer.content)

    async def call(
        self, operation: str, *, by: Agent | None = None, on: str = "test", at: int | None = None, **given: Any
    ) -> Any:
        """Call an operation; return its record, or terms of payment.

        Raises AssertionError for a refusal.
        """
        answer = await self.answer(operation, given, key=by and by.keys[on], at=at)
        record = answer.record
        assert answer.status in (200, 201, 202) or (answer.status == 402 and "object" in record), answer.body
        return record

    async def register(self, name: str = "Ada") -> Agent:
        made = await self.call("register_agent", name=name)
        return Agent(made["agent"]["id"], made["agent"]["handle"], made["api_keys"], b"")


@dataclass
class Pair:
    """Two processes that fork servers, and the database that their servers share."""

    forges: tuple[Forge, Forge]
    chain: Chain
    folder: Path
    url: str = ""

    def serve(self, url: str, **settings: Any) -> None:
        """Start the whole service in both, with the same base URL; return when both serve."""
        self.start("whole", url, data_dir=str(self.folder), base_url=BASE_URL, **settings)

    def start(self, kind: str, url: str, **given: Any) -> None:
        """Start a server in each process.

        Each names its connections, so that tests can distinguish them.
        """
        self.url = url
        for number, forge in enumerate(self.forges):
            forge.begin(kind, url=f"{url}&application_name=process-{number}", rpc_url=self.chain.url, **given)
        for forge in self.forges:
            forge.ready()

    def kill(self) -> None:
        for forge in self.forges:
            if forge.running:
                forge.kill()

    @asynccontextmanager
    async def wired(self) -> AsyncIterator[Wired]:
        async with Wired([f"http://127.0.0.1:{forge.port}" for forge in self.forges]) as market:
            yield market

    @asynccontextmanager
    async def trading(self) -> AsyncIterator[Trade]:
        """Open the helpers of tests.support.trade on both processes."""
        async with self.wired() as market:
            yield Trade(market, self.chain)  # type: ignore[arg-type] - it calls and registers as TestMarket does

    @asynccontextmanager
    async def held(self, table: str, row: str) -> AsyncIterator[None]:
        """Lock this row inside the context; at its end, wait until both processes wait for it.

        By then both have finished their reads. A process requests the lock repeatedly, for two milliseconds each time,
        so either may get the row first.
        """
        waiting = f"%FROM {table}%FOR UPDATE"
        lock = sql.SQL("SELECT 1 FROM {} WHERE id = %s FOR UPDATE").format(sql.Identifier(table))
        async with (
            await psycopg.AsyncConnection.connect(self.url) as holder,
            await psycopg.AsyncConnection.connect(self.url, autocommit=True) as looker,
        ):
            await holder.execute(lock, [row])
            yield
            async with asyncio.timeout(20):
                while await (await looker.execute(STANDING, [waiting])).fetchone() != (2,):
                    pass
