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
from queue import SimpleQueue

from emporion_client.answers import JsonObject, parsed
from emporion_client.errors import EmporionError
from emporion_client.mcp_tools import HELLO, INITIALIZED, MAX_ANSWER_BYTES, McpTools

NO_SUCH_METHOD = {"code": -32601, "message": "this client answers no requests"}
CLOSING_SECONDS = 5.0
LAST_WORDS_SECONDS = 1.0  # for the end of a stdout whose process has ended
MAX_ID = 100
MAX_UNREAD = 1000
# What MCP clients pass by default, and the language and the folder of temporary files.
ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")


class McpCommand(McpTools):
    """A running command; it is started again if it has ended.

    It sees the usual variables of the environment and those of `env`, because a tool may show them to a buyer.
    """

    def __init__(self, argv: Sequence[str], timeout: float = 300, env: Sequence[str] = ()) -> None:
        unset = [name for name in env if name not in os.environ]
        if unset:
            raise EmporionError(f"the environment has no variable {', '.join(unset)}")
        self._env = {name: os.environ[name] for name in (*ENVIRONMENT, *env) if name in os.environ}
        self._argv, self._timeout = list(argv), timeout
        self._turn = threading.Lock()
        self._running: _Running | None = None
        self._closed = False

    def _ask(self, method: str, params: JsonObject) -> JsonObject:
        with self._turn:
            running = self._running
            if running is None or running.ended:
                running = self._start()
        return self._result(method, running.ask(method, params))

    def _start(self) -> "_Running":
        self._refuse_if_closed()
        running = self._running = _Running(self._argv, self._env, self._timeout)
        try:
            self._refuse_if_closed()  # again, because close() may not have seen this process
            self._result("initialize", running.ask("initialize", HELLO))
            running.write(INITIALIZED)
        except EmporionError:
            running.close()
            raise
        return running

    def _refuse_if_closed(self) -> None:
        if self._closed:  # a thread may still work an order when the program ends
            raise EmporionError("the MCP server is closed")

    def close(self) -> None:
        """End the command and what it started."""
        self._closed = True
        if self._running is not None:
            self._running.close()


class _Running:
    """One process of the command, with the calls that wait for its answers."""

    def __init__(self, argv: Sequence[str], env: dict[str, str], timeout: float) -> None:
        self._timeout, self._numbers = timeout, itertools.count(1)
        self._waiting: dict[int, Future[JsonObject]] = {}
        self._unread = SimpleQueue[bytes | None]()
        self._heard = 0
        self.ended = False
        try:
            # A new session, so that Ctrl-C reaches the command only through this client.
            self._process = subprocess.Popen(  # noqa: S603 - the seller names the command
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, start_new_session=True
            )
        except OSError as error:
            raise EmporionError(f"{argv[0]} cannot be run: {error.strerror}") from None
        threading.Thread(target=self._send, name="emporion-mcp-stdin", daemon=True).start()
        self._reading = threading.Thread(target=self._read, name="emporion-mcp-stdout", daemon=True)
        self._reading.start()

    def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Send a request; return its answer. Kill a command that sends nothing in all the time."""
        number, answer, heard = next(self._numbers), Future[JsonObject](), self._heard
        self._waiting[number] = answer
        if self.ended:  # looked at after the entry, because the end empties the entries once
            raise EmporionError("the MCP server ended")
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            return answer.result(self._timeout)
        except TimeoutError:
            self._waiting.pop(number, None)
            if self._heard == heard:
                self.ended = True
                self.kill()
            gone = {"requestId": number, "reason": "it takes too long"}
            self.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": gone})
            raise EmporionError(f"the MCP server does not answer {method} in {self._timeout:g} s") from None

    def write(self, message: JsonObject) -> None:
        """Queue a message, which a thread writes, because a command that does not read blocks it."""
        self._unread.put(json.dumps(message).encode() + b"\n")

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the command and what it started."""
        with suppress(ProcessLookupError, PermissionError):  # macOS permits no signal to a process that has ended
            os.killpg(self._process.pid, number)

    def close(self) -> None:
        """End the command: close its stdin, then send signals.

        A child of it in another session may go on, with the command's stdout; close() does not wait for it.
        """
        self._unread.put(None)
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSING_SECONDS)
                break
            self.kill(number)
        if self._reading.is_alive():
            self.kill()
            self._reading.join(LAST_WORDS_SECONDS)

    def _send(self) -> None:
        """Write the queued messages, until the end of the command or close()."""
        assert self._process.stdin is not None
        with suppress(OSError), self._process.stdin as lines:
            while (line := self._unread.get()) is not None:
                lines.write(line)
                lines.flush()

    def _read(self) -> None:
        """Give each answer to the call that waits for it, until the command ends or sends too much."""
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            while (line := lines.readline(MAX_ANSWER_BYTES)).endswith(b"\n"):
                self._heard += 1
                self._take(parsed(line))
        self.ended = True
        self._unread.put(None)
        self.kill()
        self._process.wait()
        with suppress(KeyError):
            while True:
                self._waiting.popitem()[1].set_exception(
                    EmporionError("the MCP server ended, or its answer is too long")
                )

    def _take(self, message: object) -> None:
        if not isinstance(message, dict):  # some commands print other lines too
            return
        number = message.get("id")
        if "method" not in message:
            answer = self._waiting.pop(number, None) if isinstance(number, int) else None
            if answer is not None:
                answer.set_result(message)
        elif _is_id(number) and self._unread.qsize() < MAX_UNREAD:
            refused = {"result": {}} if message["method"] == "ping" else {"error": NO_SUCH_METHOD}
            self.write({"jsonrpc": "2.0", "id": number, **refused})


def _is_id(value: object) -> bool:
    """Tell whether a request may have this id; a long one, sent back, would fill the memory."""
    return isinstance(value, int) or (isinstance(value, str) and len(value) <= MAX_ID)
