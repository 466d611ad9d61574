"""Search among listings, in several orders (storage.search_index)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import bindparam, insert, or_, select, update

from storage.agents import SEEN_SINCE, was_seen
from storage.query import Query
from storage.search_index import LAST_KEY, Found, Hit, Order, all_or_any, page_of
from storage.search_tokens import (
    ENVIRONMENTS,
    TOKENS_VERSION,
    UNGRADUATED,
    ListingSearch,
    Sort,
    cheapest_key,
    conjunction,
    listing_tokens,
    newest_key,
    next_slot,
    rank_key,
)
from storage.statements import LIMIT, count, matching
from storage.tables.listings import ListingRow
from storage.tables.search import ListingSearchRow as S
from storage.transaction import Tx
from storage.vocabulary import ListingStatus

KEYS = {Sort.RELEVANCE: "rank", Sort.RATING: "rank", Sort.NEWEST: "newest", Sort.CHEAPEST: "cheapest"}
FTS = {"rank": "search_rank", "newest": "search_newest", "cheapest": "search_cheapest"}  # SQLite's tables
ORDERS = {  # by key, and whether only listings of sellers that were seen are found
    (key, seen): Order(
        FTS[key],
        S.__table__.c[key],
        S.listing_id,
        within=[S.env == bindparam("env")],
        conditions=[was_seen(S.seller_id)] if seen else [],
    )
    for key in FTS
    for seen in (False, True)
}


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
    return all_or_any(_page, tx, search)


def _page(tx: Tx, search: ListingSearch) -> Found:
    return page_of(_hits(tx, search, search.limit + 1), search)


def _hits(tx: Tx, search: ListingSearch, limit: int) -> list[Hit]:
    """Return at most `limit` hits with keys after `after`, lowest key first."""
    if search.sort not in (Sort.RELEVANCE, Sort.RATING):
        return _between(tx, search, search.after + 1, LAST_KEY, limit)
    halves = [(0, UNGRADUATED - 1), (UNGRADUATED, LAST_KEY)]  # of rank keys: graduated listings, then the others
    if search.graduated is not None:
        halves = halves[:1] if search.graduated else halves[1:]
    if search.sort is Sort.RELEVANCE:
        low, high = halves[0][0], halves[-1][1]
        return _between(tx, search, max(search.after + 1, low), high, limit)
    hits = [
        hit._replace(key=hit.key - low)
        for low, high in halves
        for hit in _between(tx, search, low + search.after + 1, high, limit)
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


def _between(tx: Tx, search: ListingSearch, low: int, high: int, limit: int) -> list[Hit]:
    order = ORDERS[KEYS[search.sort], search.seen_since is not None]
    bound = {"env": search.env, SEEN_SINCE: search.seen_since}
    return order.between(tx, conjunction(search), low, high, limit, **bound)


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
    order, steps = ORDERS[key, False], list[tuple[int, Query[None], str]]()
    for move in moves:
        old, new = (place and (getattr(place, key), place.tokens) for place in move)
        if old != new:
            steps += [(old[0], order.forget, old[1])] if old else []
            steps += [(new[0], order.remember, new[1])] if new else []
    for rowid, query, tokens in sorted(steps, key=lambda step: step[0]):
        tx.run(query, rowid=rowid, tokens=tokens)


BY_LISTING = Query(select(S).where(*matching(S.listing_id)).with_for_update())
NUMBER = Query(
    insert(S).values({name: bindparam(name) for name in ("listing_id", "env", "seller_id")}).returning(S.seq)
)
PLACE = Query(update(S).where(S.seq == bindparam("_seq")).values({name: bindparam(name) for name in _Place._fields}))
CHEAPEST_HOLDER = Query(
    select(S.seq).where(or_(*(S.env == env for env in ENVIRONMENTS)), S.cheapest == bindparam("cheapest"))
)
_STALE = S.made_by < bindparam("version")
stale_listings: Query[str] = Query(select(S.listing_id).where(_STALE).order_by(S.seq).limit(LIMIT))
stale_listings_counted = count(S, _STALE)
give_up_stale: Query[None] = Query(update(S).where(*matching(S.listing_id)).values(made_by=None))
