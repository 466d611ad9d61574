"""A served sandbox market for tests, and a seller that works in a thread."""

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Self

from emporion_client import Decline, Market, Order
from emporion_client.chain import balance
from emporion_client.transport import Answer, Call, drive
from emporion_client.worker import Worker
from tests.support.commands import start

Ask = Callable[[Any, Call], Answer]


@contextmanager
def served(folder: Path, **more: object) -> Iterator[str]:
    """Run `emporion serve --sandbox`, with more settings if they are given; return its address."""
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("EMPORION_", "DATABASE_URL"))}
    own = {"DATA_DIR": folder, "PORT": ports[0], "SANDBOX_PORT": ports[1]}
    own |= {"REGISTRATIONS_PER_HOUR": 100_000, "ALLOW_PRIVATE_NETWORKS": "true"} | more
    serving = start(["serve", "--sandbox"], kept | {f"EMPORION_{name}": str(value) for name, value in own.items()})
    try:
        assert serving.stdout is not None
        for line in serving.stdout:
            if b"test chain" in line:
                break
        yield f"http://127.0.0.1:{ports[0]}"
    finally:
        serving.terminate()
        serving.communicate(timeout=60)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve HTTP on a free port in a thread, without a log; return the address."""
    quiet = type("Quiet", (handler,), {"log_message": lambda *_: None})
    server = HTTPServer(("127.0.0.1", 0), quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def answering(status: int, body: bytes, **headers: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Answer every request in one way; collect the headers of the requests."""
    got: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            got.append({name.lower(): value for name, value in self.headers.items()})
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _answer  # noqa: N815 - the standard library's names

    with serving(Handler) as url:
        yield url, got


class Selling:
    """A market whose functions are sold by a worker in a thread, until the context is left."""

    def __init__(self, market: Market) -> None:
        self.market = market
        self.worker = Worker(market.account, market.offers, pause_when_stopped=True)
        self._thread = threading.Thread(target=self.worker.run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        for name in self.market.offers.services:
            eventually(lambda name=name: self.listing(name))
        return self

    def __exit__(self, *_: object) -> None:
        self.worker.stop()
        self._thread.join(30)

    def listing(self, name: str) -> str:
        """Return the id of a listing once it is open; an empty text before."""
        return self.market.account.home.journal.get(f"listing:{name}") or ""


class Clerk(Selling):
    """A seller with services for tests: it counts words, declines, fails and breaks its schema."""

    def __init__(self, url: str, folder: Path) -> None:
        market = Market(url, name="Clerk", home=folder)
        self.calls: list[tuple[str, int]] = []

        @market.sells(title="Count the words of a text", price="0.01", category="text", max_open_jobs=200)
        def count(text: str, order: Order) -> dict[str, int]:
            """Send a text in any language; get the number of its words."""
            self.calls.append((order.id, order.attempt))
            return {"words": len(text.split())}

        def short(given: Any) -> None:
            if len(given["text"]) > 10:
                raise Decline("At most ten letters.")

        @market.sells(title="Turn a text round", price="0.02", check=short)
        async def turn(text: str) -> dict[str, str]:
            """Send a short text; get it backwards."""
            return {"text": text[::-1]}

        @market.sells(title="Fail at everything", price="0.01", attempts=1)
        def fail(text: str) -> dict[str, str]:
            raise RuntimeError("no")

        @market.sells(title="Wait for ever", price="0.01", attempts=1, timeout=0.2)
        async def hang(text: str) -> dict[str, str]:
            await asyncio.sleep(60)
            return {"text": text}

        @market.sells(title="Break the schema", price="0.01")
        def wrong(text: str) -> dict[str, int]:
            return {"text": text}  # type: ignore[dict-item]

        @market.sells(title="Check and fail", price="0.01", check=lambda given: given["nothing"])
        def unchecked(text: str) -> dict[str, str]:
            return {"text": text}

        @market.sells(title="Work after payment", price="0.01", payment="upfront")
        def late(text: str) -> dict[str, str]:
            return {"text": text.upper()}

        super().__init__(market)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.market.close()


def eventually(found: Callable[[], Any], seconds: float = 30) -> Any:
    """Return the first result that is true; fail if none is within the time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if result := found():
            return result
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def jobs_of(market: Market, role: str) -> list[Any]:
    """Return all jobs of an agent."""
    jobs, cursor = [], None
    while True:
        page = market.list_jobs(role=role, limit=100, cursor=cursor)
        jobs, cursor = jobs + page["data"], page["next_cursor"]
        if not page["has_more"]:
            return jobs


def money_of(market: Market) -> int:
    """Return the USDC of an agent's wallet in minor units."""
    return drive(market.http, balance(market.account))
