"""The raw floors: the exact SQL statements of a call, recorded from the market, replayed with the sqlite3 module."""

import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from server.adapters.checks import CheckPool
from server.adapters.clock import SeedSigner, SystemClock, SystemDice
from server.adapters.dns import NameServers
from server.adapters.sanctions import SanctionsLists
from server.adapters.web import GuardedWeb
from server.settings import config_of, read_settings
from storage.open import serve
from storage.sqlite import READER, WRITER, SQLite
from storage.store import Store
from storage.transaction import Cursor
from tools.catalogue import CATALOGUE
from tools.engine.caller import CallRequest, Surface
from tools.engine.dispatch import Market
from tools.engine.ports import World

CONTROL = ("BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK", "COMMIT")
Statement = tuple[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operation."""

    operation: str
    arguments: dict[str, Any]
    key: str


@dataclass(frozen=True, slots=True)
class Unit:
    """The statements of one call, and its answer."""

    reads: list[Statement]
    writes: list[Statement]
    answer: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Replay:
    """Statements to run again.

    In each transaction of `writes`, new ids replace those in `answer`.
    """

    path: Path
    units: Sequence[Unit]
    times: int
    writes: bool
    first: int = 0  # the number of the first transaction, from which ids are made


class _Recorder:
    """A cursor that records its statements."""

    def __init__(self, cursor: Cursor, noted: list[Statement]) -> None:
        self.cursor, self.noted = cursor, noted

    def execute(self, sql: str, values: Sequence[Any] = ()) -> object:
        if not sql.startswith(CONTROL):
            self.noted.append((sql, _plain(values)))
        return self.cursor.execute(sql, values)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> object:
        every = list(rows)
        self.noted.extend((sql, _plain(row)) for row in every)
        return self.cursor.executemany(sql, every)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cursor, name)


class _RecordedSQLite(SQLite):
    def __init__(self, path: Path) -> None:
        self.reads: list[Statement] = []
        self.writes: list[Statement] = []
        super().__init__(path)

    def write_cursor(self) -> Cursor:
        return _Recorder(super().write_cursor(), self.writes)

    def read_cursor(self, seconds: float) -> Cursor:
        return _Recorder(super().read_cursor(seconds), self.reads)


async def record(path: Path, pepper: bytes, calls: Sequence[Call]) -> list[Unit]:
    """Make calls on a market over this file, without cached hits; return the statements of each."""
    database = _RecordedSQLite(path)
    market = market_over(serve(database), pepper, path.parent)
    units = []
    for call in calls:
        database.reads.clear()
        database.writes.clear()
        market.services.caches.searches.clear()
        body = await perform(market, call)
        units.append(Unit(list(database.reads), list(database.writes), orjson.loads(body)))
    market.store.close()
    return units


def market_over(store: Store, pepper: bytes, folder: Path) -> Market:
    """Return the market in this process, without chains."""
    signer, sanctions = SeedSigner(bytes(32)), SanctionsLists((), (), folder)
    world = World(SystemClock(), SystemDice(), {}, signer, sanctions, CheckPool(), GuardedWeb(), NameServers())
    return Market(store, world, config_of(read_settings(), pepper))


async def perform(market: Market, call: Call) -> bytes:
    """Make one call; return the answer's body. Raises RuntimeError if it is refused."""
    request = CallRequest(Surface.REST, "127.0.0.1", "req_bench", credential=call.key)
    answer = await market.call(CATALOGUE[call.operation], call.arguments, request)
    if answer.refused:
        raise RuntimeError(f"{call.operation}: {answer.body.decode()}")
    return answer.body


def replay(given: Replay) -> float:
    """Return microseconds of this thread's CPU for one unit."""
    with closing(sqlite3.connect(given.path, isolation_level=None, cached_statements=512)) as connection:
        connection.executescript(WRITER if given.writes else READER)
        numbers = range(given.first, given.first + given.times)
        said = [_said(given.units[number % len(given.units)], number, given.writes) for number in numbers]
        begin, end = ("BEGIN IMMEDIATE", "COMMIT") if given.writes else ("BEGIN", "ROLLBACK")
        cursor = connection.cursor()
        began = time.thread_time()
        for statements in said:
            cursor.execute(begin)
            for sql, values in statements:
                cursor.execute(sql, values).fetchall()
            cursor.execute(end)
        return (time.thread_time() - began) / given.times * 1e6


def _plain(values: Sequence[Any]) -> list[Any]:
    return [bytes(value) if isinstance(value, memoryview) else value for value in values]


def _said(unit: Unit, number: int, writes: bool) -> list[Statement]:
    if not writes:
        return unit.reads
    fresh = {unit.answer[name]: f"{unit.answer[name][:4]}{number:026d}" for name in ("id", "thread_id")}
    kept = [values[0] for sql, values in unit.writes if "INTO documents" in sql]
    fresh |= dict.fromkeys(kept, f"{number:064x}")  # a new input, so that it is inserted
    return [(sql, [_renamed(value, fresh) for value in values]) for sql, values in unit.writes]


def _renamed(value: Any, fresh: dict[str, str]) -> Any:
    """Return the value with this transaction's ids in place of the recorded ones."""
    if not isinstance(value, str):
        return value
    for old, new in fresh.items():
        value = value.replace(old, new)
    return value
