"""Parity: the same calls over every protocol give exactly the same records and errors.

Each protocol gets its own market and chain with the same clock and random bytes. So ids, keys, times and transactions
are equal. Only the request's id and the stored bytes are masked. The calls are in tests/support/parity_calls.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rest.openapi_examples import recorded
from server.adapters.chain import JsonRpcChain
from storage.open import open_database, serve
from storage.store import Store
from storage.vocabulary import Env
from tests.conftest import Opening
from tests.requirements import covers
from tests.support.databases import SQLiteTemplate, close
from tests.support.evm import Evm
from tests.support.market import TestMarket
from tests.support.parity_calls import BUYER, SELLER, Script, shortened
from tests.support.protocols import WIRES, served, wire
from tests.support.record_kinds import ITEMS, KINDS, said_of, unspoken
from tests.support.untrusted_markers import value_at
from tools.catalogue import CATALOGUE
from tools.engine.caller import Surface
from tools.engine.ports import Chain

AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
# A purchase has the form of x402's transport on each protocol: tests/protocol/{mcp/test_payments,a2a/test_purchases}.py.
EVERYWHERE = {op.name for op in CATALOGUE.values() if op.surfaces == frozenset(Surface) and op.paid_rate is None}
Said = list[tuple[str, Any]]

OLDER = ("mcp-legacy", "a2a-rpc-0.3")  # only make verify runs the earlier versions of the protocols


@asynccontextmanager
async def run_over(name: str, store: Store, left_out: list[list[str]] | None = None) -> AsyncIterator[Script]:
    chains: dict[Env, Chain] = {}
    market = TestMarket(store, chains)
    market.clock.at = AT
    with Evm(now=lambda: int(AT.timestamp())) as evm:
        for account in (BUYER, SELLER):
            evm.node.give_gas(account.address)
        evm.fund(BUYER, 100_000_000)
        chains[Env.TEST] = reader = JsonRpcChain(evm.url, evm.chain_id, monotonic=market.clock.monotonic)
        async with served(market) as url, wire(name, url, left_out) as call:
            yield Script(market, call, evm)
        await reader.close()


@pytest.fixture(scope="module")
def finished(sqlite_template: SQLiteTemplate, tmp_path_factory: pytest.TempPathFactory) -> Script:
    """The script as it was run over REST, once for all tests here."""
    return asyncio.run(finished_over_rest(sqlite_template.copy(tmp_path_factory.mktemp("reference"))))


@pytest.fixture(scope="module")
def reference(finished: Script) -> Said:
    """The answers of REST to each call."""
    return finished.said


async def finished_over_rest(url: str) -> Script:
    store = serve(open_database(url))
    async with run_over("rest", store) as script:
        await script.run()
    await close(store)
    return script


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.verify if name in OLDER else ()) for name in WIRES[1:]]
)
async def test_every_wire_says_what_rest_says(
    name: str, reference: Said, sqlite_template: SQLiteTemplate, tmp_path: Path, opening: Opening
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with run_over(name, opening(sqlite_template.copy(other))) as script:
        await script.run()
    for (operation, expected), (_, said) in zip(reference, script.said, strict=True):
        assert said == expected, operation


def without(record: Any, pointers: list[str]) -> Any:
    """Return the record without the members at these JSON Pointers."""
    found = deepcopy(record)
    for pointer in pointers:
        holder, _, name = pointer.rpartition("/")
        del value_at(found, holder)[name]
    return found


async def test_in_brief_members_are_left_out_and_named_and_all_else_is_as_in_full(
    reference: Said, sqlite_template: SQLiteTemplate, tmp_path: Path, opening: Opening
) -> None:
    """The client also checks every answer against the tool's output schema."""
    left_out: list[list[str]] = []
    other = tmp_path / "other"
    other.mkdir()
    async with run_over("mcp-modern", opening(sqlite_template.copy(other)), left_out) as script:
        await script.run()
    for (operation, expected), (_, said), gone in zip(reference, script.said, left_out, strict=True):
        assert said == (without(expected, gone) | {"detail": "brief"} if gone else expected), operation
    assert {name for (name, _), gone in zip(reference, left_out, strict=True) if gone} >= {"list_jobs"}


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


def form_of(value: Any) -> Any:
    """Return the names and types in a value; ids and hashes differ from run to run."""
    if isinstance(value, dict):
        return {name: form_of(part) for name, part in value.items()}
    return [form_of(part) for part in value] if isinstance(value, list) else type(value)


async def test_the_examples_of_openapi_have_the_form_of_what_is_answered_now(finished: Script) -> None:
    """Compare all but the changelog, which grows, and the services of x402: the script has none."""
    stale = [
        name
        for name, one in finished.done.items()
        if name not in ("get_changelog", "list_x402_services")
        and form_of(shortened(one["answer"])) != form_of(recorded()[name]["answer"])
    ]
    assert stale == [], "run: make examples"


@covers("record.object")
async def test_every_record_names_its_kind(reference: Said) -> None:
    kinds, items = set[tuple[str, Any]](), set[tuple[str, Any]]()
    for operation, said in reference:
        if "error" not in said:
            own, inner = said_of(operation, said)
            kinds, items = kinds | own, items | inner
    assert kinds ^ KINDS == set()
    assert items ^ ITEMS == set()


@covers("record.display")
async def test_beside_every_amount_stands_a_text_for_people(reference: Said) -> None:
    silent = {
        place for operation, said in reference for place in ([] if "error" in said else unspoken(said, operation))
    }
    assert silent - {"get_receipt.receipt.job.price"} == set()
    assert set(unspoken({"data": [{"price": 1, "price_display": "0.000002 USDC"}]}, "x")) == {"x.data.price"}
    assert set(unspoken({"amount": 5, "nested": {"volume_usdc": 0}}, "x")) == {"x.amount", "x.nested.volume_usdc"}
