"""Search terms of registered agents, buffered in memory and written by a worker, for the demand statistics."""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from storage.discovery import count_search, terms_of_client
from storage.tables import SearchedRow
from storage.transaction import Tx

MAX_TERMS_OF_CLIENT = 200  # a day; more searches are not a sign of demand
MAX_NOTED = 10_000  # different searches between two writes; further ones are dropped


class Search(NamedTuple):
    """A term that one client searched for on one day."""

    env: str
    day: str
    client: str
    term: str


class SearchLog:
    """The buffered searches; a crash loses at most the last seconds."""

    def __init__(self) -> None:
        self.made, self.unmet = Counter[Search](), Counter[Search]()

    def note(self, search: Search, *, found: bool) -> None:
        """Buffer a search; at most MAX_NOTED different ones."""
        if search in self.made or len(self.made) < MAX_NOTED:
            self.made[search] += 1
            self.unmet[search] += not found

    def drain(self) -> list[tuple[Search, int, int]]:
        """Empty the buffer; return each search with its count and its count without results."""
        made, unmet = self.made, self.unmet
        self.made, self.unmet = Counter(), Counter()
        return [(search, count, unmet[search]) for search, count in sorted(made.items())]


def write_searches(tx: Tx, noted: Iterable[tuple[Search, int, int]]) -> None:
    """Add buffered searches to the table, at most MAX_TERMS_OF_CLIENT per client and day."""
    for (env, day, client), group in groupby(noted, lambda one: one[0][:3]):
        room = MAX_TERMS_OF_CLIENT - (tx.one(terms_of_client, env=env, day=day, client=client) or 0)
        for search, count, in_vain in group:
            key = {f"_{name}": value for name, value in search._asdict().items()}
            if tx.run(count_search, **key, more=count, more_zero=in_vain) or room <= 0:
                continue
            room -= 1
            tx.insert_if_absent(SearchedRow(**search._asdict(), searches=0, zero_results=0))
            tx.run(count_search, **key, more=count, more_zero=in_vain)
