"""Several processes on one loop. A process that is stopped runs none of its callbacks until it goes on."""

import asyncio
from collections import deque
from contextvars import ContextVar, copy_context
from heapq import heappush
from math import inf
from typing import Any

from tests.simulation.loop import SimulatedLoop

_PROCESS: ContextVar["Process | None"] = ContextVar("process", default=None)


class Process:
    """A process, to which all callbacks belong that were scheduled in its context."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.loop, self.stopped = loop, False
        self.went_on_at = -inf  # the second of the loop at which it went on last
        self.waiting: list[asyncio.Handle] = []  # callbacks that were due while it was stopped
        self.context = copy_context()
        self.context.run(_PROCESS.set, self)

    def ran_since(self, second: float) -> bool:
        """Tell if the process was not stopped since this second of the loop."""
        return not self.stopped and self.went_on_at < second

    def stop(self) -> None:
        """Stop the process, as SIGSTOP does. Only a StoppableLoop obeys it."""
        self.stopped = True

    def go_on(self) -> None:
        """Let the process run again, first the callbacks that have waited."""
        if self.stopped:
            self.stopped, self.went_on_at = False, self.loop.elapsed
        if self.waiting:
            assert isinstance(self.loop, StoppableLoop)
            self.loop.run_soon(self.waiting)
            self.waiting = []


class _Owned(asyncio.Handle):
    """A callback that waits while its process is stopped."""

    _context: Any

    def _run(self) -> None:
        process = self._context.get(_PROCESS)
        if process is not None and process.stopped:
            process.waiting.append(self)
        else:
            super()._run()


class _OwnedTimer(_Owned, asyncio.TimerHandle): ...


class StoppableLoop(SimulatedLoop):
    """A simulated loop whose callbacks know their process."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def run_soon(self, handles: list[asyncio.Handle]) -> None:
        self._ready.extend(handles)

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:
        timer: Any = _OwnedTimer(when, callback, args, self, context)
        heappush(self._scheduled, timer)
        timer._scheduled = True
        made: asyncio.TimerHandle = timer
        return made

    def _call_soon(self, callback: Any, args: Any, context: Any) -> asyncio.Handle:
        handle = _Owned(callback, args, self, context)
        self._ready.append(handle)
        return handle
