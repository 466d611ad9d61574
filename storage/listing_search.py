"""Search among listings, in several orders (storage.search_index)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, or_, select, update

from storage.agents import SEEN_SINCE, was_seen
from storage.query import Query
from storage.search_index import LAST_KEY, Entry, Found, Hit, Move, Order, SearchIndex, all_or_any
from storage.search_tokens import (
    ENVIRONMENTS,
    TOKENS_VERSION,
    UNSEEN,
    UNSEEN_SLOT,
    ListingSearch,
    Sort,
    cheapest_key,
    conjunction,
    listing_tokens,
    newest_key,
    next_slot,
    rank_key,
    rank_ranges,
    rating_after,
    rating_order,
    rating_place,
    seen_until,
)
from storage.statements import LIMIT, count, in_json_list, matching
from storage.tables.listings import ListingRow
from storage.tables.search import ListingSearchRow as S
from storage.transaction import Tx
from storage.vocabulary import ListingStatus

ALL_HITS = "search:listings"  # the name that drops all cached hits
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
    S,
    "listing_id",
    {key: ORDERS[key, False] for key in FTS},
    ["env", "seller_id"],
    also_placed=["made_by", "seen_until"],
)


def find(tx: Tx, search: ListingSearch) -> Found:
    return all_or_any(_hits, tx, search)


def _hits(tx: Tx, search: ListingSearch) -> list[Hit]:
    """Return the hits of a page after `after`, lowest key first, and one more."""
    if search.sort is Sort.RATING:
        return _best_rated(tx, search)
    if search.sort is not Sort.RELEVANCE or search.graduated is None:
        return _between(tx, search, search.after + 1, LAST_KEY)
    hits: list[Hit] = []
    for low, high in rank_ranges(search.graduated):
        if len(hits) <= search.limit and high > search.after:
            hits += _between(tx, search, max(search.after + 1, low), high)
    return hits[: search.limit + 1]


def _best_rated(tx: Tx, search: ListingSearch) -> list[Hit]:
    hits = [
        hit._replace(key=rating_place(hit.key))
        for low, high in rank_ranges(search.graduated)
        for hit in _between(tx, search, rating_after(search.after, low), high)
    ]
    return sorted(hits, key=lambda hit: rating_order(hit.key))[: search.limit + 1]


def _between(tx: Tx, search: ListingSearch, low: int, high: int) -> list[Hit]:
    order = ORDERS[KEYS[search.sort], search.seen_since is not None]
    bound = {"env": search.env, SEEN_SINCE: search.seen_since}
    return order.between(tx, conjunction(search), low, high, search.limit + 1, **bound)


def index_listing(tx: Tx, listing: ListingRow, terms: Sequence[str], rating: float | None) -> None:
    """Update a listing's index entry; remove it unless the listing is active."""
    index_listings(tx, [Indexed(listing, terms, rating)])


def index_listings(tx: Tx, batch: Iterable[Indexed]) -> None:
    """Update the index entries of many listings."""
    _write(tx, [_change(tx, indexed) for indexed in batch])


def _write(tx: Tx, moves: Sequence[Move]) -> None:
    """Update the full-text tables; drop the cached searches if a hit or its place changed."""
    LISTINGS.write_full_text(tx, moves)
    if any(_found_by(before) != _found_by(after) for before, after in moves):
        tx.invalidate(ALL_HITS)


def _found_by(entry: Entry | None) -> list[Any]:
    return [] if entry is None else [entry["tokens"], *(entry[key] for key in FTS)]


def _change(tx: Tx, indexed: Indexed) -> Move:
    listing = indexed.listing

    def entry_of(seq: int, before: Entry | None) -> Entry:
        seen = before["seen_until"] if before else seen_until(listing, listing.updated_at)
        return {
            "rank": rank_key(listing.graduated, indexed.rating, seq, seen is None),
            "newest": newest_key(seq),
            "cheapest": _free(tx, cheapest_key(listing.price, seq, seen is None), seq),
            "tokens": listing_tokens(listing, indexed.terms),
            "made_by": TOKENS_VERSION,
            "seen_until": seen,
        }

    made = entry_of if listing.status is ListingStatus.ACTIVE else None
    return LISTINGS.change(tx, listing.id, made, env=listing.env, seller_id=listing.seller_id)


def move_seen(tx: Tx, listing_id: str, until: datetime | None) -> None:
    """Rank a listing as one whose seller counts as seen until a time; None: as unseen."""

    def entry_of(seq: int, before: Entry | None) -> Entry | None:
        if before is None or until == before["seen_until"]:
            return before
        rank, cheapest = (
            before[name] & ~bit | (until is None) * bit for name, bit in (("rank", UNSEEN), ("cheapest", UNSEEN_SLOT))
        )
        return {**before, "rank": rank, "cheapest": _free(tx, cheapest, seq), "seen_until": until}

    _write(tx, [LISTINGS.change(tx, listing_id, entry_of)])


def _free(tx: Tx, key: int, seq: int) -> int:
    """Return the key, or the next one that no other listing of this price has."""
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
_DUE = S.seen_until <= bindparam("now", type_=S.seen_until.type)
_UNSEEN = S.seen_until.is_(None), S.tokens.is_not(None)
seen_until_now: Query[str] = Query(select(S.listing_id).where(_DUE).order_by(S.seen_until).limit(LIMIT))
ANY_SEEN_UNTIL_NOW: Query[str] = Query(select(S.listing_id).where(_DUE).limit(1))
unseen_of: Query[str] = Query(
    select(S.listing_id).where(*_UNSEEN, in_json_list(S.seller_id, "sellers")).order_by(S.listing_id)
)
unseen_counted = count(S, *_UNSEEN)
