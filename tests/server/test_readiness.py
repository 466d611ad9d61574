"""Readiness reports the true state: a real write, the workers' rounds, every configured chain, the disk."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import orjson
import pytest

from server import readiness as ready
from server.healthcheck import check
from server.readiness import Readiness
from storage.store import Store
from storage.transaction import Tx, Unavailable
from storage.vocabulary import Env
from tests.end_to_end.processes.trouble import connected_with
from tests.support.market import TestMarket
from tests.support.servers import serving

pytestmark = pytest.mark.both_databases

SCOPE = {"state": {"request_id": "req_12345678"}}


class Node:
    """A chain whose head was read at a time that the test sets."""

    chain_id = 84532
    last_head: tuple[int, float] | None = None

    async def head(self) -> int:
        raise AssertionError("ready asks no node")


@pytest.fixture
async def node() -> Node:
    return Node()


@pytest.fixture
async def market(store: Store, node: Node) -> TestMarket:
    made = TestMarket(store, {Env.TEST: node})  # type: ignore[dict-item]
    made.workers.steps.clear()  # the rounds do nothing
    node.last_head = (7, 0.0)
    await made.workers.run_due()
    return made


@pytest.fixture
async def readiness(market: TestMarket, tmp_path: Path) -> Readiness:
    return Readiness(market.market, tmp_path, 1)


async def asked(readiness: Readiness) -> tuple[int, Any]:
    found = await readiness(SCOPE)
    return found.status, orjson.loads(found.body)


async def wrong(readiness: Readiness) -> dict[str, str]:
    return {name: said for name, said in (await readiness.results()).items() if said != "ok"}


async def marks(store: Store) -> int:
    def count(tx: Tx) -> int:
        tx.cursor.execute("SELECT count(*) FROM house")
        return int(tx.cursor.fetchone()[0])

    return await store.scan(count)


async def test_all_is_well_and_the_write_leaves_nothing(market: TestMarket, readiness: Readiness) -> None:
    store = market.store
    before, commits = await marks(store), store.counters.commits
    status, said = await asked(readiness)
    assert status == 200
    assert said["status"] == "ready"
    assert said["checks"] == dict.fromkeys(("database", "workers", "chain_test", "disk"), "ok")
    assert store.counters.commits == commits + 1
    assert await marks(store) == before


async def test_it_writes_rows_and_not_only_a_transaction(store: Store) -> None:
    statements = await store.write(lambda tx: (tx.statements, ready.write_and_forget(tx, "ready:x"), tx.statements))
    assert statements[2] - statements[0] == 2
    assert await marks(store) == 0


async def test_a_hundred_who_ask_cost_one_write_a_second(market: TestMarket, readiness: Readiness) -> None:
    commits = market.store.counters.commits
    answers = await asyncio.gather(*(asked(readiness) for _ in range(100)))
    assert {status for status, _ in answers} == {200}
    assert market.store.counters.commits == commits + 1
    market.pass_seconds(0.9)
    await asked(readiness)
    assert market.store.counters.commits == commits + 1
    market.pass_seconds(0.1)
    await asked(readiness)
    assert market.store.counters.commits == commits + 2


async def test_a_database_that_only_reads_is_not_ready(sqlite_url: str, opening: Callable[[str], Store]) -> None:
    store = opening(sqlite_url)
    market = TestMarket(store)
    await market.workers.run_due()
    served: Any = SimpleNamespace(served=SimpleNamespace(market=market))
    readiness = Readiness(market.market, None, 1)
    async with connected_with(served, "PRAGMA query_only = ON", "PRAGMA query_only = OFF"):
        status, said = await asked(readiness)
    assert status == 503
    assert said["checks"] == {"database": "it does not write", "workers": "ok"}
    market.pass_seconds(1)
    assert await wrong(readiness) == {}


async def test_what_is_wrong_is_named_in_the_contracts_error(
    market: TestMarket, readiness: Readiness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: Any) -> Any:
        raise Unavailable("gone: postgresql://market:hunter2@db/market")

    monkeypatch.setattr(market.store, "write", down)
    market.pass_seconds(31)
    found = await readiness(SCOPE)
    said = orjson.loads(found.body)
    assert found.status == 503
    assert (b"retry-after", b"2") in found.headers
    error = said["error"]
    assert (error["type"], error["code"], error["retryable"]) == ("internal_error", "overloaded", True)
    assert error["message"] == "not ready: database, workers, chain_test"
    assert said["status"] == "not_ready"
    assert said["checks"]["disk"] == "ok"
    assert b"hunter2" not in found.body


async def test_a_database_that_stands_is_asked_once_and_not_waited_for(
    market: TestMarket, readiness: Readiness, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for, opened = 0, asyncio.Event()
    write = market.store.write

    async def stands(*given: Any) -> Any:
        nonlocal asked_for
        asked_for += 1
        await opened.wait()
        return await write(*given)

    monkeypatch.setattr(market.store, "write", stands)
    with monkeypatch.context() as impatient:
        impatient.setattr(ready, "PATIENCE_SECONDS", 0.02)
        for _ in range(3):
            assert (await wrong(readiness))["database"] == "it did not write in time"
            market.pass_seconds(2)
    assert asked_for == 1
    opened.set()
    assert readiness.writing is not None
    await readiness.writing
    assert "database" not in await wrong(readiness)


async def test_the_workers_are_ready_after_a_round_and_not_when_rounds_stop(
    market: TestMarket, readiness: Readiness, node: Node
) -> None:
    market.market.services.health.round_ended = None
    assert await wrong(readiness) == {"workers": "they have made no round yet"}
    market.pass_seconds(2)
    await market.workers.run_due()
    assert await wrong(readiness) == {}
    market.pass_seconds(31)
    node.last_head = (8, market.clock.monotonic())
    assert await wrong(readiness) == {"workers": "their last round ended 31 s ago"}
    await market.workers.run_due()
    market.pass_seconds(2)
    assert await wrong(readiness) == {}


async def test_a_chain_is_ready_while_its_head_is_known_and_fresh(
    market: TestMarket, readiness: Readiness, node: Node
) -> None:
    node.last_head = None
    assert await wrong(readiness) == {"chain_test": "its head was never read"}
    market.pass_seconds(40)
    await market.workers.run_due()
    node.last_head = (7, 9.0)
    assert await wrong(readiness) == {"chain_test": "its head was read 31 s ago"}
    market.pass_seconds(1)
    node.last_head = (7, 41.0)
    assert await wrong(readiness) == {}


async def test_a_disk_that_is_nearly_full_or_gone_is_not_ready(market: TestMarket, tmp_path: Path) -> None:
    assert await wrong(Readiness(market.market, tmp_path, 10_000_000_000)) == {
        "disk": "less than 10000000000 MB are free"
    }
    gone = Readiness(market.market, tmp_path / "gone", 1)
    assert await wrong(gone) == {"disk": "the data folder cannot be looked at: FileNotFoundError"}


async def test_ready_is_served_beside_health_and_a_command_asks_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as service, httpx.AsyncClient(base_url=service.settings.url, trust_env=False) as http:
        found = service.settings
        while (answer := await http.get("/ready")).status_code != 200:
            assert answer.json()["checks"]["workers"] != "ok", answer.text
            await asyncio.sleep(1.05)  # results are cached for a second
        assert answer.json()["checks"] == dict.fromkeys(("database", "workers", "disk"), "ok")
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-request-id"] == answer.json()["request_id"]
        head = await http.head("/ready")
        assert (head.status_code, head.content) == (200, b"")
        refused = await http.post("/ready")
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
        assert (await http.get("/ready", headers={"Host": "evil.example"})).status_code == 421
        well, said = await asyncio.to_thread(check, found)
        assert (well, orjson.loads(said)["status"]) == (True, "ready")
        assert "/ready" not in (await http.get("/openapi.json")).json()["paths"]
    well, said = await asyncio.to_thread(check, found)
    assert not well
    assert "does not answer" in said
