"""Search indexes: hits in an order, by keyset. An index is updated in the unit of work that changes the indexed row.

SQLite: a contentless FTS5 table for each order, whose rowid is the sort key, so that a search stops after its page.
PostgreSQL: a tsvector with a GIN index, and b-trees on the keys. Both store the same tokens and the same keys, so both
return the same results.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Boolean,
    ColumnElement,
    Text,
    and_,
    bindparam,
    cast,
    column,
    insert,
    literal_column,
    select,
    table,
    update,
)
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR

from storage.query import Query
from storage.rows import Row
from storage.search_tokens import Conjunction, Search, newest_key
from storage.statements import LIMIT, Condition
from storage.transaction import Tx

S = TypeVar("S", bound=Search)
LAST_KEY = (1 << 63) - 1
NEAR_ROWS = 1_000  # if too few of them match, at most about 2 % of all rows do, and sorting those is quick


class Hit(NamedTuple):
    """The id of a found row, and its sort key."""

    id: str
    key: int


@dataclass(frozen=True, slots=True)
class Found:
    """A page of hits in their order.

    The search for the next page takes `after`, unless it is None, and `any_terms`.
    """

    hits: tuple[Hit, ...]
    after: int | None
    any_terms: bool


def all_or_any(hits_of: Callable[[Tx, S], list[Hit]], tx: Tx, search: S) -> Found:
    """Return one page of hits.

    `hits_of` returns one more than the page if another page follows. If nothing has all the terms, the first page and
    the following ones accept any of them.
    """
    hits = hits_of(tx, search)
    if not hits and search.after < 0 and not search.any_terms and len(search.terms) > 1:
        search = replace(search, any_terms=True)
        hits = hits_of(tx, search)
    page = tuple(hits[: search.limit])
    return Found(page, page[-1].key if len(hits) > search.limit else None, search.any_terms)


def render(asked: Conjunction, is_sqlite: bool) -> str:
    """Return the conjunction as an FTS5 query or a tsquery.

    Each token is quoted, so that none is read as syntax.
    """
    if is_sqlite:
        return " AND ".join(f"({' OR '.join(map(_phrase, group))})" for group in asked)
    return " & ".join(f"({' | '.join(map(_lexeme, group))})" for group in asked)


def _phrase(token: str) -> str:
    return '"' + token.replace('"', '""') + '"'


def _lexeme(token: str) -> str:
    return "'" + token.replace("\\", "\\\\").replace("'", "''") + "'"


def _matches(terms: ColumnElement[str]) -> Condition:
    return terms.op("@@", return_type=Boolean())(cast(bindparam("match"), TSQUERY))


class Order:
    """One order of an index, lowest key first.

    It has the queries of the hits, and of the changes of SQLite's full-text table.
    """

    def __init__(
        self, fts: str, key: Any, id_column: Any, within: Sequence[Condition] = (), conditions: Sequence[Condition] = ()
    ) -> None:
        """Prepare the queries.

        `fts` is SQLite's full-text table; its hidden column has the same name and takes searches and commands.
        `within` are the conditions that belong to the key, `conditions` apply to all hits in addition to the search.
        """
        words = table(fts, column("rowid", BigInteger), column("tokens", Text), column(fts, Text))
        low: BindParameter[int] = bindparam("low")
        high: BindParameter[int] = bindparam("high")
        self.from_sqlite: Query[tuple[str, int]] = Query(
            select(id_column, words.c.rowid)
            # LEFT: SQLite then reads the full-text index first, whatever its estimates.
            .select_from(words.outerjoin(key.table, and_(*within, key == words.c.rowid)))
            .where(words.c[fts].op("MATCH")(bindparam("match")), words.c.rowid.between(low, high), *conditions)
            .order_by(words.c.rowid)
            .limit(LIMIT)
        )
        following = (
            select(id_column.label("id"), key.label("key"), column("terms", TSVECTOR))
            .where(*within, key.between(low, high), *conditions)
            .order_by(key)
            .limit(literal_column(str(NEAR_ROWS)))  # a constant, because the planner must know it
            .subquery()
        )
        self.near: Query[tuple[str, int]] = Query(  # PostgreSQL, frequent matches: among the next rows of the order
            select(following.c.id, following.c.key)
            .where(_matches(following.c.terms))
            .order_by(following.c.key)
            .limit(LIMIT)
        )
        unsorted = key + literal_column("0")  # keeps the planner from using the order's b-tree
        self.anywhere: Query[tuple[str, int]] = Query(  # PostgreSQL, rare matches: all of them, then sorted
            select(id_column, key)
            .where(_matches(column("terms", TSVECTOR)), unsorted.between(low, high), *conditions)
            .order_by(unsorted)
            .limit(LIMIT)
        )
        written: dict[str, Any] = {"rowid": bindparam("rowid"), "tokens": bindparam("tokens")}
        self.remember: Query[None] = Query(insert(words).values(written))
        self.forget: Query[None] = Query(insert(words).values({**written, fts: "delete"}))

    def between(self, tx: Tx, asked: Conjunction, low: int, high: int, limit: int, **bound: object) -> list[Hit]:
        """Return at most `limit` hits with keys from `low` to `high`.

        `bound` are the values of the conditions.
        """
        values = {"match": render(asked, tx.is_sqlite), "low": low, "high": high, "limit": limit, **bound}
        if tx.is_sqlite:
            return [*map(Hit._make, tx.all(self.from_sqlite, **values))]
        near = tx.all(self.near, **values)
        return [*map(Hit._make, near if len(near) == limit else tx.all(self.anywhere, **values))]

    def after(self, tx: Tx, asked: Conjunction, search: Search, **bound: object) -> list[Hit]:
        """Return the hits of a page after `search.after`, and one more."""
        return self.between(tx, asked, search.after + 1, LAST_KEY, search.limit + 1, **bound)


Entry = Mapping[str, Any]  # the sort keys and the tokens of a row that may be found
Move = tuple[Entry | None, Entry | None]  # the old and the new entry
Make = Callable[[int, Entry | None], Entry | None]  # makes an entry of a row's number and of its old entry


class SearchIndex:
    """The table with the entries of an index, and SQLite's full-text table of each order.

    The table has the columns seq, tokens, a sort key for each order, and `of`, the found row's id.
    """

    def __init__(
        self,
        places: type[Row],
        of: str,
        orders: Mapping[str, Order],
        also_numbered: Sequence[str] = (),
        also_placed: Sequence[str] = (),
    ) -> None:
        place: Any = places.__table__
        self.orders = orders
        self.columns = (*orders, "tokens", *also_placed)
        self.held: Query[Any] = Query(select(place).where(place.c[of] == bindparam("id")).with_for_update())
        numbered: dict[str, Any] = {of: bindparam("id"), **{name: bindparam(name) for name in also_numbered}}
        self.number: Query[int] = Query(insert(place).values(numbered).returning(place.c.seq))
        placed: dict[str, Any] = {name: bindparam(name) for name in self.columns}
        self.place: Query[None] = Query(update(place).where(place.c.seq == bindparam("_seq")).values(placed))

    def change(self, tx: Tx, id: str, entry_of: Make | None, **numbered: str) -> Move:
        """Write the entry that is made; without one, remove it.

        A row gets its number here the first time, even if it is not to be found yet.
        """
        row = tx.one(self.held, id=id)
        before = None if row is None or row.tokens is None else {name: row.__dict__[name] for name in self.columns}
        seq = row.seq if row else tx.one(self.number, id=id, **numbered)
        assert seq is not None
        after = entry_of(seq, before) if entry_of else None
        if after != before:
            tx.run(self.place, _seq=seq, **(after or dict.fromkeys(self.columns)))
        return before, after

    def write_full_text(self, tx: Tx, moves: Sequence[Move]) -> None:
        """Update SQLite's full-text tables.

        Each is written in the order of its rowids, because FTS5 prefers that for bulk writes. A contentless table deletes a row only if given the row's text.
        """
        if not tx.is_sqlite:
            return
        for key, order in self.orders.items():
            steps: list[tuple[int, Query[None], str]] = []
            for move in moves:
                old, new = (entry and (entry[key], entry["tokens"]) for entry in move)
                if old != new:
                    steps += [(old[0], order.forget, old[1])] if old else []
                    steps += [(new[0], order.remember, new[1])] if new else []
            for rowid, query, tokens in sorted(steps, key=lambda step: step[0]):
                tx.run(query, rowid=rowid, tokens=tokens)


def keep_newest(tx: Tx, index: SearchIndex, id: str, tokens: str | None) -> None:
    """Make an index, newest first, find this id by these tokens; without tokens, remove it."""
    made = None if tokens is None else lambda seq, _: {"newest": newest_key(seq), "tokens": tokens}
    index.write_full_text(tx, [index.change(tx, id, made)])
