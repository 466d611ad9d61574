"""The subject: the market as `emporion serve` runs it, with an extra port for counters and delays of its event loop.

    python -m benchmarks.subject --port 8000 --data-dir folder [--only get_listing] [--uncached]

The extra port is in `side_port` of the data folder. It costs nothing until it is used. It accepts these words:

    counters   return the store's counts: commits, units, looks, scans, the longest unit
    watch      start to measure delays of the event loop
    blocks     stop the measurement; return the longest delay
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
    """The longest delay of a due callback in the event loop.

    `by_work` counts only this process's own CPU in each delay, because another process's load is not our block.
    """

    by_clock_ms: float = 0.0
    by_work_ms: float = 0.0


class Watch:
    """Wakes every millisecond and records the delay."""

    def __init__(self) -> None:
        self.found = Blocks()
        self.task = asyncio.create_task(self._tick())

    async def _tick(self) -> None:
        while True:
            due, worked = time.perf_counter() + TICK_SECONDS, time.process_time()
            await asyncio.sleep(TICK_SECONDS)
            late, work = time.perf_counter() - due, time.process_time() - worked
            self.found.by_clock_ms = max(self.found.by_clock_ms, late * 1000)
            self.found.by_work_ms = max(self.found.by_work_ms, min(late, work) * 1000)


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
            self.watch.task.cancel()
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
    WatchedServer(uvicorn_config(service, settings), service, tune_garbage_collection).run()


if __name__ == "__main__":
    main()
