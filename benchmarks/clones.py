"""Copies of jobs, made by SQL alone: every row of a job with other ids and parties, a million at a time."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Table, Text

import storage.tables  # noqa: F401 - makes the tables known
from benchmarks.data import BUSY_AGENTS, Seeded
from storage.database import Database
from storage.open import open_database
from storage.rows import metadata
from storage.tables import JobRow
from storage.transaction import Tx

DIGITS = 12  # of a copy's number, at the end of each of its ids
SERIES = """
    WITH RECURSIVE series(number) AS (
        SELECT CAST({first} AS BIGINT) UNION ALL SELECT number + 1 FROM series WHERE number < {last}
    )
"""
NUMBERED = f"substr(CAST(series.number + {10**DIGITS} AS TEXT), 2)"
CHUNK = 20_000  # copies in a commit
HISTORY = (5_000, 250, 250)  # copies of the completed, the delivered and the open job


class Model(NamedTuple):
    """A job to copy, and the number of its copies."""

    job_id: str
    copies: int


def clone(
    database: Database, models: Sequence[Model], agents: Sequence[str], listings: Sequence[str], first: int = 1
) -> None:
    """Copy the jobs. These agents and listings take turns; a copy's number is in its ids.

    Counters, reputations and search are not copied. A listing's copies may have other sellers than its own.
    """
    tx = database.writing()
    if not tx.is_sqlite:
        tx.cursor.execute("SET lock_timeout = 0; SET statement_timeout = 0")  # autovacuum may work on the copies too
    _list(tx, "bench_agents", agents)
    _list(tx, "bench_listings", listings)
    for model in models:
        rows = _rows(tx, model.job_id)
        for start in range(first, first + model.copies, CHUNK):
            last = min(start + CHUNK, first + model.copies) - 1
            database.control(tx, database.begin)
            for row in rows:
                tx.cursor.execute(_insert(row, start, last, len(agents), len(listings)))
            database.control(tx, "COMMIT")
        first += model.copies
    tx.cursor.execute("UPDATE webhook_fanout SET event_number = (SELECT max(id) FROM events)")  # nothing to send
    if not tx.is_sqlite:
        tx.cursor.execute("VACUUM ANALYZE")  # as the server does by itself in time; SQLite has no statistics here
    database.discard(tx)


def clone_history(url: str, jobs: Sequence[str], data: Seeded) -> None:
    """Give the first agents about a hundred jobs each, most of them completed."""
    models = [Model(job, copies) for job, copies in zip(jobs, HISTORY, strict=True)]
    database = open_database(url)
    clone(database, models, [trader.id for trader in data.traders[:BUSY_AGENTS]], data.listing_ids)
    database.close()


class _Found(NamedTuple):
    """A row of a job: its key as an SQL condition, and the SQL of each column's value in a copy."""

    table: str
    key: str
    values: dict[str, str]


def _list(tx: Tx, table: str, ids: Sequence[str]) -> None:
    tx.cursor.execute(f"CREATE TEMPORARY TABLE {table} (place BIGINT PRIMARY KEY, id TEXT)")
    mark = "?" if tx.is_sqlite else "%s"
    tx.cursor.executemany(f"INSERT INTO {table} VALUES ({mark}, {mark})", list(enumerate(ids)))


def _rows(tx: Tx, job_id: str) -> list[_Found]:
    """Find every row that names the job or its thread."""
    job = tx.need(JobRow, job_id)
    ids, others = (job.id, job.thread_id), {job.buyer_id: "buyer.id", job.seller_id: "seller.id"}
    if job.listing_id:
        others[job.listing_id] = "listing.id"
    return [_copied(table, row, ids, others) for table in metadata.sorted_tables for row in _naming(tx, table, ids)]


def _naming(tx: Tx, table: Table, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of a table that name one of these ids."""
    texts = [column.name for column in table.columns if isinstance(column.type, Text)]
    tests = [f"{name} IN ({', '.join(map(_quoted, ids))})" for name in texts]
    tests += [f"data LIKE {_quoted(f'%{ids[0]}%')}"] if "data" in texts else []
    names = [column.name for column in table.columns]
    tx.cursor.execute(f"SELECT {', '.join(names)} FROM {table.name} WHERE {' OR '.join(tests) or 'false'}")
    return [dict(zip(names, row, strict=True)) for row in tx.cursor.fetchall()]


def _copied(table: Table, row: dict[str, Any], ids: Sequence[str], others: dict[str, str]) -> _Found:
    keys = [column.name for column in table.primary_key.columns]
    numbered = len(keys) == 1 and isinstance(row[keys[0]], int)  # by the database
    own = [row[name] for name in ("id", "tx_hash") if isinstance(row.get(name), str)]
    values = {
        name: _value(name, value, [*ids, *own], others)
        for name, value in row.items()
        if not (numbered and name in keys)
    }
    key = " AND ".join(f"model.{name} = {_literal(row[name])}" for name in keys)
    return _Found(table.name, key, values)


def _value(name: str, value: Any, ids: Sequence[str], others: dict[str, str]) -> str:
    """Return the SQL of a column's value in a copy."""
    if not isinstance(value, str):
        return f"model.{name}"
    if value in others:
        return others[value]
    made = f"model.{name}"
    for found in ids:
        bare = found.rpartition("_")[2]  # some columns have an id without its prefix
        if bare in value:
            made = f"replace({made}, {_quoted(bare)}, {_quoted(bare[:-DIGITS])} || {NUMBERED})"
    for other, sql in others.items():
        if other in value:
            made = f"replace({made}, {_quoted(other)}, {sql})"
    return made


def _insert(found: _Found, first: int, last: int, agents: int, listings: int) -> str:
    columns, values = ", ".join(found.values), ", ".join(found.values.values())
    shift = f"1 + {_modulo(f'series.number / {agents}', agents - 1)}"  # no agent buys from itself
    return (
        f"INSERT INTO {found.table} ({columns}) {SERIES.format(first=first, last=last)} SELECT {values} FROM series "
        f"JOIN bench_agents AS buyer ON buyer.place = {_modulo('series.number', agents)} "
        f"JOIN bench_agents AS seller ON seller.place = {_modulo(f'buyer.place + {shift}', agents)} "
        f"JOIN bench_listings AS listing ON listing.place = {_modulo('series.number', listings)} "
        f"JOIN {found.table} AS model ON {found.key}"
    )


def _modulo(number: str, by: int) -> str:
    """Return the SQL of a remainder, without the sign that a driver reads as a parameter."""
    return f"(({number}) - ({number}) / {by} * {by})"


def _literal(value: Any) -> str:
    return str(value) if isinstance(value, int) else _quoted(str(value))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
