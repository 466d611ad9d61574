"""The real clock and the real source of randomness."""

import os
import time
from datetime import UTC, datetime


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is World.clock

    def monotonic(self) -> float:
        return time.monotonic()


class SystemDice:
    def random_bytes(self, count: int) -> bytes:
        return os.urandom(count)
