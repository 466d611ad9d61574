"""A writing process for tests that kill it. It prints the id of each order after the commit.

python -m tests.support.writing_process URL ORDERS [before|after COMMIT]: make ORDERS orders; exit without a message at that
commit.
"""

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Literal

from storage.postgres import Postgres, PostgresStore
from storage.sqlite import SQLite, SQLiteStore
from storage.store import Store
from tests.support.storage_orders import place

CALLERS = 16


class End:
    """Ends the process like a kill, before or after its n-th commit."""

    def __init__(self, when: str, commit: int) -> None:
        self.when, self.commit, self.numbers = when, commit, count(1)

    def __call__(self, when: Literal["before", "after"], names: Sequence[str]) -> None:
        if when == self.when and next(self.numbers) == self.commit:
            os._exit(9)


async def call(store: Store, orders: Iterator[int]) -> None:
    for _ in orders:
        placed = await store.write(place)
        os.write(1, f"{placed.id}\n".encode())


async def main(url: str, orders: int, end: End | None) -> None:
    file = url.removeprefix("sqlite:///")  # without open_database, because importing the migrations is slow
    store: Store = PostgresStore(Postgres(url)) if file == url else SQLiteStore(SQLite(Path(file)))
    store.fault_hook = end
    left = iter(range(orders))
    await asyncio.gather(*(call(store, left) for _ in range(CALLERS)))
    store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), End(sys.argv[3], int(sys.argv[4])) if sys.argv[3:] else None))
