"""Checks that take long end by the end of their process, and nobody else waits for them."""

import asyncio
import time
from typing import Any

import orjson
import pytest

from server.world.checks import CheckPool
from storage.store import Store
from tests.market import CHECKS, TestMarket
from tests.operations.refusals.listings import COSTLY, LONG
from tests.requirements import covers
from tests.trading import OFFER, Trade
from tools.ports import ChecksBusy, CheckTooLong
from tools.rules.schemas import compiled, is_heavy

COSTLY_TEXT = orjson.dumps(COSTLY).decode()
ROWS = orjson.dumps({"type": "object", "properties": {"a": {"items": {"type": "object", "required": ["id"]}}}}).decode()


@covers("error.more.schema_too_expensive")
async def test_a13_a_hostile_document_is_stopped_while_honest_orders_go_on(trade: Trade) -> None:
    seller, buyer = await trade.agent("Sela"), await trade.agent("Bo")
    evil = await trade.listing(seller, input_schema=COSTLY, example_input=None, price=0)
    honest = await trade.listing(seller, price=0, max_open_jobs=1000)
    before = CHECKS.killed
    attack = asyncio.create_task(trade.market.refusal("create_job", by=buyer, listing_id=evil["id"], input=LONG))
    took = []
    for number in range(100):
        started = time.perf_counter()
        error = await trade.market.refusal("create_job", by=buyer, listing_id=honest["id"], input={"txt": number})
        took.append(time.perf_counter() - started)
        assert error["code"] == "input_schema_mismatch"
        await asyncio.sleep(0.002)
    print(f"100 honest checks beside a hostile one: p99 {sorted(took)[98] * 1000:.1f} ms")
    assert (await attack)["code"] == "schema_too_expensive"
    assert CHECKS.killed == before + 1


async def test_a_large_honest_document_is_checked_in_the_process_like_anywhere() -> None:
    good, bad = {"a": [{"id": n} for n in range(9_000)]}, {"a": [{"id": n} for n in range(9_000)] + [{}]}
    assert is_heavy(ROWS, len(orjson.dumps(good)))
    assert list(await CHECKS.violations(ROWS, good)) == []
    assert list(await CHECKS.violations(ROWS, bad)) == compiled(ROWS).violations(bad)


async def test_a_killed_process_is_started_anew_and_its_market_closes_it() -> None:
    pool = CheckPool()
    for _ in range(3):
        with pytest.raises(CheckTooLong):
            await pool.violations(COSTLY_TEXT, LONG)
        assert list(await pool.violations(ROWS, {"a": [{}]})) != []
    children = [child.process for child in pool.children]
    pool.close()
    assert (pool.killed, [child.poll() is not None for child in children]) == (3, [True] * len(children))


async def test_too_many_waiting_documents_are_refused_for_now(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def busy(*_: Any) -> Any:
        raise ChecksBusy

    market = TestMarket(store)
    monkeypatch.setattr(CHECKS, "violations", busy)
    seller = await market.register("Sela")
    offer = OFFER | {"input_schema": COSTLY, "example_input": LONG}
    error = await market.refusal("create_listing", by=seller, **offer)
    assert (error["code"], error["retryable"]) == ("overloaded", True)


async def test_only_so_many_wait() -> None:
    pool = CheckPool()
    asked = [asyncio.create_task(pool.violations(ROWS, {"a": []})) for _ in range(80)]
    ended = await asyncio.gather(*asked, return_exceptions=True)
    pool.close()
    assert sum(isinstance(one, ChecksBusy) for one in ended) == 16
    assert sum(one == [] for one in ended) == 64
