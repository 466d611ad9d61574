"""Rules of search: fair pages, and statistics that may be published.

A published term has no personal data, and at least two clients searched for it.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from hmac import digest
from itertools import islice, pairwise
from typing import Protocol, TypeVar

from tools.kernel.search_terms import fold, query_terms
from tools.screening.rules import REFUSED, warnings

MAX_TERM = 80  # characters
MIN_CLIENTS, MAX_CAPABILITIES = 2, 12
SEARCH_DAYS = 30  # for which searches are stored
MAX_OF_ONE = 3  # entries of one agent in a public list
_PERSONAL = re.compile(
    r"\S*@\S*|\w+://\S+|www\.\S+|\S+\.(?:com|net|org|io|ai|dev|eth)\b\S*"  # email addresses, URLs, host names
    r"|\b0x[0-9a-f]+|\bdid:\S+|\b[a-z]{2,4}_\w{8,}|\bas_(?:live|test)_\w*"  # wallets, identities, ids, keys
    r"|\+?\d[\d ()./-]{6,}\d|\b\w*\d{5,}\w*|\b\w{33,}"  # telephone and other long numbers, very long words
)


class Offered(Protocol):
    """Anything that has a seller."""

    @property
    def seller_id(self) -> str: ...


T = TypeVar("T")
Item = TypeVar("Item", bound=Offered)


def of_many(found: Iterable[T], owner: Callable[[T], str], limit: int) -> list[T]:
    """Return the first `limit` items with at most MAX_OF_ONE per owner.

    So no agent fills a list alone.
    """
    return list(islice(_few_of_each(found, owner), limit))


def rows_for(limit: int, most_of_owner: int) -> int:
    """Return how many rows `of_many` needs to find `limit` items, if there are as many.

    An owner has at most `most_of_owner` rows.
    """
    return -(-limit // MAX_OF_ONE) * most_of_owner


def _few_of_each(found: Iterable[T], owner: Callable[[T], str]) -> Iterator[T]:
    taken = Counter[str]()
    for one in found:
        taken[owner(one)] += 1
        if taken[owner(one)] <= MAX_OF_ONE:
            yield one


@lru_cache(1024)
def term_of(q: str) -> str | None:
    """Turn a search into one term without personal data.

    Returns None if nothing is left, or if screening would refuse the rest.
    """
    told = _PERSONAL.sub(" ", fold(unicodedata.normalize("NFKC", q)))
    kept = " ".join("".join(one if one.isprintable() else " " for one in told).split())[:MAX_TERM].strip()
    if not any(map(str.isalnum, kept)) or REFUSED & {*warnings(kept)}:
        return None
    return kept


@lru_cache(10_000)
def client_of(pepper: bytes, agent_id: str, day: str) -> str:
    """Return a pseudonym of a client for one day, which cannot be linked to its other days."""
    return digest(digest(pepper, b"emporion:demand", "sha256"), f"{day}:{agent_id}".encode(), "sha256").hex()[:32]


def capability_terms(labels: Iterable[str]) -> tuple[str, ...]:
    """Return at most 12 search terms from an agent's capabilities and tags, each once.

    Only the words before a colon count, if they have at least two characters.
    """
    words = (word for label in labels for word in query_terms(label.split(":")[0]) if len(word) >= 2)
    return tuple(islice(dict.fromkeys(words), MAX_CAPABILITIES))


def first_day(today: date, days: int) -> str:
    """Return the first day of a window of `days` that ends today."""
    return (today - timedelta(days=days - 1)).isoformat()


def interleave(page: Sequence[Item]) -> list[Item]:
    """Reorder a page so that neighbours have different sellers, as far as possible.

    Otherwise the order stays. The next page's cursor is still the last item of the page in its given order.
    """
    if all(one.seller_id != other.seller_id for one, other in pairwise(page)):
        return list(page)
    waiting, fair = list(page), list[Item]()
    while waiting:
        last = fair[-1].seller_id if fair else None
        place = next((n for n, hit in enumerate(waiting) if hit.seller_id != last), 0)
        fair.append(waiting.pop(place))
    return fair
