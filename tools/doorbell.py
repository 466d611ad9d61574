"""The doorbell: wakes whoever waits for events after a commit that told somebody something. A hint; rows are the truth."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from storage.store import Store
from tools.errors import RateLimited


class Doorbell:
    """Rung by the store, in every process."""

    def __init__(self, store: Store) -> None:
        self.rings = 0
        self.closed = False
        self.waiting: set[asyncio.Future[None]] = set()
        self.streams: Counter[str] = Counter()
        store.listeners.append(self.ring)

    def ring(self) -> None:
        self.rings += 1
        waiting, self.waiting = self.waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def close(self) -> None:
        """The process is about to stop: streams end now, and clients resume elsewhere."""
        self.closed = True
        self.ring()

    async def wait(self, rings: int, seconds: float) -> bool:
        """Until it has rung since `rings`, at most `seconds`; whether it has."""
        if self.rings != rings:
            return True
        future = asyncio.get_running_loop().create_future()
        self.waiting.add(future)
        with suppress(TimeoutError):
            await asyncio.wait_for(future, seconds)
        self.waiting.discard(future)
        return self.rings != rings

    @contextmanager
    def stream_of(self, key: str, most: int) -> Iterator[None]:
        """Hold one of a key's places for open streams; RateLimited when all are taken."""
        if self.streams[key] >= most:
            raise RateLimited(f"this key has {most} streams open", retry_after_seconds=5)
        self.streams[key] += 1
        try:
            yield
        finally:
            self.streams[key] -= 1
            if not self.streams[key]:
                del self.streams[key]
