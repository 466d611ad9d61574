"""A counter of the SQL statements that a market runs."""

from collections.abc import Iterator
from typing import Any

from storage.store import Store
from storage.transaction import Tx


def statements(store: Store) -> Iterator[int]:
    """Yield the number of statements that all threads of the store have run."""

    seen: list[Tx] = []
    original = Tx._run

    def counting(self: Tx, query: Any, values: Any) -> Any:
        seen.append(self)
        return original(self, query, values)

    Tx._run = counting  # type: ignore[method-assign]
    try:
        while True:
            yield len(seen)
    finally:
        Tx._run = original  # type: ignore[method-assign]
