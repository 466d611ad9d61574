"""Each secondary index of the largest tables serves a statement, because each one costs a page of every write."""

import inspect
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import storage
from storage.discovery import agents_counted, listings_counted, newest_agents
from storage.query import Query
from storage.reputation import leaders
from storage.transaction import Tx
from tests.conftest import Opening
from tests.shape.test_gates import named_queries

LARGEST = ("jobs", "threads", "events", "job_events", "reviews", "settlements")
INDEXES = "SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'ix_%' AND tbl_name = ?"


def every_query() -> Iterator[Query[Any]]:
    """Yield the queries of all modules, also those in tuples and dictionaries."""
    for module in pkgutil.iter_modules(storage.__path__):
        for _, value in inspect.getmembers(import_module(f"storage.{module.name}")):
            some = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
            yield from (one for one in some if isinstance(one, Query))
    yield from (query for _, query in named_queries())


def steps_of(tx: Tx, query: Query[Any]) -> list[str]:
    """Return the steps in which SQLite answers a query."""
    plan = query.plan(tx.dialect)
    tx.cursor.execute("EXPLAIN QUERY PLAN " + plan.sql, [None] * len(plan.parameters))
    return [row[3] for row in tx.cursor.fetchall()]


def indexes_used(tx: Tx) -> set[str]:
    steps = (step for query in every_query() for step in steps_of(tx, query))
    return {name for step in steps for name in re.findall(r"INDEX (\w+)", step)}


async def test_every_index_serves_a_statement(opening: Opening, sqlite_url: str) -> None:
    def unused(tx: Tx) -> set[str]:
        known = set[str]()
        for table in LARGEST:
            tx.cursor.execute(INDEXES, [table])
            known |= {row[0] for row in tx.cursor.fetchall()}
        assert len(known) > 20
        return known - indexes_used(tx)

    assert await opening(sqlite_url).read(unused) == set()


@pytest.mark.parametrize(
    ("query", "read"),
    [
        (agents_counted, "SEARCH agents USING COVERING INDEX ix_agents_status_first_party_last_seen_at (status=?)"),
        (listings_counted, "SEARCH listings USING INDEX ix_listings_env_status_id (env=? AND status=?)"),
        (newest_agents, "SEARCH agents USING INDEX ix_agents_status_id (status=? AND id<?)"),
        (leaders("seller"), "SEARCH reputations USING INDEX ix_reputations_seller (env=? AND seller_rank>?)"),
        (leaders("buyer"), "SEARCH reputations USING INDEX ix_reputations_buyer (env=? AND buyer_rank>?)"),
    ],
)
async def test_public_figures_do_not_read_or_sort_all_agents(
    opening: Opening, sqlite_url: str, query: Query[Any], read: str
) -> None:
    steps = await opening(sqlite_url).read(lambda tx: steps_of(tx, query))
    assert steps[0] == read
    assert "USE TEMP B-TREE FOR ORDER BY" not in steps
