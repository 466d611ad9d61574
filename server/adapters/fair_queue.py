"""A fair queue for a limited resource: one place at a time per agent, agents in turn, a queue for each agent."""

import asyncio
from collections import deque

from tools.engine.ports import ChecksBusy


class FairQueue:
    """A fair queue with `places` places, for one event loop.

    At most `each` requests of one agent wait, and at most `most` in all.
    """

    def __init__(self, places: int, each: int, most: int) -> None:
        self.free = places
        self.each = each
        self.most = most
        self.running: set[str] = set()
        self.queues: dict[str, deque[asyncio.Future[None]]] = {}  # the next agent's queue is first

    async def acquire(self, by: str) -> None:
        """Wait for a place, which the caller must release; raises ChecksBusy if too many wait."""
        if self.free and by not in self.running:
            self._begin(by)
            return
        self._make_room(by)
        turn = asyncio.get_running_loop().create_future()
        self.queues.setdefault(by, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._forget(by, turn)
            elif turn.exception() is None:  # its turn came and it was cancelled at the same moment
                self.release(by)
            raise

    def release(self, by: str) -> None:
        self.running.discard(by)
        self.free += 1
        following = next((agent for agent in self.queues if agent not in self.running), None)
        if following is not None:
            turn = self.queues[following][0]
            self._forget(following, turn)
            if following in self.queues:
                self.queues[following] = self.queues.pop(following)  # behind all others
            self._begin(following)
            turn.set_result(None)

    def _begin(self, by: str) -> None:
        self.running.add(by)
        self.free -= 1

    def _make_room(self, by: str) -> None:
        """Drop the last request of the longest queue for one of a shorter queue, if all are full.

        Raises ChecksBusy if this agent's own queue is full, or no shorter than the longest.
        """
        held = len(self.queues.get(by, ()))
        if held >= self.each:
            raise ChecksBusy
        if sum(map(len, self.queues.values())) < self.most:
            return
        longest = max(self.queues, key=lambda agent: len(self.queues[agent]))
        if len(self.queues[longest]) <= held + 1:
            raise ChecksBusy
        turn = self.queues[longest][-1]
        self._forget(longest, turn)
        turn.set_exception(ChecksBusy())

    def _forget(self, by: str, turn: asyncio.Future[None]) -> None:
        queue = self.queues.get(by, deque())
        if turn in queue:
            queue.remove(turn)
        if not queue:
            self.queues.pop(by, None)
