"""Tokens and sort keys of rows in the search indexes, and the tokens of a search. Pure functions without SQL.

Every token begins with the letter of its environment and the letter of its kind, so that no word is taken for a filter,
and a search in one environment never reads the other's. A search is a conjunction of alternatives over these tokens.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import ClassVar

from storage.tables.listings import ListingRow

ENVIRONMENTS = {"live": "l", "test": "t"}
SEQ_BITS = 46
LAST_SEQ = (1 << SEQ_BITS) - 1
BEST_RATING = (1 << 13) - 1  # in thousandths; larger than any rating
UNGRADUATED = (BEST_RATING + 1) << SEQ_BITS  # the ranks of graduated listings are lower
UNSEEN = UNGRADUATED << 1  # the ranks of listings whose sellers were seen are lower
SLOT_BITS = 22  # per price: what is left of 63 bits, without the one of the unseen
LAST_SLOT = (1 << SLOT_BITS) - 1
UNSEEN_SLOT = 1 << SLOT_BITS
LEAST_ABSENCE = timedelta(minutes=5)  # because the time of a call is written a minute later
NO_PRICE = (1 << 40) - 1  # of a quote: sorts after every price
MAX_PRICE = NO_PRICE - 1
LEVELS = 20  # of two bits each, for the 40 bits of a price
UNSAFE = re.compile("[\\x00-\\x20%\\x7f\\ud800-\\udfff]")  # characters that split FTS5 tokens or that databases refuse
MAX_CHARACTERS = 300  # per token: no tag, category or id is longer, and PostgreSQL accepts 2 KB
TOKENS_VERSION = (
    2  # raise it with every change of listing_tokens or of a sort key, so that the workers index all listings again
)
Conjunction = tuple[tuple[str, ...], ...]
Filters = Mapping[str, Sequence[str | bool]]  # the values of a row, by the letter of their tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The parts that every search has."""

    FILTERS: ClassVar[Mapping[str, str]]  # the letter of each filter's tokens, and the field with its value or values

    terms: tuple[str, ...] = ()  # as returned by tools.kernel.search_terms.query_terms
    any_terms: bool = False  # one term is enough; otherwise all are required
    after: int = -1  # key of the last hit of the previous page
    limit: int = 20


class Sort(StrEnum):
    RELEVANCE = "relevance"  # seen sellers first, then graduated, then rating, then newest
    NEWEST = "newest"
    CHEAPEST = "cheapest"  # then seen sellers, then newest; quotes last
    RATING = "rating"  # then seen sellers, then newest


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingSearch(Search):
    """A search among the active listings of one environment. Prices in USDC minor units."""

    FILTERS: ClassVar = {
        "s": "seller_id", "t": "tags", "c": "category", "m": "pricing_model", "p": "payment", "g": "graduated",
    }  # fmt: skip

    env: str
    category: str | None = None
    tags: tuple[str, ...] = ()  # all of them
    seller_id: str | None = None
    max_price: int | None = None  # per unit; listings with a quote always match
    pricing_model: str | None = None
    payment: str | None = None
    graduated: bool | None = None
    seen_since: datetime | None = None  # only listings of sellers that made a call since then
    sort: Sort = Sort.RELEVANCE


def listing_tokens(listing: ListingRow, terms: Sequence[str]) -> str:
    """Return a listing's tokens, separated by spaces.

    No token contains a space or a control character.
    """
    filters: Filters = {
        "s": [listing.seller_id],
        "c": [listing.category],
        "m": [listing.pricing_model],
        "p": [listing.payment],
        "g": [listing.graduated],
        "t": listing.tags,
    }
    return join_tokens(filters, terms, price_tokens(listing.price), ENVIRONMENTS[listing.env])


def conjunction(search: ListingSearch) -> Conjunction:
    """Return groups of tokens; a found listing has at least one token of each group."""
    most = search.max_price
    bounds = [] if most is None or most >= MAX_PRICE else [up_to(most)]
    return groups_of(search, bounds, ENVIRONMENTS[search.env])


def join_tokens(filters: Filters, terms: Sequence[str], prices: Sequence[str] = (), env: str = "") -> str:
    """Return the tokens of an indexed row's filters, terms and price, separated by spaces."""
    filtered = [filter_token(kind, value) for kind, values in filters.items() for value in values]
    kinds = ["a", *filtered, *("w" + term for term in terms), *prices]
    return " ".join(dict.fromkeys(env + kind for kind in kinds))


def groups_of(search: Search, more: Sequence[tuple[str, ...]] = (), env: str = "") -> Conjunction:
    """Return groups of tokens: of the terms, of the filters that are not None, and `more`.

    Without any of them the only group is the token that every row of the environment has.
    """
    words = tuple("w" + term for term in search.terms)
    groups: list[tuple[str, ...]] = [words] if search.any_terms else [(word,) for word in words]
    for kind, name in search.FILTERS.items():
        wanted = getattr(search, name)
        values = wanted if isinstance(wanted, tuple) else (wanted,)
        groups += [(filter_token(kind, value),) for value in values if value is not None]
    return tuple(tuple(env + kind for kind in group) for group in [*groups, *more] if group) or ((env + "a",),)


def price_tokens(price: int | None) -> list[str]:
    """Return one token for each length of a price's leading bits.

    A quote has the tokens of the price 0, so that it matches every upper bound.
    """
    bits = 0 if price is None else min(price, MAX_PRICE)
    return [_prefix(level, bits >> (2 * level)) for level in range(LEVELS)]


@lru_cache(1024)
def up_to(max_price: int) -> tuple[str, ...]:
    """Return tokens such that exactly the prices from 0 to `max_price` have one of them.

    At most three per level. A negative `max_price` counts as 0.
    """
    end = max(max_price, 0) + 1
    tokens: list[str] = []
    for level in reversed(range(LEVELS)):
        digits = end >> (2 * level)
        tokens += [_prefix(level, prefix) for prefix in range(digits & ~3, digits)]
    return tuple(tokens)


def seen_until(listing: ListingRow, last_seen: datetime) -> datetime:
    """Return until when a call of the seller keeps a listing before those of unseen sellers."""
    return last_seen + max(timedelta(seconds=listing.accept_timeout_seconds), LEAST_ABSENCE)


def rank_key(graduated: bool, rating: float | None, seq: int, unseen: bool = False) -> int:
    """Return a sort key: seen sellers first, then graduated, then best rating, then newest.

    The lowest key comes first. The rating is at most 5 and counts to three decimals.
    """
    worse = BEST_RATING - round((rating or 0) * 1000)
    return unseen * UNSEEN | (not graduated) * UNGRADUATED | worse << SEQ_BITS | LAST_SEQ - seq


def rank_ranges(graduated: bool | None) -> list[tuple[int, int]]:
    """Return the ranges of rank keys in their order: of seen sellers, then of unseen ones."""
    parts = (0, UNGRADUATED) if graduated is None else (0 if graduated else UNGRADUATED,)
    return [(side + part, side + part + UNGRADUATED - 1) for side in (0, UNSEEN) for part in parts]


def rating_place(rank: int) -> int:
    """Return a listing's place among the best rated: its rank without the part of graduation."""
    return rank & ~UNGRADUATED


def rating_order(place: int) -> tuple[int, int, int]:
    """Return the sort key of a place: best rating first, then seen sellers, then newest."""
    unseen, at = divmod(place, UNSEEN)
    return at >> SEQ_BITS, unseen, at


def rating_after(place: int, low: int) -> int:
    """Return the first rank after a place in the range from `low`; -1 is before every place."""
    if place < 0:
        return low
    rating, unseen, at = rating_order(place)
    if unseen == low // UNSEEN:
        return low + at + 1
    return low + (rating + unseen << SEQ_BITS)  # the unseen sellers of a rating come after the seen ones


def newest_key(seq: int) -> int:
    return LAST_SEQ - seq


def cheapest_key(price: int | None, seq: int, unseen: bool = False) -> int:
    """Return a sort key: cheapest first, then seen sellers, then newest; quotes last.

    The lowest key comes first. After 4 million listings the slots repeat.
    """
    bits = NO_PRICE if price is None else min(price, MAX_PRICE)
    return bits << SLOT_BITS + 1 | unseen * UNSEEN_SLOT | LAST_SLOT - seq & LAST_SLOT


def next_slot(cheapest: int) -> int:
    """Return the next key among those of the same price, and of sellers that were seen or not."""
    return cheapest & ~LAST_SLOT | cheapest + 1 & LAST_SLOT


def _prefix(level: int, prefix: int) -> str:
    return f"u{chr(97 + level)}{prefix:x}"


def filter_token(kind: str, value: str | bool) -> str:
    """Return the token of a filter, in lower case; a flag is 1 or 0.

    FTS5's ascii tokenizer ignores case.
    """
    if isinstance(value, bool):
        return f"{kind}{value:d}"
    return kind + UNSAFE.sub(lambda found: f"%{ord(found[0]):02x}", value.lower())[:MAX_CHARACTERS]
