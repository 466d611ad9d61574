"""Snapshots: answers that read much of the market, made once for everybody and shown for a while."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from tools.ports import Clock

T = TypeVar("T")
KEPT_SECONDS, REST = 60.0, 50  # at least so long; and so many times as long as it took to make


class Snapshots:
    """Values by name, each with the second it is shown until. Of many that ask for one that is over, one makes it anew."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.kept: dict[str, tuple[object, float]] = {}
        self.making: dict[str, asyncio.Lock] = {}

    async def of(self, name: str, make: Callable[[], Awaitable[T]]) -> T:
        """The value of this name. Names are few: an operation, its environment, a number or two."""
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
