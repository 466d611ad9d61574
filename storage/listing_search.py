"""Search among listings. The index is updated in the unit of work that changes a listing, and read by keyset.

SQLite: a contentless FTS5 table for each order, whose rowid is the sort key, so that a search stops after its page.
PostgreSQL: a tsvector with a GIN index, and b-trees on the keys. Both store the same tokens and the same keys, so both
return the same results.
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
    func,
    insert,
    literal_column,
    or_,
    select,
    table,
    update,
)
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR

from storage.agents import SEEN_SINCE, was_seen
from storage.listing_search_tokens import (
    ENVIRONMENTS,
    TOKENS_VERSION,
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
from storage.query import Query
from storage.tables.listings import ListingRow
from storage.tables.search import ListingSearchRow as S
from storage.transaction import Tx
from storage.vocabulary import ListingStatus

LAST_KEY = (1 << 63) - 1
NEAR_ROWS = 1_000  # if too few of them match, at most about 2 % of all rows do, and sorting those is quick
KEYS = {Sort.RELEVANCE: "rank", Sort.RATING: "rank", Sort.NEWEST: "newest", Sort.CHEAPEST: "cheapest"}
FTS = {"rank": "search_rank", "newest": "search_newest", "cheapest": "search_cheapest"}  # SQLite's tables


class Hit(NamedTuple):
    """A found listing and its sort key."""

    listing_id: str
    seller_id: str
    key: int


@dataclass(frozen=True, slots=True)
class Found:
    """A page of hits in their order.

    The search for the next page takes `after`, unless it is None, and `any_terms`.
    """

    hits: tuple[Hit, ...]
    after: int | None
    any_terms: bool


@dataclass(frozen=True, slots=True)
class Indexed:
    """A listing's current row, the terms it is found by, and its average rating from 1 to 5."""

    listing: ListingRow
    terms: Sequence[str]
    rating: float | None


class _Place(NamedTuple):
    """The index entry of an active listing."""

    rank: int
    newest: int
    cheapest: int
    tokens: str
    made_by: int


_Move = tuple[_Place | None, _Place | None]  # the old and the new index entry


def find(tx: Tx, search: ListingSearch) -> Found:
    """Return one page of hits.

    If no listing has all the terms, the first page and the following ones accept any of them.
    """
    found = _page(tx, search)
    if found.hits or search.after >= 0 or search.any_terms or len(search.terms) < 2:
        return found
    return _page(tx, replace(search, any_terms=True))


def _hits(tx: Tx, search: ListingSearch, limit: int) -> list[Hit]:
    """Return at most `limit` hits with keys after `after`, lowest key first."""
    match = render(conjunction(search), tx.is_sqlite)
    if search.sort not in (Sort.RELEVANCE, Sort.RATING):
        return _between(tx, search, match, search.after + 1, LAST_KEY, limit)
    halves = [(0, UNGRADUATED - 1), (UNGRADUATED, LAST_KEY)]  # of rank keys: graduated listings, then the others
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
    """Update a listing's index entry; remove it unless the listing is active."""
    index_listings(tx, [Indexed(listing, terms, rating)])


def index_listings(tx: Tx, batch: Iterable[Indexed]) -> None:
    """Update the index entries of many listings.

    They are written in the order of their keys, because FTS5 prefers that for bulk writes.
    """
    moves = [_place(tx, indexed) for indexed in batch]
    if tx.is_sqlite:
        for key in FTS:
            _move(tx, key, moves)


def render(asked: Conjunction, is_sqlite: bool) -> str:
    """Return the conjunction as an FTS5 query or a tsquery.

    Each token is quoted, so that none is read as syntax.
    """
    if is_sqlite:
        return " AND ".join(f"({' OR '.join(map(_phrase, group))})" for group in asked)
    return " & ".join(f"({' | '.join(map(_lexeme, group))})" for group in asked)


def _page(tx: Tx, search: ListingSearch) -> Found:
    hits = _hits(tx, search, search.limit + 1)
    page = tuple(hits[: search.limit])
    return Found(page, page[-1].key if len(hits) > search.limit else None, search.any_terms)


def _between(tx: Tx, search: ListingSearch, match: str, low: int, high: int, limit: int) -> list[Hit]:
    key = KEYS[search.sort]
    values: dict[str, object] = {"env": search.env, "match": match, "low": low, "high": high, "limit": limit}
    seen = search.seen_since is not None
    if seen:
        values[SEEN_SINCE] = search.seen_since
    if tx.is_sqlite:
        return [*map(Hit._make, tx.all(FROM_SQLITE[key, seen], **values))]
    near = tx.all(NEAR[key, seen], **values)
    return [*map(Hit._make, near if len(near) == limit else tx.all(ANYWHERE[key, seen], **values))]


def _place(tx: Tx, indexed: Indexed) -> _Move:
    """Write the listing's index row; return the old and the new entry."""
    listing = indexed.listing
    row = tx.one(BY_LISTING, listing_id=listing.id)
    before = _held(row)
    if listing.status is not ListingStatus.ACTIVE:
        if row and before:
            tx.run(PLACE, _seq=row.seq, rank=None, newest=None, cheapest=None, tokens=None, made_by=None)
        return before, None
    seq = row.seq if row else tx.one(NUMBER, listing_id=listing.id, env=listing.env, seller_id=listing.seller_id)
    assert seq is not None
    after = _Place(
        rank=rank_key(listing.graduated, indexed.rating, seq),
        newest=newest_key(seq),
        cheapest=_free_cheapest_key(tx, listing.price, seq),
        tokens=listing_tokens(listing, indexed.terms),
        made_by=TOKENS_VERSION,
    )
    if after != before:
        tx.run(PLACE, _seq=seq, **after._asdict())
    return before, after


def _held(row: S | None) -> _Place | None:
    if row is None or row.rank is None or row.newest is None or row.cheapest is None or row.tokens is None:
        return None
    return _Place(row.rank, row.newest, row.cheapest, row.tokens, row.made_by or 0)


def _free_cheapest_key(tx: Tx, price: int | None, seq: int) -> int:
    """Return the listing's own key, or the next one that no other listing of this price has."""
    key = cheapest_key(price, seq)
    while tx.one(CHEAPEST_HOLDER, cheapest=key) not in (None, seq):
        key = next_slot(key)
    return key


def _move(tx: Tx, key: str, moves: Sequence[_Move]) -> None:
    """Update one FTS5 table, in the order of its rowids.

    A contentless table deletes a row only if given the row's text.
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
    """Return an FTS5 table with its hidden column.

    The hidden column has the table's name and takes searches and commands.
    """
    return table(FTS[key], column("rowid", BigInteger), column("tokens", Text), column(FTS[key], Text))


def _of_sellers(seen: bool) -> list[ColumnElement[bool]]:
    """Return the conditions on the seller of a listing."""
    return [was_seen(S.seller_id)] if seen else []


def _from_sqlite(key: str, seen: bool) -> Query[tuple[str, str, int]]:
    fts = _fts(key)
    return Query(
        select(S.listing_id, S.seller_id, fts.c.rowid)
        # LEFT: SQLite then reads the full-text index first, whatever its estimates.
        .select_from(fts.outerjoin(S.__table__, (S.env == bindparam("env")) & (S.__table__.c[key] == fts.c.rowid)))
        .where(
            fts.c[FTS[key]].op("MATCH")(bindparam("match")),
            fts.c.rowid.between(bindparam("low"), bindparam("high")),
            *_of_sellers(seen),
        )
        .order_by(fts.c.rowid)
        .limit(bindparam("limit"))
    )


def _near(key: str, seen: bool) -> Query[tuple[str, str, int]]:
    """Build PostgreSQL's query for frequent matches.

    It searches among the next NEAR_ROWS rows of the order.
    """
    order = S.__table__.c[key]
    rows = (
        select(S.listing_id, S.seller_id, order.label("key"), column("terms", TSVECTOR))
        .where(S.env == bindparam("env"), order.between(bindparam("low"), bindparam("high")), *_of_sellers(seen))
        .order_by(order)
        .limit(literal_column(str(NEAR_ROWS)))  # a constant, because the planner must know it
        .subquery()
    )
    return Query(
        select(rows.c.listing_id, rows.c.seller_id, rows.c.key)
        .where(matches(rows.c.terms))
        .order_by(rows.c.key)
        .limit(bindparam("limit"))
    )


def _anywhere(key: str, seen: bool) -> Query[tuple[str, str, int]]:
    """Build PostgreSQL's query for rare matches: all of them, then sorted.

    `+ 0` keeps the planner from using the order's b-tree.
    """
    order = S.__table__.c[key] + literal_column("0")
    return Query(
        select(S.listing_id, S.seller_id, S.__table__.c[key])
        .where(
            matches(column("terms", TSVECTOR)), order.between(bindparam("low"), bindparam("high")), *_of_sellers(seen)
        )
        .order_by(order)
        .limit(bindparam("limit"))
    )


def matches(terms: ColumnElement[str]) -> ColumnElement[bool]:
    return terms.op("@@", return_type=Boolean())(cast(bindparam("match"), TSQUERY))


def _insert(key: str, **constants: str) -> Query[None]:
    return Query(insert(_fts(key)).values({"rowid": bindparam("rowid"), "tokens": bindparam("tokens"), **constants}))


FROM_SQLITE = {(key, seen): _from_sqlite(key, seen) for key in FTS for seen in (False, True)}
NEAR = {(key, seen): _near(key, seen) for key in FTS for seen in (False, True)}
ANYWHERE = {(key, seen): _anywhere(key, seen) for key in FTS for seen in (False, True)}
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
_STALE = S.made_by < bindparam("version")
stale_listings: Query[str] = Query(select(S.listing_id).where(_STALE).order_by(S.seq).limit(bindparam("limit")))
stale_listings_counted: Query[int] = Query(select(func.count()).select_from(S.__table__).where(_STALE))
give_up_stale: Query[None] = Query(update(S).where(S.listing_id == bindparam("listing_id")).values(made_by=None))
