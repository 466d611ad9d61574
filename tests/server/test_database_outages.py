"""A database that fails under a running market: 503 with a retry time, no data lost, automatic recovery."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from storage.sqlite import WRITER
from tests.support.databases import Opening, PostgresDatabase, PostgresServer, SQLiteTemplate
from tests.support.market import Agent, TestMarket
from tests.support.protocols import served

WRITERS, ENOUGH = 8, 40


@asynccontextmanager
async def http(market: TestMarket) -> AsyncIterator[httpx.AsyncClient]:
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as one:
        yield one


async def keep(one: httpx.AsyncClient, agent: Agent, name: str, value: Any = 1) -> httpx.Response:
    headers = {"X-API-Key": agent.keys["test"], "Idempotency-Key": f"keeps-{name:0>20}"}
    return await one.put(f"/v1/memory/{name}", json={"value": value}, headers=headers)


async def names_kept(market: TestMarket, agent: Agent) -> set[str]:
    names, page = set(), {"next_cursor": None, "has_more": True}
    while page["has_more"]:
        page = await market.call("list_memory", by=agent, limit=100, cursor=page["next_cursor"])
        names |= {item["key"] for item in page["data"]}
    return names


def told_to_come_again(answer: httpx.Response) -> None:
    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error["code"]) == (503, "internal_error", "overloaded")
    assert (error["retryable"], answer.headers["retry-after"]) == (True, "2")
    assert error["message"] == "the database is busy or does not answer", "and nothing of what it said"


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that the test may kill: no other test uses it."""
    server = PostgresServer()
    yield server
    server.stop()


async def test_a_killed_postgres_is_a_503_for_a_moment_and_no_acknowledged_write_is_lost(
    own_server: PostgresServer, opening: Opening
) -> None:
    market = TestMarket(opening(PostgresDatabase(own_server).url))
    ada, kept, enough = await market.register(), set[str](), asyncio.Event()
    async with http(market) as one:

        async def write(writer: int) -> tuple[str, httpx.Response]:
            """Write until a call is refused; return that call and its answer."""
            number = 0
            while (answer := await keep(one, ada, name := f"{writer}/{number}")).is_success:
                number += 1
                kept.add(name)
                if len(kept) > ENOUGH:
                    enough.set()
            return name, answer

        writing = [asyncio.create_task(write(writer)) for writer in range(WRITERS)]
        await enough.wait()
        own_server.kill()
        refused = dict(await asyncio.gather(*writing))
        told_to_come_again(await one.get("/v1/agents/me", headers={"X-API-Key": ada.keys["test"]}))
        own_server.start()
        for name, answer in refused.items():
            told_to_come_again(answer)
            assert (await keep(one, ada, name)).status_code == 200, "sent again as the hint says"
    assert await names_kept(market, ada) == kept | refused.keys()


@pytest.mark.parametrize("fault", ["full", "read-only"])
async def test_a_disk_that_takes_nothing_is_a_503_until_it_does(
    sqlite_url: str, opening: Opening, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    market = TestMarket(opening(sqlite_url))
    ada = await market.register()
    market.store.close()
    limit = {"full": f"max_page_count = {SQLiteTemplate.pages(sqlite_url) + 60}", "read-only": "query_only = 1"}[fault]
    monkeypatch.setattr("storage.sqlite.WRITER", f"{WRITER} PRAGMA {limit};")
    market = TestMarket(opening(sqlite_url))
    async with http(market) as one:
        answers: list[httpx.Response] = []
        while not answers or answers[-1].is_success:
            answers.append(await keep(one, ada, str(len(answers)), "x" * 60_000))
        told_to_come_again(answers[-1])
        whole = {str(number) for number in range(len(answers) - 1)}
        assert (len(whole) > 0, await names_kept(market, ada)) == (fault == "full", whole)
        monkeypatch.undo()
        assert (await keep(one, ada, str(len(whole)), "x" * 60_000)).status_code == 200
    assert await names_kept(market, ada) == whole | {str(len(whole))}
