"""The expected results of searches with the newest first, computed from the rules and read page by page."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from storage.recency_index import FoundNewest
from storage.transaction import Tx


def expected(fits: Callable[[Any, Any], bool], search: Any, rows: Sequence[Any]) -> list[str]:
    """Return the ids of all pages; `rows` are in the order of their first indexing."""
    found = [row.id for row in reversed(rows) if fits(search, row)]
    if not found and len(search.terms) > 1 and not search.any_terms:
        return expected(fits, replace(search, any_terms=True), rows)
    return found


def every_page(find: Callable[[Tx, Any], FoundNewest], tx: Tx, search: Any) -> list[str]:
    ids: list[str] = []
    while True:
        found = find(tx, search)
        assert (found.after is None) or len(found.hits) == search.limit
        ids += [hit.id for hit in found.hits]
        if found.after is None:
            return ids
        search = replace(search, after=found.after, any_terms=found.any_terms)
