"""The subject: the market as `emporion serve` runs it, with an extra port for counters and delays of its event loop.

    python -m benchmarks.subject --port 8000 --data-dir folder [--only get_listing] [--uncached]

The extra port is in `side_port` of the data folder. It costs nothing until it is used. It accepts these words:

    counters   return the store's counts: commits, units, looks, scans, the longest unit
    watch      start to measure the event loop
    blocks     stop the measurement; return the longest step and the longest delay
"""

import argparse
import asyncio
import os
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

import protocol.mcp.server
import tools.engine.caches
from server import logs
from server.app import Service
from server.child_processes import end_with_parent
from server.serve import Server, tune_garbage_collection, uvicorn_config
from server.settings import read_settings
from tools.catalogue import CATALOGUE

SIDE_PORT = "side_port"
TICK_SECONDS = 0.001


@dataclass(slots=True)
class Blocks:
    """The longest step of the event loop, and the longest delay of a due callback.

    A step is one callback; it is measured in CPU of the loop's thread, because the wait for another process is not our
    block. A delay adds up the steps that were ready before and the waits for the interpreter's lock; `delay_ms` counts
    only this process's own CPU in it.
    """

    step_ms: float = 0.0
    delay_ms: float = 0.0
    delay_by_clock_ms: float = 0.0


class Watch:
    """Measures each callback, and wakes every millisecond to record the delay."""

    def __init__(self) -> None:
        self.found = Blocks()
        self.run = asyncio.Handle._run  # noqa: SLF001 - the only place that every callback passes
        asyncio.Handle._run = lambda handle: self._step(handle)  # type: ignore[method-assign] # noqa: SLF001
        self.task = asyncio.create_task(self._tick())

    def stop(self) -> None:
        asyncio.Handle._run = self.run  # type: ignore[method-assign] # noqa: SLF001
        self.task.cancel()

    def _step(self, handle: asyncio.Handle) -> None:
        began = time.thread_time()
        self.run(handle)
        self.found.step_ms = max(self.found.step_ms, (time.thread_time() - began) * 1000)

    async def _tick(self) -> None:
        while True:
            due, worked = time.perf_counter() + TICK_SECONDS, time.process_time()
            await asyncio.sleep(TICK_SECONDS)
            late, work = time.perf_counter() - due, time.process_time() - worked
            self.found.delay_by_clock_ms = max(self.found.delay_by_clock_ms, late * 1000)
            self.found.delay_ms = max(self.found.delay_ms, min(late, work) * 1000)


class WatchedServer(Server):
    """The market's own server, with the extra port."""

    watch: Watch | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        side = await asyncio.start_server(self._tell, "127.0.0.1", 0)
        port = side.sockets[0].getsockname()[1]
        Path(self.service.settings.data_dir, SIDE_PORT).write_text(str(port))  # noqa: ASYNC240 - once, before the measurement

    async def _tell(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = self._answer((await reader.readline()).decode().strip())
        writer.write(orjson.dumps(answer))
        writer.close()

    def _answer(self, word: str) -> object:
        if word == "watch":
            self.watch = Watch()
            return {}
        if word == "blocks" and self.watch is not None:
            self.watch.stop()
            return asdict(self.watch.found)
        assert self.service.served is not None
        return asdict(self.service.served.market.store.counters)


def tell(data_dir: Path, word: str) -> dict[str, float]:
    """Ask the extra port of the subject that runs in this folder."""
    port = int((data_dir / SIDE_PORT).read_text())
    with socket.create_connection(("127.0.0.1", port)) as wire:
        wire.sendall(word.encode() + b"\n")
        with wire.makefile("rb") as answer:
            told: dict[str, float] = orjson.loads(answer.read())
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--only", help="serve this operation alone over MCP")
    parser.add_argument("--steps", action="store_true", help="run on asyncio's own loop, whose steps can be measured")
    parser.add_argument("--uncached", action="store_true", help="do not cache the hits of searches")
    given = parser.parse_args()
    end_with_parent(os.getppid())
    if given.only:
        # The texts and the other surfaces keep their catalogues.
        protocol.mcp.server.CATALOGUE = {given.only: CATALOGUE[given.only]}
    if given.uncached:
        tools.engine.caches.MAX_HITS = 0
    logs.set_up()
    settings = read_settings(port=given.port, data_dir=given.data_dir)
    service = Service(settings)
    config = uvicorn_config(service, settings)
    if given.steps:
        config.loop = "asyncio"
    WatchedServer(config, service, tune_garbage_collection).run()


if __name__ == "__main__":
    main()
