"""Checks that may take long, in processes of their own: one that takes too long is killed, and nobody else waits for it."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from select import POLLIN, poll

import orjson

from tools.errors.base import Json
from tools.ports import ChecksBusy, CheckTooLong
from tools.rules.schemas import Violation

PROCESSES = 2
MOST_WAITING = 64
WALL_SECONDS, START_SECONDS = (
    1.0,
    10.0,
)  # the process ends itself after a quarter of a second of its own time; this is for when it cannot


class CheckPool:
    """A few processes, each started when first needed and anew after a kill."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(PROCESSES, thread_name_prefix="check")
        self.local = threading.local()  # one process for each thread
        self.children: set[Child] = set()
        self.waiting = 0
        self.killed = 0

    async def violations(self, schema: str, value: Json) -> Sequence[Violation]:
        """What is wrong with a document. CheckTooLong past its time, ChecksBusy when too many wait."""
        if self.waiting >= MOST_WAITING:
            raise ChecksBusy
        self.waiting += 1
        try:
            text = orjson.dumps([schema, value])
            answer = await asyncio.get_running_loop().run_in_executor(self.threads, self._ask, text)
        finally:
            self.waiting -= 1
        return [Violation(path, message) for path, message in orjson.loads(answer)]

    def close(self) -> None:
        for child in tuple(self.children):
            child.kill()
        self.threads.shutdown(wait=False, cancel_futures=True)

    def _ask(self, text: bytes) -> bytes:
        child: Child | None = getattr(self.local, "child", None)
        if child is None or child.process.poll() is not None:
            child = self.local.child = Child()
            self.children.add(child)
        answer = child.ask(text, WALL_SECONDS)
        if answer is None:
            child.kill()
            self.children.discard(child)
            self.local.child = None
            self.killed += 1
            raise CheckTooLong
        return answer


class Child:
    """A running checker."""

    def __init__(self) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("EMPORION_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "server.world.checker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean, bufsize=0,
        )  # fmt: skip
        self.ready = False
        self.poll = poll()
        if self.process.stdout is not None:
            self.poll.register(self.process.stdout, POLLIN)

    def ask(self, text: bytes, seconds: float) -> bytes | None:
        """The answer; None where none comes in time, or the process ended. The first waits for the start beside."""
        assert self.process.stdin is not None
        until = time.monotonic() + seconds + (0 if self.ready else START_SECONDS)
        try:
            self.process.stdin.write(len(text).to_bytes(4) + text)
        except BrokenPipeError:
            return None
        head = self._read(4, until)
        answer = None if head is None else self._read(int.from_bytes(head), until)
        self.ready = self.ready or answer is not None
        return answer

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def _read(self, count: int, until: float) -> bytes | None:
        assert self.process.stdout is not None
        found = b""
        while len(found) < count:
            ready = self.poll.poll(max(0.0, until - time.monotonic()) * 1000)
            part = self.process.stdout.read(count - len(found)) if ready else b""
            if not part:
                return None
            found += part
        return found
