"""Wakes open streams: a commit rings for the agents it notified. It is only a hint; the rows decide."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from storage.store import EVERYBODY, Store
from tools.engine.errors import RateLimited

CLOSE_ONE = "Close a stream of one of the agent's keys, or poll with list_events."


class Subscription:
    """One stream's signal: set if its agent was notified since the stream last cleared it.

    Clear it before reading rows, so that no notification in between is missed. Only one task may wait for it; an
    asyncio.Event and a timeout, which allow more, would take a tenth of an idle stream's memory.
    """

    __slots__ = ("_is_set", "_waiter")

    def __init__(self) -> None:
        self._is_set = False
        self._waiter: asyncio.Future[None] | None = None

    def set(self) -> None:
        self._is_set = True
        if self._waiter is not None:
            _wake(self._waiter)

    def clear(self) -> None:
        self._is_set = False

    async def wait_for(self, seconds: float) -> bool:
        """Wait at most `seconds` for the signal; return whether it is set."""
        if not self._is_set:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = loop.call_later(seconds, _wake, self._waiter)
            try:
                await self._waiter
            finally:
                timer.cancel()
                self._waiter = None
        return self._is_set


def _wake(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


class Notifier:
    """The open streams of this process, rung by the store."""

    def __init__(self, store: Store) -> None:
        self.closed = False
        self.ears: defaultdict[str, dict[Subscription, None]] = defaultdict(dict)  # by agent, the oldest first
        self.streams: Counter[str] = Counter()
        store.listeners.append(self.notify)

    def notify(self, notified: frozenset[str]) -> None:
        """Wake the streams of these agents."""
        agents = [*self.ears] if notified == EVERYBODY else notified & self.ears.keys()
        for agent in agents:
            for ear in self.ears[agent]:
                ear.set()

    def close(self) -> None:
        """End all streams, because the process is about to stop; clients resume elsewhere."""
        self.closed = True
        self.notify(EVERYBODY)

    @contextmanager
    def open_stream(self, agent: str, key: str, most: int, most_of_agent: int) -> Iterator[Subscription]:
        """Count one open stream of a key and of its agent, and yield its signal.

        Raises RateLimited if the key or the agent has too many. The agent's total is limited too, because each
        stream reads each event separately.
        """
        if self.streams[key] >= most:
            raise RateLimited(f"this key has {most} streams open", retry_after_seconds=5)
        if len(self.ears.get(agent, ())) >= most_of_agent:
            raise RateLimited(
                f"the keys of this agent have {most_of_agent} streams open", hint=CLOSE_ONE, retry_after_seconds=5
            )
        self.streams[key] += 1
        ear = Subscription()
        self.ears[agent][ear] = None
        try:
            yield ear
        finally:
            self.streams[key] -= 1
            if not self.streams[key]:
                del self.streams[key]
            del self.ears[agent][ear]
            if not self.ears[agent]:
                del self.ears[agent]
