"""A headless Chromium, controlled over a pipe with its debugging protocol. It needs no other program."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from select import select
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 180  # an audit of the longest page takes 24 on a busy machine
FLAGS = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-proxy-server", "--disable-gpu",
    "--disable-background-networking", "--disable-dev-shm-usage",
)  # fmt: skip


def installed() -> str | None:
    """Return the browser from CHROMIUM, or else from the path."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def browser(program: str, folder: Path, said_to: Path) -> Iterator["Tab"]:
    """Start the browser with a profile in `folder` and its log at `said_to`; give one tab."""
    heard, said = os.pipe(), os.pipe()  # (the browser reads, we write), (we read, the browser writes)
    flags = [*FLAGS, f"--user-data-dir={folder}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    shell = f'exec 3<&{heard[0]} 4>&{said[1]}; exec "$0" "$@"'
    with said_to.open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-c", shell, program, *flags, "about:blank"],
            pass_fds=(heard[0], said[1]), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
    os.close(heard[0])
    os.close(said[1])
    try:
        yield Tab(said[0], heard[1])
    finally:
        os.close(heard[1])
        os.close(said[0])
        try:
            process.wait(timeout=10)  # it ends when its pipe closes
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Tab:
    """One tab. `events` are its messages since a page was opened."""

    def __init__(self, reading: int, writing: int) -> None:
        self.reading, self.writing = reading, writing
        self.ids, self.rest, self.session = count(1), b"", ""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        wanted = next(self.ids)
        session = {"sessionId": self.session} if self.session else {}
        os.write(
            self.writing, json.dumps({"id": wanted, "method": method, "params": params, **session}).encode() + b"\0"
        )
        while True:
            message = self._message()
            if message.get("id") == wanted:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def open(self, url: str) -> None:
        """Open a page and wait until it is completely loaded."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        self._loaded()

    def follow(self, expression: str) -> None:
        """Run a script that leads to another page, and wait until that is completely loaded."""
        self.events.clear()
        self.value(expression)
        self._loaded()

    def told(self, event: str) -> list[dict[str, Any]]:
        return [one["params"] for one in self.events if one.get("method") == event]

    def value(self, expression: str) -> Any:
        """Return the value of an expression, or what its promise resolves to; raise its error."""
        ended = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in ended:
            raise RuntimeError(f"{expression[:80]}: {ended['exceptionDetails']}")
        return ended["result"].get("value")

    def _loaded(self) -> None:
        while not self.told("Page.loadEventFired"):
            self.events.append(self._message())

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            if not select([self.reading], [], [], SECONDS)[0]:
                raise TimeoutError("the browser is silent")
            more = os.read(self.reading, 1 << 16)
            if not more:
                raise EOFError("the browser has ended")
            self.rest += more
        first, _, self.rest = self.rest.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        return message
