"""A worker thread for CPU-bound work beside the event loop: one task at a time, and one per agent."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tools.engine.errors import TooBusy

T = TypeVar("T")


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
