"""The counts of a call: its statements and its write-ahead log may not grow unnoticed."""

import asyncio
from pathlib import Path

import pytest

from benchmarks.counts import READS, Stepped, counted
from benchmarks.data import PEPPER, seed

STATEMENTS = {"get_listing": 0, "search_listings": 1, "list_jobs": 4, "list_events": 1, "create_job": 14}
ALONE_BYTES, TOGETHER_BYTES = 150_000, 30_000


async def test_a_call_costs_few_statements_and_little_log(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'market.db'}"
    costs = await counted(url, seed(url, PEPPER, listings=200), tmp_path)
    print(costs)
    assert {name: cost.statements for name, cost in costs.of.items() if cost.statements > STATEMENTS[name]} == {}
    assert sum(costs.of[name].wal_bytes for name in READS) == 0
    assert 0 < costs.of["create_job"].wal_bytes <= ALONE_BYTES
    assert 0 < costs.together_bytes <= TOGETHER_BYTES
    assert all(cost.block_us > 0 for cost in costs.of.values())


async def test_a_stepped_call_returns_its_result_and_raises_its_error() -> None:
    async def waits() -> int:
        await asyncio.sleep(0)
        return 7

    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("no")

    stepped = Stepped(waits())
    assert await stepped == 7
    assert stepped.longest > 0
    with pytest.raises(ValueError, match="no"):
        await Stepped(fails())
