"""The services that every call uses, built once for each process."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from storage.store import Store
from storage.vocabulary import Env
from tools.engine.caches import BlockCache, Caches, SharedResults
from tools.engine.config import MarketConfig
from tools.engine.errors import TooBusy
from tools.engine.last_seen import LastSeenBuffer
from tools.engine.notifier import Notifier
from tools.engine.ports import World
from tools.engine.rate_limits import RateLimitCounter
from tools.engine.search_log import SearchLog

T = TypeVar("T")


@dataclass(slots=True)
class HealthSnapshot:
    """Health findings, written by the worker loop at most 5 s ago and read by get_health."""

    taken_at: datetime | None = None
    database: bool = False
    workers: bool = False
    chains: dict[Env, str] = field(default_factory=dict)  # ok, down, or not_configured
    disk_low: bool = False  # the database's disk has less than MIN_FREE_DISK_MB free
    rounds: int = 0  # rounds of all due steps since the start
    round_ended: float | None = None  # monotonic second at which the last round ended; None before the first


class LoopTurns:
    """Turns for long work on the event loop: one part of it runs in each round of the loop.

    Without turns, the parts of all callers would follow each other before any other task runs.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> None:
        await self._lock.acquire()

    async def __aexit__(self, *error: object) -> None:
        self._lock.release()
        await asyncio.sleep(0)


class CpuThread:
    """The worker thread of one event loop."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="desk")
        self._at_work: set[str] = set()

    async def run(self, by: str, work: Callable[[], T]) -> T:
        """Run the work in the thread and return its result.

        Raises TooBusy if another task of agent `by` is waiting or running.
        """
        if by in self._at_work:
            raise TooBusy("what you asked for before is still being made", retry_after_seconds=2)
        self._at_work.add(by)
        asked = asyncio.get_running_loop().run_in_executor(self._thread, work)
        asked.add_done_callback(lambda _: self._at_work.discard(by))
        return await asyncio.shield(asked)  # if the caller is cancelled, `by` stays busy until the work is done


class Services:
    """The store, the world and the settings, and what this process keeps beside them in memory."""

    def __init__(self, store: Store, world: World, config: MarketConfig) -> None:
        self.store, self.world, self.config = store, world, config
        self.caches, self.shared_results = Caches(store), SharedResults(world.clock)
        self.blocks = BlockCache(world.clock)
        self.rate_limits, self.notifier = RateLimitCounter(store, world.clock), Notifier(store)
        self.health, self.cpu_thread, self.loop_turns = HealthSnapshot(), CpuThread(), LoopTurns()
        self.last_seen, self.searches = LastSeenBuffer(), SearchLog()  # a worker writes them


class HasServices:
    """Shows the store, the world and the settings of its services as its own."""

    __slots__ = ()
    services: Services

    @property
    def store(self) -> Store:
        return self.services.store

    @property
    def world(self) -> World:
        return self.services.world

    @property
    def config(self) -> MarketConfig:
        return self.services.config
