"""The processes of a benchmark: servers on ports, and a worker that runs our functions in another process."""

import json
import multiprocessing
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPConnection, HTTPResponse
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import psutil

from benchmarks.load import cpu_seconds

T, U = TypeVar("T"), TypeVar("U")
START_SECONDS = 60
ROOT = Path(__file__).parents[1]
UNSET = ("EMPORION_", "OTEL_", "PYTHONDEVMODE", "PYTHONASYNCIODEBUG")


def inherited(env: Mapping[str, str]) -> dict[str, str]:
    """Return this environment without settings of a market, and with these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(UNSET)}
    spans = {"OTEL_INSTRUMENTATION_A2A_SDK_ENABLED": "false"}  # also for the floor, because they cost a third
    return {**kept, "PYTHONPATH": str(ROOT), **env, **spans}


class Child:
    """A Python server on a free port of 127.0.0.1. The constructor waits until it is ready."""

    def __init__(
        self, command: Sequence[str], folder: Path, path: str = "/", env: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.port, self.folder, self.began = free_port(), folder, time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, *command, "--port", str(self.port)],
            env=inherited(env),
            cwd=folder,  # contains no .env
            stdin=subprocess.PIPE,  # closes if this process ends, which ends our own servers
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # each call writes a log line, which is discarded
        )
        self.seen = psutil.Process(self.process.pid)
        self._wait(path)

    @property
    def pid(self) -> int:
        return self.process.pid

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)

    def resident_kb(self) -> float:
        return float(self.seen.memory_info().rss / 1024)

    def ask(self, method: str, path: str, key: str | None = None, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Send one request; return the status and the JSON of the answer."""
        wire = HTTPConnection("127.0.0.1", self.port, timeout=START_SECONDS)
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        told |= {"X-API-Key": key} if key else {}
        sent = None if body is None else json.dumps(body)
        wire.request(method, path, sent, told | ({"Content-Type": "application/json"} if sent else {}))
        answer = wire.getresponse()
        read = answer.read()
        wire.close()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(read) if is_json and read else None

    def send(self, request: bytes) -> Any:
        """Send these bytes as a request; return the JSON of the answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=START_SECONDS) as wire:
            wire.sendall(request)
            answer = HTTPResponse(wire)
            answer.begin()
            return json.loads(answer.read())

    def kill(self) -> None:
        self.process.kill()
        self._ended()

    def stop(self) -> None:
        if self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._ended()

    def _ended(self) -> None:
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()

    def _wait(self, path: str) -> None:
        while True:
            try:
                self.ask("GET", path)
            except OSError:
                if self.process.poll() is not None or time.monotonic() - self.began > START_SECONDS:
                    self.kill()
                    raise RuntimeError(f"the server does not start: {' '.join(map(str, self.process.args))}") from None
                time.sleep(0.01)
            else:
                return


class Worker:
    """A process that runs functions of modules, one at a time, while the caller continues."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.wire, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def run(self, function: Callable[[T], U], given: T) -> U:
        self.start(function, given)
        answer: U = self.finish()
        return answer

    def start(self, function: Callable[[T], Any], given: T) -> None:
        self.wire.send((function, given))

    def finish(self) -> Any:
        """Return the function's result, or raise its error."""
        answer, error = self.wire.recv()
        if error is not None:
            raise error
        return answer

    def close(self) -> None:
        self.wire.close()
        self.process.join()


def _serve(wire: Connection) -> None:
    while True:
        try:
            function, given = wire.recv()
        except EOFError:
            return
        try:
            answer = (function(given), None)
        except Exception as error:  # noqa: BLE001 - raised again by `finish`
            answer = (None, error)
        wire.send(answer)


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])
