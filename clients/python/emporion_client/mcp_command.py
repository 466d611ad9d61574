"""An MCP server that runs as a command: JSON-RPC, a line for each message, over its stdin and stdout."""

import itertools
import json
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress

from emporion_client.answers import JsonObject
from emporion_client.errors import EmporionError
from emporion_client.mcp_tools import HELLO, INITIALIZED, McpTools
from emporion_client.sources import without_secrets

NO_SUCH_METHOD = {"code": -32601, "message": "this client answers no requests"}
CLOSING_SECONDS = 5.0
MAX_LINE_BYTES = 16_000_000


class McpCommand(McpTools):
    """A running command; it is started again if it has ended."""

    def __init__(self, argv: Sequence[str], timeout: float = 300) -> None:
        self._argv, self._timeout = list(argv), timeout
        self._turn = threading.Lock()
        self._running: _Running | None = None

    def _ask(self, method: str, params: JsonObject) -> JsonObject:
        with self._turn:
            running = self._running
            if running is None or running.ended:
                self.close()
                running = self._running = _Running(self._argv, self._timeout)
                try:
                    self._result("initialize", running.ask("initialize", HELLO))
                    running.write(INITIALIZED)
                except (EmporionError, OSError):
                    running.kill()
                    raise
        return self._result(method, running.ask(method, params))

    def close(self) -> None:
        """End the command and what it started."""
        if self._running is not None:
            self._running.close()


class _Running:
    """One process of the command, with the calls that wait for its answers."""

    def __init__(self, argv: Sequence[str], timeout: float) -> None:
        self._timeout, self._numbers = timeout, itertools.count(1)
        self._waiting: dict[int, Future[JsonObject]] = {}
        self._writing, self._changing = threading.Lock(), threading.Lock()
        self.ended = False
        try:
            # A session of its own, so that Ctrl-C reaches the command only through this client.
            self._process = subprocess.Popen(  # noqa: S603 - the seller names the command
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=without_secrets(), start_new_session=True
            )
        except OSError as error:
            raise EmporionError(f"{argv[0]} cannot be run: {error.strerror}") from None
        threading.Thread(target=self._read, name="emporion-mcp", daemon=True).start()

    def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Send a request; return its answer."""
        number, answer = next(self._numbers), Future[JsonObject]()
        with self._changing:
            if self.ended:
                raise EmporionError("the MCP server ended")
            self._waiting[number] = answer
        try:
            self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return answer.result(self._timeout)
        except (OSError, ValueError, TimeoutError) as error:
            raise EmporionError(f"the MCP server does not answer {method} ({type(error).__name__})") from None
        finally:
            self._waiting.pop(number, None)

    def write(self, message: JsonObject) -> None:
        """Write a message; kill a command that does not read it in time."""
        assert self._process.stdin is not None
        limit = threading.Timer(self._timeout, self.kill)
        limit.daemon = True
        limit.start()
        try:
            with self._writing:
                self._process.stdin.write(json.dumps(message).encode() + b"\n")
                self._process.stdin.flush()
        finally:
            limit.cancel()

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the command and what it started, unless it has ended."""
        with suppress(ProcessLookupError):
            if self._process.poll() is None:
                os.killpg(self._process.pid, number)

    def close(self) -> None:
        """End the command: close its stdin, then send signals."""
        assert self._process.stdin is not None
        if self._writing.acquire(timeout=CLOSING_SECONDS):  # a command that does not read holds a write up
            with suppress(OSError):
                self._process.stdin.close()
            self._writing.release()
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSING_SECONDS)
                return
            self.kill(number)
        self._process.wait()

    def _read(self) -> None:
        """Give each answer to the call that waits for it, until the command ends or sends too much."""
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            while (line := lines.readline(MAX_LINE_BYTES)).endswith(b"\n"):
                with suppress(ValueError, OSError, RecursionError):  # some commands print other lines too
                    self._take(json.loads(line))
        with self._changing:
            self.ended = True
            left = [*self._waiting.values()]
        self.kill()
        for answer in left:
            if not answer.done():
                answer.set_exception(EmporionError("the MCP server ended, or its answer is too long"))

    def _take(self, message: object) -> None:
        if not isinstance(message, dict):
            return
        number = message.get("id")
        if "method" not in message:
            answer = self._waiting.get(number) if isinstance(number, int) else None
            if answer is not None and not answer.done():
                answer.set_result(message)
        elif number is not None:
            refused = {"result": {}} if message["method"] == "ping" else {"error": NO_SUCH_METHOD}
            self.write({"jsonrpc": "2.0", "id": number, **refused})
