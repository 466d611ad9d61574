"""What may be said of what agents search for: terms without whoever is in them, and of more than one client."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta
from functools import lru_cache
from hmac import digest
from itertools import islice
from typing import TypeVar

from tools.rules.content import REFUSED, warnings
from tools.rules.words import fold, query_terms

MOST_TERM = 80  # characters
LEAST_CLIENTS, MOST_CAPABILITIES = 2, 12
SEARCH_DAYS = 30  # kept
MOST_OF_ONE = 3  # things of one agent in a list that is shown to everybody
MOST_TERMS_OF_CLIENT = 200  # a day: who searches for more is no sign of demand
_PERSONAL = re.compile(
    r"\S*@\S*|\w+://\S+|www\.\S+|\S+\.(?:com|net|org|io|ai|dev|eth)\b\S*"  # addresses of people and places
    r"|\b0x[0-9a-f]+|\bdid:\S+|\b[a-z]{2,4}_\w{8,}|\bas_(?:live|test)_\w*"  # wallets, identities, ids, keys
    r"|\+?\d[\d ()./-]{6,}\d|\b\w*\d{5,}\w*|\b\w{33,}"  # telephone and other long numbers, what nobody types by heart
)

T = TypeVar("T")


def of_many(found: Iterable[T], owner: Callable[[T], str], limit: int) -> list[T]:
    """The first `limit` of what was found, in its order, of one owner MOST_OF_ONE: no agent fills a list alone."""
    return list(islice(_few_of_each(found, owner), limit))


def rows_for(limit: int, most_of_owner: int) -> int:
    """How many rows hold `limit` for of_many, if there are as many at all, where an owner has at most `most_of_owner`."""
    return -(-limit // MOST_OF_ONE) * most_of_owner


def _few_of_each(found: Iterable[T], owner: Callable[[T], str]) -> Iterator[T]:
    taken = Counter[str]()
    for one in found:
        taken[owner(one)] += 1
        if taken[owner(one)] <= MOST_OF_ONE:
            yield one


@lru_cache(1024)
def term_of(q: str) -> str | None:
    """A search as one term, without what could name somebody; None where nothing is left, or what is left is an attack."""
    told = _PERSONAL.sub(" ", fold(unicodedata.normalize("NFKC", q)))
    kept = " ".join("".join(one if one.isprintable() else " " for one in told).split())[:MOST_TERM].strip()
    if not any(map(str.isalnum, kept)) or REFUSED & {*warnings(kept)}:
        return None
    return kept


def client_of(pepper: bytes, agent_id: str, day: str) -> str:
    """Who searched, told apart from others of that day and from nobody else: not even from itself on another day."""
    return digest(digest(pepper, b"emporion:demand", "sha256"), f"{day}:{agent_id}".encode(), "sha256").hex()[:32]


def capability_terms(labels: Iterable[str]) -> tuple[str, ...]:
    """What to look for of an agent's capabilities and tags: their words before a colon, each once, at most 12."""
    words = (word for label in labels for word in query_terms(label.split(":")[0]) if len(word) >= 2)
    return tuple(islice(dict.fromkeys(words), MOST_CAPABILITIES))


def first_day(today: date, days: int) -> str:
    """The first day of a window that ends today."""
    return (today - timedelta(days=days - 1)).isoformat()
