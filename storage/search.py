"""Search among listings: the index is kept inside the unit of work that changes a listing, and read by keyset.

SQLite: a contentless FTS5 table for each order, its rowid the sort key, so that a search stops after its page.
PostgreSQL: a tsvector with a GIN index, and b-trees on the keys.
Both hold the same tokens and the same keys, so both give the same answers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    TableClause,
    Text,
    bindparam,
    cast,
    column,
    insert,
    literal_column,
    or_,
    select,
    table,
    update,
)
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR

from storage.query import Query
from storage.searchindex import (
    ENVIRONMENTS,
    UNGRADUATED,
    Conjunction,
    ListingSearch,
    Sort,
    cheapest_key,
    conjunction,
    listing_tokens,
    newest_key,
    next_slot,
    rank_key,
)
from storage.tables.listings import ListingRow, ListingStatus
from storage.tables.search import ListingSearchRow as S
from storage.unit import Tx

LAST_KEY = (1 << 63) - 1
NEAR_ROWS = 1_000  # what is not found among them often enough is at most a fiftieth, which is sorted quickly
KEYS = {Sort.RELEVANCE: "rank", Sort.RATING: "rank", Sort.NEWEST: "newest", Sort.CHEAPEST: "cheapest"}
FTS = {"rank": "search_rank", "newest": "search_newest", "cheapest": "search_cheapest"}  # SQLite's tables


class Hit(NamedTuple):
    """A found listing and its sort key."""

    listing_id: str
    seller_id: str
    key: int


@dataclass(frozen=True, slots=True)
class Found:
    """A page of hits in their order. The next page's search carries `after`, if there is one, and `any_terms`."""

    hits: tuple[Hit, ...]
    after: int | None
    any_terms: bool


@dataclass(frozen=True, slots=True)
class Indexed:
    """A listing as it now stands, the terms it is found by, and its average rating from 1 to 5."""

    listing: ListingRow
    terms: Sequence[str]
    rating: float | None


class _Place(NamedTuple):
    """What the index holds of a listing that is for sale."""

    rank: int
    newest: int
    cheapest: int
    tokens: str


_Move = tuple[_Place | None, _Place | None]  # what the index held, and what it is to hold


def find(tx: Tx, search: ListingSearch) -> Found:
    """One page. Where no listing has all the terms, the first page and those after it take any of them."""
    found = _page(tx, search)
    if found.hits or search.after >= 0 or search.any_terms or len(search.terms) < 2:
        return found
    return _page(tx, replace(search, any_terms=True))


def _hits(tx: Tx, search: ListingSearch, limit: int) -> list[Hit]:
    """At most `limit` hits whose keys come after `after`, lowest key first."""
    match = render(conjunction(search), tx.is_sqlite)
    if search.sort not in (Sort.RELEVANCE, Sort.RATING):
        return _between(tx, search, match, search.after + 1, LAST_KEY, limit)
    halves = [(0, UNGRADUATED - 1), (UNGRADUATED, LAST_KEY)]  # of the ranks: the graduated, the others
    if search.graduated is not None:
        halves = halves[:1] if search.graduated else halves[1:]
    if search.sort is Sort.RELEVANCE:
        low, high = halves[0][0], halves[-1][1]
        return _between(tx, search, match, max(search.after + 1, low), high, limit)
    hits = [
        hit._replace(key=hit.key - low)
        for low, high in halves
        for hit in _between(tx, search, match, low + search.after + 1, high, limit)
    ]
    return sorted(hits, key=lambda hit: hit.key)[:limit]


def index_listing(tx: Tx, listing: ListingRow, terms: Sequence[str], rating: float | None) -> None:
    """Make search show this listing as it now stands, or not at all unless it is active."""
    index_listings(tx, [Indexed(listing, terms, rating)])


def index_listings(tx: Tx, batch: Iterable[Indexed]) -> None:
    """The same for many: the indexes are written in the order of their keys, which FTS5 wants in bulk."""
    moves = [_place(tx, indexed) for indexed in batch]
    if tx.is_sqlite:
        for key in FTS:
            _move(tx, key, moves)


def render(asked: Conjunction, is_sqlite: bool) -> str:
    """The conjunction as FTS5 or as a tsquery. Each token is quoted, so none can be read as syntax."""
    if is_sqlite:
        return " AND ".join(f"({' OR '.join(map(_phrase, group))})" for group in asked)
    return " & ".join(f"({' | '.join(map(_lexeme, group))})" for group in asked)


def _page(tx: Tx, search: ListingSearch) -> Found:
    hits = _hits(tx, search, search.limit + 1)
    page = tuple(hits[: search.limit])
    return Found(page, page[-1].key if len(hits) > search.limit else None, search.any_terms)


def _between(tx: Tx, search: ListingSearch, match: str, low: int, high: int, limit: int) -> list[Hit]:
    key = KEYS[search.sort]
    values = {"env": search.env, "match": match, "low": low, "high": high, "limit": limit}
    if tx.is_sqlite:
        return [*map(Hit._make, tx.all(FROM_SQLITE[key], **values))]
    near = tx.all(NEAR[key], **values)
    return [*map(Hit._make, near if len(near) == limit else tx.all(ANYWHERE[key], **values))]


def _place(tx: Tx, indexed: Indexed) -> _Move:
    """Write the listing's index row."""
    listing = indexed.listing
    row = tx.one(BY_LISTING, listing_id=listing.id)
    before = _held(row)
    if listing.status is not ListingStatus.ACTIVE:
        if row and before:
            tx.run(PLACE, _seq=row.seq, rank=None, newest=None, cheapest=None, tokens=None)
        return before, None
    seq = row.seq if row else tx.one(NUMBER, listing_id=listing.id, env=listing.env, seller_id=listing.seller_id)
    assert seq is not None
    after = _Place(
        rank=rank_key(listing.graduated, indexed.rating, seq),
        newest=newest_key(seq),
        cheapest=_free_cheapest_key(tx, listing.price, seq),
        tokens=listing_tokens(listing, indexed.terms),
    )
    if after != before:
        tx.run(PLACE, _seq=seq, **after._asdict())
    return before, after


def _held(row: S | None) -> _Place | None:
    if row is None or row.rank is None or row.newest is None or row.cheapest is None or row.tokens is None:
        return None
    return _Place(row.rank, row.newest, row.cheapest, row.tokens)


def _free_cheapest_key(tx: Tx, price: int | None, seq: int) -> int:
    """The listing's own key, or the next one that no other listing of this price has."""
    key = cheapest_key(price, seq)
    while tx.one(CHEAPEST_HOLDER, cheapest=key) not in (None, seq):
        key = next_slot(key)
    return key


def _move(tx: Tx, key: str, moves: Sequence[_Move]) -> None:
    """Bring one FTS5 table from what it held to what it is to hold, in the order of its rowids.

    A contentless table forgets a row only when it is told the row's text.
    """
    steps: list[tuple[int, Query[None], str]] = []
    for move in moves:
        old, new = (place and (getattr(place, key), place.tokens) for place in move)
        if old != new:
            steps += [(old[0], FORGET[key], old[1])] if old else []
            steps += [(new[0], REMEMBER[key], new[1])] if new else []
    for rowid, query, tokens in sorted(steps, key=lambda step: step[0]):
        tx.run(query, rowid=rowid, tokens=tokens)


def _phrase(token: str) -> str:
    return '"' + token.replace('"', '""') + '"'


def _lexeme(token: str) -> str:
    return "'" + token.replace("\\", "\\\\").replace("'", "''") + "'"


def _fts(key: str) -> TableClause:
    """An FTS5 table with its hidden column, which has the table's name and takes searches and commands."""
    return table(FTS[key], column("rowid", BigInteger), column("tokens", Text), column(FTS[key], Text))


def _from_sqlite(key: str) -> Query[tuple[str, str, int]]:
    fts = _fts(key)
    return Query(
        select(S.listing_id, S.seller_id, fts.c.rowid)
        # LEFT: SQLite then reads the index first, whatever it guesses of the sizes
        .select_from(fts.outerjoin(S.__table__, (S.env == bindparam("env")) & (S.__table__.c[key] == fts.c.rowid)))
        .where(
            fts.c[FTS[key]].op("MATCH")(bindparam("match")), fts.c.rowid.between(bindparam("low"), bindparam("high"))
        )
        .order_by(fts.c.rowid)
        .limit(bindparam("limit"))
    )


def _near(key: str) -> Query[tuple[str, str, int]]:
    """PostgreSQL, what is found often: among the next NEAR_ROWS rows of the order."""
    order = S.__table__.c[key]
    rows = (
        select(S.listing_id, S.seller_id, order.label("key"), column("terms", TSVECTOR))
        .where(S.env == bindparam("env"), order.between(bindparam("low"), bindparam("high")))
        .order_by(order)
        .limit(literal_column(str(NEAR_ROWS)))  # the planner must know it
        .subquery()
    )
    return Query(
        select(rows.c.listing_id, rows.c.seller_id, rows.c.key)
        .where(matches(rows.c.terms))
        .order_by(rows.c.key)
        .limit(bindparam("limit"))
    )


def _anywhere(key: str) -> Query[tuple[str, str, int]]:
    """PostgreSQL, what is found seldom: all that match, then sorted. `+ 0` keeps the planner off the order's b-tree."""
    order = S.__table__.c[key] + literal_column("0")
    return Query(
        select(S.listing_id, S.seller_id, S.__table__.c[key])
        .where(matches(column("terms", TSVECTOR)), order.between(bindparam("low"), bindparam("high")))
        .order_by(order)
        .limit(bindparam("limit"))
    )


def matches(terms: ColumnElement[str]) -> ColumnElement[bool]:
    return terms.op("@@", return_type=Boolean())(cast(bindparam("match"), TSQUERY))


def _insert(key: str, **constants: str) -> Query[None]:
    return Query(insert(_fts(key)).values({"rowid": bindparam("rowid"), "tokens": bindparam("tokens"), **constants}))


FROM_SQLITE = {key: _from_sqlite(key) for key in FTS}
NEAR = {key: _near(key) for key in FTS}
ANYWHERE = {key: _anywhere(key) for key in FTS}
REMEMBER = {key: _insert(key) for key in FTS}
FORGET = {key: _insert(key, **{FTS[key]: "delete"}) for key in FTS}
BY_LISTING = Query(select(S).where(S.listing_id == bindparam("listing_id")).with_for_update())
NUMBER = Query(
    insert(S).values({name: bindparam(name) for name in ("listing_id", "env", "seller_id")}).returning(S.seq)
)
PLACE = Query(update(S).where(S.seq == bindparam("_seq")).values({name: bindparam(name) for name in _Place._fields}))
CHEAPEST_HOLDER = Query(
    select(S.seq).where(or_(*(S.env == env for env in ENVIRONMENTS)), S.cheapest == bindparam("cheapest"))
)
