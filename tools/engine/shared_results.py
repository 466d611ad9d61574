"""Caches answers that read much of the market; all callers share them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from tools.engine.ports import Clock

T = TypeVar("T")
KEPT_SECONDS, REST = 60.0, 50  # the longer one counts: KEPT_SECONDS, or REST times the computation's duration


class SharedResults:
    """Cache entries by name, each with its expiry.

    If several callers find an entry expired, only one recomputes it.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.kept: dict[str, tuple[object, float]] = {}
        self.making: dict[str, asyncio.Lock] = {}

    async def of(self, name: str, make: Callable[[], Awaitable[T]]) -> T:
        """Return the value of this name; compute it if it is missing or expired.

        There are few names: an operation, its environment, a number or two.
        """
        if self._stands(name):
            return cast(T, self.kept[name][0])
        async with self.making.setdefault(name, asyncio.Lock()):
            if not self._stands(name):
                began = self.clock.monotonic()
                value = await make()
                now = self.clock.monotonic()
                self.kept[name] = value, now + max(KEPT_SECONDS, REST * (now - began))
        return cast(T, self.kept[name][0])

    def _stands(self, name: str) -> bool:
        return name in self.kept and self.clock.monotonic() < self.kept[name][1]
