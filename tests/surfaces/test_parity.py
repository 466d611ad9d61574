"""Parity: the same calls over every wire give the same records and the same errors, whole.

Each wire gets a market and a chain of its own with the same clock and dice, so ids, keys, times and transactions come out
alike, and only what names the request is masked. The calls are in tests/surfaces/scripts.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from server.world.chain import JsonRpcChain
from storage.open import open_database, serve
from storage.store import Store
from tests.chain.evm import Evm
from tests.conftest import Opening
from tests.databases import SQLiteTemplate, close
from tests.market import TestMarket
from tests.surfaces.scripts import BUYER, SELLER, Script
from tests.surfaces.wires import WIRES, served, wire
from tools.catalogue import CATALOGUE
from tools.context import Surface
from tools.ports import Chain, Env

AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
pytestmark = pytest.mark.xdist_group("parity")
EVERYWHERE = {op.name for op in CATALOGUE.values() if op.surfaces == frozenset(Surface)}
Said = list[tuple[str, Any]]


@asynccontextmanager
async def run_over(name: str, store: Store) -> AsyncIterator[Script]:
    chains: dict[Env, Chain] = {}
    market = TestMarket(store, chains)
    market.clock.at = AT
    with Evm(now=lambda: int(AT.timestamp())) as evm:
        for account in (BUYER, SELLER):
            evm.node.give_gas(account.address)
        evm.fund(BUYER, 100_000_000)
        chains[Env.TEST] = reader = JsonRpcChain(evm.url, evm.chain_id, monotonic=market.clock.monotonic)
        async with served(market) as url, wire(name, url) as call:
            yield Script(market, call, evm)
        await reader.close()


@pytest.fixture(scope="module")
def reference(sqlite_template: SQLiteTemplate, tmp_path_factory: pytest.TempPathFactory) -> Said:
    """What REST says to each call: said once for all tests here."""
    return asyncio.run(said_over_rest(sqlite_template.copy(tmp_path_factory.mktemp("reference"))))


async def said_over_rest(url: str) -> Said:
    store = serve(open_database(url))
    async with run_over("rest", store) as script:
        await script.run()
    await close(store)
    return script.said


@pytest.mark.parametrize("name", WIRES[1:])
async def test_every_wire_says_what_rest_says(
    name: str, reference: Said, sqlite_template: SQLiteTemplate, tmp_path: Path, opening: Opening
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with run_over(name, opening(sqlite_template.copy(other))) as script:
        await script.run()
    for (operation, expected), (_, said) in zip(reference, script.said, strict=True):
        assert said == expected, operation


async def test_the_script_succeeds_and_is_refused_once_with_every_operation(reference: Said) -> None:
    succeeded = {name for name, said in reference if "error" not in said}
    refused = {name for name, said in reference if "error" in said}
    assert succeeded == EVERYWHERE
    assert refused == EVERYWHERE


async def test_every_error_type_is_answered_once_on_every_wire(reference: Said) -> None:
    types = {said["error"]["type"] for _, said in reference if "error" in said}
    assert types == {
        "validation_error", "authentication_error", "payment_error", "permission_error", "not_found", "conflict",
        "state_error", "rate_limited", "internal_error",
    }  # fmt: skip
