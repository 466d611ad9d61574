"""Search among listings, in several orders (storage.search_index)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, or_, select, update

from storage.agents import SEEN_SINCE, was_seen
from storage.query import Query
from storage.search_index import LAST_KEY, Entry, Found, Hit, Move, Order, SearchIndex, all_or_any
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


LISTINGS = SearchIndex(
    S, "listing_id", {key: ORDERS[key, False] for key in FTS}, ["env", "seller_id"], also_placed=["made_by"]
)


def find(tx: Tx, search: ListingSearch) -> Found:
    return all_or_any(_hits, tx, search)


def _hits(tx: Tx, search: ListingSearch) -> list[Hit]:
    """Return the hits of a page after `after`, lowest key first, and one more."""
    if search.sort not in (Sort.RELEVANCE, Sort.RATING):
        return _between(tx, search, search.after + 1, LAST_KEY)
    halves = [(0, UNGRADUATED - 1), (UNGRADUATED, LAST_KEY)]  # of rank keys: graduated listings, then the others
    if search.graduated is not None:
        halves = halves[:1] if search.graduated else halves[1:]
    if search.sort is Sort.RELEVANCE:
        low, high = halves[0][0], halves[-1][1]
        return _between(tx, search, max(search.after + 1, low), high)
    hits = [
        hit._replace(key=hit.key - low)
        for low, high in halves
        for hit in _between(tx, search, low + search.after + 1, high)
    ]
    return sorted(hits, key=lambda hit: hit.key)[: search.limit + 1]


def _between(tx: Tx, search: ListingSearch, low: int, high: int) -> list[Hit]:
    order = ORDERS[KEYS[search.sort], search.seen_since is not None]
    bound = {"env": search.env, SEEN_SINCE: search.seen_since}
    return order.between(tx, conjunction(search), low, high, search.limit + 1, **bound)


def index_listing(tx: Tx, listing: ListingRow, terms: Sequence[str], rating: float | None) -> None:
    """Update a listing's index entry; remove it unless the listing is active."""
    index_listings(tx, [Indexed(listing, terms, rating)])


def index_listings(tx: Tx, batch: Iterable[Indexed]) -> None:
    """Update the index entries of many listings."""
    LISTINGS.write_full_text(tx, [_change(tx, indexed) for indexed in batch])


def _change(tx: Tx, indexed: Indexed) -> Move:
    listing = indexed.listing

    def entry_of(seq: int) -> Entry:
        return {
            "rank": rank_key(listing.graduated, indexed.rating, seq),
            "newest": newest_key(seq),
            "cheapest": _free_cheapest_key(tx, listing.price, seq),
            "tokens": listing_tokens(listing, indexed.terms),
            "made_by": TOKENS_VERSION,
        }

    made = entry_of if listing.status is ListingStatus.ACTIVE else None
    return LISTINGS.change(tx, listing.id, made, env=listing.env, seller_id=listing.seller_id)


def _free_cheapest_key(tx: Tx, price: int | None, seq: int) -> int:
    """Return the listing's own key, or the next one that no other listing of this price has."""
    key = cheapest_key(price, seq)
    while tx.one(CHEAPEST_HOLDER, cheapest=key) not in (None, seq):
        key = next_slot(key)
    return key


CHEAPEST_HOLDER = Query(
    select(S.seq).where(or_(*(S.env == env for env in ENVIRONMENTS)), S.cheapest == bindparam("cheapest"))
)
_STALE = S.made_by < bindparam("version")
stale_listings: Query[str] = Query(select(S.listing_id).where(_STALE).order_by(S.seq).limit(LIMIT))
stale_listings_counted = count(S, _STALE)
give_up_stale: Query[None] = Query(update(S).where(*matching(S.listing_id)).values(made_by=None))
