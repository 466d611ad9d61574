"""The rows that count: what one call costs in SQL statements, in write-ahead log, and in CPU on the event loop at once.

The calls run in this process, one after the other, with full caches. Other load does not change the counts.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from threading import Event
from time import thread_time
from typing import Any

import psycopg

from benchmarks import shots
from benchmarks.data import PEPPER, Seeded
from benchmarks.goals import GOALS
from benchmarks.raw import Call, market_over, perform
from benchmarks.rounds import Row, absolute
from benchmarks.stage import Stage
from storage.open import open_database, serve
from storage.store import Store
from tests.support.databases import close
from tools.engine.dispatch import Market

Log = Callable[[], int]
TIMES, TOGETHER = 9, 32
NEXT_WAL = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"
READS = ("get_listing", "search_listings", "list_jobs", "list_events")


@dataclass(frozen=True, slots=True)
class Cost:
    """The median cost of several calls."""

    statements: float
    wal_bytes: float
    block_us: float


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of each operation, and the write-ahead log of one order of 32 in flight."""

    of: dict[str, Cost]
    together_bytes: float


class Stepped:
    """Awaits a coroutine and measures its steps.

    `longest` is the most CPU of the thread between two waits, in seconds.
    """

    def __init__(self, inner: Coroutine[Any, Any, Any]) -> None:
        self.inner, self.longest = inner, 0.0

    def __await__(self) -> Generator[Any, Any, Any]:
        while True:
            began = thread_time()
            try:
                waited = self.inner.send(None)
            except StopIteration as done:
                return done.value
            finally:
                self.longest = max(self.longest, thread_time() - began)
            yield waited


def rows(stage: Stage) -> Iterator[Row]:
    """Measure N on both databases."""
    path = stage.market_file(stage.history)
    yield from _rows("SQLite", asyncio.run(counted(f"sqlite:///{path}", stage.data, stage.folder)))
    yield from _rows("PostgreSQL", asyncio.run(counted(stage.cluster.history, stage.data, stage.folder)))


async def counted(url: str, data: Seeded, folder: Path) -> Costs:
    """Count the calls of a busy agent on a seeded database. `folder` is the market's own."""
    store = serve(open_database(url))
    market = market_over(store, PEPPER, folder)
    warm, *orders = _orders(data, 1 + TIMES + TOGETHER)
    await perform(market, warm)
    with _log_of(store, url) as log:
        calls = _reads(data) | {"create_job": orders[:TIMES]}
        costs = {name: await _repeated(market, log, some) for name, some in calls.items()}
        began = log()
        await _at_once(market, orders[TIMES:])
        together = (log() - began) / TOGETHER
    await close(store)
    return Costs(costs, together)


async def _at_once(market: Market, calls: Sequence[Call]) -> None:
    """Make the calls while the writers are stopped, so that they share commits."""
    store, gate = market.store, Event()
    stopped = [asyncio.ensure_future(store.write(lambda tx: gate.wait())) for _ in store.writers]
    performed = asyncio.gather(*(perform(market, call) for call in calls))
    while store.waiting < len(stopped) + len(calls) and not performed.done():  # noqa: ASYNC110 - a queue sets no event
        await asyncio.sleep(0.001)
    gate.set()
    await asyncio.gather(performed, *stopped)


def _reads(data: Seeded) -> dict[str, list[Call]]:
    [listing, *_], [words, *_] = data.listing_ids, shots.search_words()
    given: dict[str, dict[str, Any]] = {
        "get_listing": {"listing_id": listing},
        "search_listings": words,
        "list_jobs": {"limit": 20},
        "list_events": {"limit": 20},
    }
    return {name: [Call(name, given[name], data.traders[0].key)] * TIMES for name in READS}


def _orders(data: Seeded, count: int) -> list[Call]:
    """Return orders of one buyer, each of another listing."""
    buyer = data.traders[0]
    listings = [listing for listing in data.listing_ids if data.sellers[listing] != buyer]
    return [
        Call("create_job", {"listing_id": listing, "input": shots.ORDERED | {"number": number}}, buyer.key)
        for number, listing in enumerate(listings[:count])
    ]


async def _repeated(market: Market, log: Log, calls: Sequence[Call]) -> Cost:
    await perform(market, calls[0])
    taken: list[Cost] = []
    for call in calls[1:]:
        before, began = _statements(market.store), log()
        stepped = Stepped(perform(market, call))
        await stepped
        taken.append(Cost(_statements(market.store) - before, log() - began, stepped.longest * 1e6))
    return Cost(*(median(getattr(one, name) for one in taken) for name in Cost.__slots__))


def _statements(store: Store) -> int:
    """Return the statements that all connections of the store have run."""
    connections = [worker.tx for worker in (*store.writers, *store.readers)] + [getattr(store, "inline", None)]
    return sum(tx.statements for tx in connections if tx is not None)


@contextmanager
def _log_of(store: Store, url: str) -> Iterator[Log]:
    """Yield a function that returns the position in the write-ahead log, in bytes."""
    if url.startswith("postgresql"):
        with psycopg.connect(url, autocommit=True) as connection:
            yield lambda: int(connection.execute(NEXT_WAL).fetchall()[0][0])
        return
    written = Path(url.removeprefix("sqlite:///") + "-wal")
    [writer] = store.writers
    assert writer.tx is not None
    writer.tx.cursor.connection.execute("PRAGMA wal_autocheckpoint=0")  # so that the log only grows
    writer.tx.cursor.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    yield lambda: written.stat().st_size


def _rows(database: str, costs: Costs) -> list[Row]:
    made = [_row(f"{database} {name} statements", cost.statements) for name, cost in costs.of.items()]
    made += [_row(f"{database} {name} block", cost.block_us) for name, cost in costs.of.items()]
    order = costs.of["create_job"].wal_bytes
    return [
        *made,
        _row(f"{database} create_job WAL", order),
        _row(f"{database} create_job WAL 32", costs.together_bytes),
        _row(f"{database} reads WAL", sum(costs.of[name].wal_bytes for name in READS)),
    ]


def _row(goal: str, figure: float) -> Row:
    return absolute(GOALS[f"N {goal}"], figure)
