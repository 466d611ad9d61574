"""Each secondary index of the largest tables serves a statement, because each one costs a page of every write."""

import inspect
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import storage
from storage.query import Query
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


def indexes_used(tx: Tx) -> set[str]:
    found = set[str]()
    for query in every_query():
        plan = query.plan(tx.dialect)
        tx.cursor.execute("EXPLAIN QUERY PLAN " + plan.sql, [None] * len(plan.parameters))
        found |= {name for row in tx.cursor.fetchall() for name in re.findall(r"INDEX (\w+)", row[3])}
    return found


async def test_every_index_serves_a_statement(opening: Opening, sqlite_url: str) -> None:
    def unused(tx: Tx) -> set[str]:
        known = set[str]()
        for table in LARGEST:
            tx.cursor.execute(INDEXES, [table])
            known |= {row[0] for row in tx.cursor.fetchall()}
        assert len(known) > 20
        return known - indexes_used(tx)

    assert await opening(sqlite_url).read(unused) == set()
