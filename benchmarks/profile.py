"""Show where the time of a call goes: `python -m benchmarks.profile G1`.

The market runs in this process, behind uvicorn's own parser with a transport that drops what is written, so that no socket and no
client is measured. A timer of CPU time looks at the stack every half millisecond and counts the innermost part of the
table below. Time in C counts for the function that called it. An order's unit of work runs on another thread, which the
timer cannot look at; for orders see the floor of G5.
"""

import argparse
import asyncio
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

import structlog
import uvloop
from uvicorn.server import ServerState

from benchmarks import shots
from benchmarks.data import PEPPER
from benchmarks.load import Shot
from benchmarks.processes import ROOT
from benchmarks.stage import Stage
from server import logs
from server.app import Service
from server.http_limits import bounded_http
from server.serve import tune_garbage_collection, uvicorn_config
from server.settings import read_settings
from tools.engine import rate_limits

SECONDS, STEP = 6.0, 0.0005
MAKES = {"G1": shots.listings, "G3": shots.searches, "G9": shots.polls, "G10": shots.tool_calls, "G13": shots.messages}
HTTP = "HTTP: uvicorn, with the checks of heads"
PARTS = (  # the innermost frame whose file begins with one of these counts; the first that fits
    ("server/http_limits", HTTP),
    ("server/", "every request: host, origin, request id, common headers"),
    ("tools/engine/rate_limits", "rate limits: two windows"),
    ("rest/headers", "response headers, ETag"),
    ("protocol/http", "response headers, ETag"),
    ("rest/", "REST: route, arguments"),
    ("protocol/mcp", "MCP: parse, check, frame the result"),
    ("protocol/a2a", "A2A: parse, check, frame the result"),
    ("protocol/", "the protocols' common code"),
    ("storage/", "storage: SQL and caches"),
    ("tools/engine/", "the call: key, scope, context, log"),
    ("tools/kernel", "records: JSON, times, hashes"),
    ("tools/", "the operation"),
    ("benchmarks/", "this profile"),
)


class Transport(asyncio.Transport):
    """A transport that drops what is written."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 5000) if name in ("peername", "sockname") else default

    def write(self, data: bytes | bytearray | memoryview) -> None: ...
    def is_closing(self) -> bool:
        return False

    def close(self) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...


class Profile:
    """The samples by part."""

    def __init__(self) -> None:
        self.seen = Counter[str]()

    def look(self, _: int, frame: FrameType | None) -> None:
        while frame is not None:
            part = part_of(frame.f_code.co_filename)
            if part is not None:
                self.seen[part] += 1
                return
            frame = frame.f_back
        self.seen["the event loop"] += 1


def part_of(file: str) -> str | None:
    """Return the part of a source file; None for libraries, whose time counts for their caller."""
    if "/site-packages/" in file:
        name = file.rpartition("/site-packages/")[2]
        return HTTP if name.startswith("uvicorn/") else None
    if not file.startswith(f"{ROOT}/"):
        return None
    name = file.removeprefix(f"{ROOT}/")
    return next((part for prefix, part in PARTS if name.startswith(prefix)), None)


async def measure(folder: Path, given: Sequence[Shot]) -> tuple[float, Counter[str]]:
    """Return microseconds of CPU for one call, and the samples by part."""
    logs.set_up()
    settings = read_settings(port=8000, data_dir=folder)
    service = Service(settings)
    for rate in (rate_limits.Rate.READS, rate_limits.Rate.WRITES):
        rate_limits.ALLOWANCES[rate] = rate_limits.RateLimit(10**9, 60)  # counted as always, and never reached
    config = uvicorn_config(service, settings)
    config.load()
    profile, calls = Profile(), 0
    async with service.running():
        tune_garbage_collection()
        kind: Any = bounded_http(service.config.docs_url)
        parser = kind(config, ServerState(), {}, asyncio.get_running_loop())
        parser.connection_made(Transport())

        async def call(number: int) -> None:
            parser.data_received(given[number % len(given)].request)
            await asyncio.sleep(0)
            while not parser.cycle.response_complete:  # noqa: ASYNC110 - an event would be measured too
                await asyncio.sleep(0)

        for number in range(2_000):
            await call(number)
        signal.signal(signal.SIGPROF, profile.look)
        signal.setitimer(signal.ITIMER_PROF, STEP, STEP)
        began = time.process_time()
        while time.process_time() - began < SECONDS:
            await call(calls)
            calls += 1
        spent = time.process_time() - began
        signal.setitimer(signal.ITIMER_PROF, 0)
    return spent / calls * 1e6, profile.seen


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    asked.add_argument("case", choices=[*MAKES])
    case = asked.parse_args().case
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    with ExitStack() as stack:
        stage = Stage(stack, full=False)
        folder = stage.market_file(stage.template).parent
        for name, secret in (("key_pepper", PEPPER), ("signing_seed", bytes(32))):
            (folder / name).write_text(secret.hex())
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            cost, seen = runner.run(measure(folder, MAKES[case](8000, stage.data)))
    print(f"{case}: {cost:.0f} µs of CPU for a call, without sockets")
    for part, samples in seen.most_common():
        print(f"{cost * samples / seen.total():6.1f} µs  {part}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
