"""What stands for a listing in the search index, and for a search: tokens and sort keys. Pure; no SQL.

Every token begins with the environment's letter and the letter of its kind, so that no word is taken for a filter and
a search in one environment never reads the other's. A search is a conjunction of alternatives over these tokens.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import orjson

from storage.tables.listings import ListingRow

ENVIRONMENTS = {"live": "l", "test": "t"}
SEQ_BITS = 46
LAST_SEQ = (1 << SEQ_BITS) - 1
BEST_RATING = (1 << 13) - 1  # thousandths; more than 5 stars come to
UNGRADUATED = (BEST_RATING + 1) << SEQ_BITS  # every graduated listing's rank is below
SLOT_BITS = 23  # of a price: what is left of 63 bits
LAST_SLOT = (1 << SLOT_BITS) - 1
NO_PRICE = (1 << 40) - 1  # a quote: after every price
MOST_PRICE = NO_PRICE - 1
LEVELS = 20  # of two bits each: the 40 bits of a price
UNSAFE = re.compile("[\\x00-\\x20%\\x7f\\ud800-\\udfff]")  # where FTS5 would part a token; what no database takes
MOST_CHARACTERS = 300  # of a token: no tag, category or id is longer, and PostgreSQL takes 2 KB
Conjunction = tuple[tuple[str, ...], ...]


class Sort(StrEnum):
    RELEVANCE = "relevance"  # graduated first, then rating, then newest
    NEWEST = "newest"
    CHEAPEST = "cheapest"  # then newest; quotes last
    RATING = "rating"  # then newest


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingSearch:
    """What to look for among the active listings of one environment. Prices in USDC minor units."""

    env: str
    terms: tuple[str, ...] = ()  # as tools.rules.words.query_terms gives them
    any_terms: bool = False  # one term is enough; else all are needed
    category: str | None = None
    tags: tuple[str, ...] = ()  # all of them
    seller_id: str | None = None
    max_price: int | None = None  # of one unit; a quote always passes
    pricing_model: str | None = None
    payment: str | None = None
    graduated: bool | None = None
    sort: Sort = Sort.RELEVANCE
    after: int = -1  # the key of the last hit of the page before
    limit: int = 20


def listing_tokens(listing: ListingRow, terms: Sequence[str]) -> str:
    """All tokens of a listing, parted by spaces; none of them holds a space or a control character."""
    kinds = [
        "a",
        filter_token("s", listing.seller_id),
        filter_token("c", listing.category),
        filter_token("m", listing.pricing_model),
        filter_token("p", listing.payment),
        filter_token("g", str(int(listing.graduated))),
        *(filter_token("t", tag) for tag in orjson.loads(listing.tags)),
        *("w" + term for term in terms),
        *price_tokens(listing.price),
    ]
    return " ".join(dict.fromkeys(ENVIRONMENTS[listing.env] + kind for kind in kinds))


def conjunction(search: ListingSearch) -> Conjunction:
    """The alternatives of which a found listing has one each; no words and no filters: all of the environment."""
    words = tuple("w" + term for term in search.terms)
    filters = [
        ("s", search.seller_id),
        *(("t", tag) for tag in search.tags),
        ("c", search.category),
        ("m", search.pricing_model),
        ("p", search.payment),
        ("g", None if search.graduated is None else str(int(search.graduated))),
    ]
    groups: list[tuple[str, ...]] = [words] if search.any_terms else [(word,) for word in words]
    groups += [(filter_token(kind, value),) for kind, value in filters if value is not None]
    if search.max_price is not None and search.max_price < MOST_PRICE:
        groups.append(up_to(search.max_price))
    env = ENVIRONMENTS[search.env]
    return tuple(tuple(env + kind for kind in group) for group in groups if group) or ((env + "a",),)


def price_tokens(price: int | None) -> list[str]:
    """A price by its leading bits, from coarse to exact; a quote is found like the price 0, under every bound."""
    bits = 0 if price is None else min(price, MOST_PRICE)
    return [_prefix(level, bits >> (2 * level)) for level in range(LEVELS)]


@lru_cache(1024)
def up_to(max_price: int) -> tuple[str, ...]:
    """The tokens of which exactly the prices from 0 to `max_price` have one: at most three a level. Below 0 counts as 0."""
    end = max(max_price, 0) + 1
    tokens: list[str] = []
    for level in reversed(range(LEVELS)):
        digits = end >> (2 * level)
        tokens += [_prefix(level, prefix) for prefix in range(digits & ~3, digits)]
    return tuple(tokens)


def rank_key(graduated: bool, rating: float | None, seq: int) -> int:
    """Graduated first, then the best rating (of at most 5, to three places), then newest: the lowest number first."""
    return (not graduated) * UNGRADUATED | BEST_RATING - round((rating or 0) * 1000) << SEQ_BITS | LAST_SEQ - seq


def newest_key(seq: int) -> int:
    return LAST_SEQ - seq


def cheapest_key(price: int | None, seq: int) -> int:
    """Cheapest first, then newest, quotes last: the lowest number first. Past 8 million listings the slots come round."""
    return (NO_PRICE if price is None else min(price, MOST_PRICE)) << SLOT_BITS | LAST_SLOT - seq & LAST_SLOT


def next_slot(cheapest: int) -> int:
    """The key after this one among those of the same price."""
    return cheapest & ~LAST_SLOT | cheapest + 1 & LAST_SLOT


def _prefix(level: int, prefix: int) -> str:
    return f"u{chr(97 + level)}{prefix:x}"


def filter_token(kind: str, value: str) -> str:
    """In small letters on both sides: FTS5's ascii tokenizer does not tell them from capitals."""
    return kind + UNSAFE.sub(lambda found: f"%{ord(found[0]):02x}", value.lower())[:MOST_CHARACTERS]
