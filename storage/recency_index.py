"""A search index with one order, newest first, for agents and bounties; listings have storage.listing_search.

SQLite: a contentless FTS5 table whose rowid is the sort key. PostgreSQL: a tsvector with a GIN index, and a b-tree on
the key. The index is updated in the unit of work that changes the indexed row. It contains only rows that may be found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Text, bindparam, column, insert, literal_column, select, table, update
from sqlalchemy.dialects.postgresql import TSVECTOR

from storage.listing_search import LAST_KEY, NEAR_ROWS, matches, render
from storage.listing_search_tokens import Conjunction, newest_key
from storage.query import Query
from storage.rows import Row
from storage.transaction import Tx


class NewestHit(NamedTuple):
    """The id of a found row, and its sort key."""

    id: str
    key: int


@dataclass(frozen=True, slots=True)
class FoundNewest:
    """A page of hits, newest first.

    The search for the next page takes `after`, unless it is None, and `any_terms`.
    """

    hits: tuple[NewestHit, ...]
    after: int | None
    any_terms: bool


class RecencyIndex:
    """An index in a table with the columns seq, newest, tokens and `of`, the found row's id.

    `fts` is SQLite's full-text table.
    """

    def __init__(self, places: type[Row], of: str, fts: str, conditions: Sequence[ColumnElement[bool]] = ()) -> None:
        """Prepare the queries; `conditions` apply to all hits in addition to the search."""
        place: Any = places.__table__
        owner, newest = place.c[of], place.c.newest
        words = table(fts, column("rowid", BigInteger), column("tokens", Text), column(fts, Text))
        written: dict[str, Any] = {"rowid": bindparam("rowid"), "tokens": bindparam("tokens")}
        following = (  # PostgreSQL, frequent matches: among the next NEAR_ROWS rows of the order
            select(owner.label("id"), newest.label("key"), column("terms", TSVECTOR))
            .where(newest.between(bindparam("low"), bindparam("high")), *conditions)
            .order_by(newest)
            .limit(literal_column(str(NEAR_ROWS)))
            .subquery()
        )
        unsorted = newest + literal_column("0")  # keeps the planner from using the order's b-tree
        self.from_sqlite: Query[tuple[str, int]] = Query(
            select(owner, words.c.rowid)
            .select_from(words.outerjoin(place, newest == words.c.rowid))  # outer: the full-text index is read first
            .where(words.c[fts].op("MATCH")(bindparam("match")))
            .where(words.c.rowid.between(bindparam("low"), bindparam("high")), *conditions)
            .order_by(words.c.rowid)
            .limit(bindparam("limit"))
        )
        self.near: Query[tuple[str, int]] = Query(
            select(following.c.id, following.c.key)
            .where(matches(following.c.terms))
            .order_by(following.c.key)
            .limit(bindparam("limit"))
        )
        self.anywhere: Query[tuple[str, int]] = Query(  # rare matches: all of them, then sorted
            select(owner, newest)
            .where(
                matches(column("terms", TSVECTOR)), unsorted.between(bindparam("low"), bindparam("high")), *conditions
            )
            .order_by(unsorted)
            .limit(bindparam("limit"))
        )
        self.remember: Query[None] = Query(insert(words).values(written))
        self.forget: Query[None] = Query(insert(words).values({**written, fts: "delete"}))
        self.held: Query[Any] = Query(select(place).where(owner == bindparam("id")).with_for_update())
        self.number: Query[int] = Query(insert(place).values({of: bindparam("id")}).returning(place.c.seq))
        self.place: Query[None] = Query(
            update(place)
            .where(place.c.seq == bindparam("_seq"))
            .values(newest=bindparam("newest"), tokens=bindparam("tokens"))
        )

    def keep(self, tx: Tx, id: str, tokens: str | None) -> None:
        """Make search find this id by these tokens; without tokens, remove it."""
        row = tx.one(self.held, id=id)
        seq = row.seq if row else tx.one(self.number, id=id)
        assert seq is not None
        before = row.tokens if row else None
        if before == tokens:
            return
        key = newest_key(seq)
        tx.run(self.place, _seq=seq, newest=None if tokens is None else key, tokens=tokens)
        if tx.is_sqlite:  # a contentless table deletes a row only if given the row's text
            for query, text in ((self.forget, before), (self.remember, tokens)):
                if text is not None:
                    tx.run(query, rowid=key, tokens=text)

    def page(
        self, tx: Tx, asked: Conjunction, after: int, limit: int, *, any_terms: bool, **bound: object
    ) -> FoundNewest:
        """Return at most `limit` hits with keys after `after`.

        `bound` are the values of the conditions.
        """
        hits = self._hits(tx, asked, after, limit + 1, bound)
        return FoundNewest(tuple(hits[:limit]), hits[limit - 1].key if len(hits) > limit else None, any_terms)

    def _hits(self, tx: Tx, asked: Conjunction, after: int, limit: int, bound: Mapping[str, object]) -> list[NewestHit]:
        match = render(asked, tx.is_sqlite)
        values = {"match": match, "low": after + 1, "high": LAST_KEY, "limit": limit, **bound}
        if tx.is_sqlite:
            return [*map(NewestHit._make, tx.all(self.from_sqlite, **values))]
        near = tx.all(self.near, **values)
        return [*map(NewestHit._make, near if len(near) == limit else tx.all(self.anywhere, **values))]
