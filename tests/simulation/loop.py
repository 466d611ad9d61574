"""An event loop of virtual time, and the clock that follows it."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

BEGIN = datetime(2027, 1, 1, 0, 0, 0, 123_000, tzinfo=UTC)

JUMP_SECONDS = 90.0  # that a wall clock is off at most


class Stalled(Exception):
    """Every task waits for something that never happens."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """An event loop that never sleeps: when nothing is ready, its time jumps to the next timer.

    It has no sockets. Work for a thread runs on the loop after a seeded pause.
    """

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.elapsed, self.random = 0.0, random
        self.beside = Random(random.getrandbits(64))  # for what only one of the databases does
        self._selector = self  # asyncio asks it for the events of sockets
        self._clock_resolution = 1e-6  # a sum of floats is not exact

    def time(self) -> float:
        return self.elapsed

    def select(self, timeout: float | None) -> Iterable[object]:
        if timeout is None:
            raise Stalled
        self.elapsed += timeout
        return ()

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        future = self.create_future()
        self.call_later(self.random.expovariate(100), _work, future, func, args)
        return future

    def _process_events(self, event_list: Iterable[object]) -> None: ...
    def _write_to_self(self) -> None: ...


def _work(future: asyncio.Future[Any], func: Callable[..., Any], args: tuple[Any, ...]) -> None:
    if future.cancelled():
        return
    try:
        future.set_result(func(*args))
    except Exception as error:
        future.set_exception(error)


class VirtualClock:
    """The clock of one machine: the loop's time, plus what its wall clock is off."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.loop, self.off = loop, timedelta(0)
        self._jumps = [(0.0, self.off)]  # seconds of the loop's time, and what the clock is off since then
        self._latest = BEGIN

    def now(self) -> datetime:
        return self._shown(self.loop.elapsed, self.off)

    def monotonic(self) -> float:
        return self.loop.elapsed

    def jump(self, off: timedelta) -> None:
        """Set what the wall clock is off, so that its time goes forward or back at once."""
        self._latest, self.off = self.latest(), off
        self._jumps.append((self.loop.elapsed, off))

    @property
    def set_at(self) -> float:
        """The second of the loop's time at which the clock was set last."""
        return self._jumps[-1][0]

    def latest(self) -> datetime:
        """Return the latest time that the clock has ever shown."""
        return max(self._latest, self.now())

    def earliest(self, since: float) -> datetime:
        """Return the earliest time that the clock has shown since a second of the loop's time."""
        found = self.now()
        for began, off in reversed(self._jumps):
            found = min(found, self._shown(max(began, since), off))
            if began <= since:
                break
        return found

    def _shown(self, elapsed: float, off: timedelta) -> datetime:
        return BEGIN + timedelta(seconds=elapsed) + off
