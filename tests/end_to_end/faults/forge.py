"""The client of `tests.end_to_end.faults.server`: starts servers quickly, kills them, and returns their exit codes."""

import os
import select
from typing import IO, Any

import orjson

from tests.support.commands import start

PATIENCE_SECONDS = 60.0
KILLED = -9


class Forge:
    """A process that forks servers, one at a time, on one port.

    Between two servers, connections wait for the next one.
    """

    running = False

    def __init__(self, errors: IO[bytes] | None = None) -> None:
        orders, self.orders = os.pipe()
        self.process = start([], os.environ, module="tests.end_to_end.faults.server", source=orders, errors=errors)
        os.close(orders)
        try:
            self.port = int(self._hear("listening"))
        except BaseException:
            self.close()
            raise

    def start(self, kind: str, **given: Any) -> None:
        """Fork a server; return when it serves.

        `kind` and its arguments are in tests.end_to_end.faults.server.KINDS.
        """
        self.begin(kind, **given)
        self.ready()

    def ready(self) -> None:
        """Wait until the server serves."""
        self._hear("ready")

    def begin(self, kind: str, **given: Any) -> None:
        """Fork a server without waiting for it. A running one is killed first."""
        if self.running:
            self.kill()
        self.running = True
        self._say(orjson.dumps({"kind": kind, **given}))

    def kill(self) -> int:
        """Send SIGKILL to the server; return its exit code, which is KILLED unless it ended before."""
        self._say(b"kill")
        return self.ended()

    def ended(self) -> int:
        """Wait until the server has ended; return its exit code."""
        code = int(self._hear("ended"))
        self.running = False
        return code

    def close(self) -> None:
        """End the process and its server."""
        assert self.process.stdout is not None
        os.close(self.orders)
        self.process.wait()
        self.process.stdout.close()

    def _say(self, word: bytes) -> None:
        os.write(self.orders, word + b"\n")

    def _hear(self, wanted: str) -> str:
        """Return the rest of the line after this word.

        A killed server may have written `ready` before.
        """
        while True:
            word, _, rest = self._line().partition(" ")
            if word == wanted:
                return rest
            assert (wanted, word) == ("ended", "ready"), f"{word} {rest} instead of {wanted}"

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_SECONDS)
            piece = os.read(self.process.stdout.fileno(), 1) if ready else b""
            assert piece, f"the process that forks servers says nothing after {line!r}"
            line += piece
        return line.decode().strip()
