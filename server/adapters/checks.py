"""Run document checks in processes of their own, so that a slow check is killed and delays no other agent."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import Pipe

import orjson

from server.adapters.checker import DIED
from server.adapters.fair_queue import FairQueue
from server.child_processes import clean_environment
from tools.engine.ports import CheckTooLong
from tools.kernel.errors import Json
from tools.kernel.json_schema import Violation

PROCESSES = 2
WAITING_EACH, MAX_WAITING = 8, 64  # per agent, and for all agents
WALL_SECONDS = 1.0  # the checker ends itself after 0.25 s of CPU time; this limit is for when it cannot
START_SECONDS = 10.0


class CheckPool:
    """A pool of checker processes, each started when first needed, shared fairly between agents."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(PROCESSES, thread_name_prefix="check")
        self.local = threading.local()  # one process for each thread
        self.children: set[Child] = set()
        self.queue = FairQueue(PROCESSES, WAITING_EACH, MAX_WAITING)
        self.killed = 0
        self.closed = False

    async def violations(self, schema: str, value: Json, *, by: str) -> Sequence[Violation]:
        """Return a document's violations of a JSON Schema.

        Raises CheckTooLong after the time limit, and ChecksBusy if too many checks wait.
        """
        return [Violation(path, message) for path, message in await self._faults("schema", schema, value, by)]

    async def unkept(self, rules: str, output: Json, *, by: str) -> Sequence[tuple[str, str]]:
        """Return the acceptance rules that an output breaks, with reasons; raises like `violations`."""
        return [(name, message) for name, message in await self._faults("acceptance", rules, output, by)]

    def close(self) -> None:
        self.closed = True
        for child in tuple(self.children):
            child.kill()
        self.threads.shutdown(wait=False, cancel_futures=True)

    async def _faults(self, kind: str, held_to: str, value: Json, by: str) -> list[list[str]]:
        await self.queue.acquire(by)
        asked = asyncio.get_running_loop().run_in_executor(self.threads, self._ask, kind, held_to, value)
        asked.add_done_callback(lambda _: self.queue.release(by))
        answer = await asyncio.shield(asked)  # a cancelled caller keeps its place until the process is free
        if answer is None:
            raise CheckTooLong
        found: list[list[str]] = orjson.loads(answer)
        return found

    def _ask(self, kind: str, held_to: str, value: Json) -> bytes | None:
        child: Child | None = getattr(self.local, "child", None)
        if child is None or child.process.poll() is not None:
            child = self._start(instead_of=child)
        answer = child.ask(orjson.dumps([kind, held_to, value]))
        if answer is None:
            self.killed += 1
        if child.is_lost and not self.closed:
            self._start(instead_of=child)  # at once, so that it has started when the next document comes
        return answer

    def _start(self, instead_of: "Child | None") -> "Child":
        if instead_of is not None:
            instead_of.kill()
            self.children.discard(instead_of)
        child = self.local.child = Child()
        self.children.add(child)
        return child


class Child:
    """A running checker process. `is_lost` is set once it no longer answers.

    It goes on after it has killed a check by itself.
    """

    def __init__(self) -> None:
        command, clean = [sys.executable, "-m", "server.adapters.checker"], clean_environment()
        self.connection, theirs = Pipe()
        with theirs:
            place = theirs.fileno()
            self.process = subprocess.Popen(command, stdin=place, stdout=place, env=clean, process_group=0)  # noqa: S603
        self.ready = False
        self.is_lost = False

    def ask(self, text: bytes) -> bytes | None:
        """Return the answer; None if it is late or the check was killed.

        The first call may also wait START_SECONDS for the process to start.
        """
        answer = None
        with suppress(EOFError, OSError):  # it has ended
            self.connection.send_bytes(text)
            if self.connection.poll(WALL_SECONDS + (0 if self.ready else START_SECONDS)):
                answer = self.connection.recv_bytes()
        self.is_lost = answer is None
        self.ready = self.ready or not self.is_lost
        return None if answer == DIED else answer

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.connection.close()
