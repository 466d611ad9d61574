"""A faulty proxy in front of a chain node. It changes, drops or delays answers as a test requests."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Self

import aiohttp
from aiohttp import web

Json = dict[str, Any]
FOR_EVER = 10**9


@dataclass(frozen=True)
class Reply:
    """An HTTP answer instead of the node's."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


class Silence(Enum):
    """No HTTP answer: the connection is closed, or kept open without data until the proxy stops."""

    DROP = auto()
    HOLD = auto()


Fault = Callable[[Json], Json | Reply | Silence]


def result(change: Callable[[Any], Any]) -> Fault:
    """Return a fault that changes only `result`. `change` receives the real result."""
    return lambda answer: answer | {"result": change(answer["result"])}


def fields(**changed: Any) -> Fault:
    """Return a fault that sets fields of an object in `result`."""
    return result(lambda given: given | changed)


def logs(change: Callable[[list[Json]], list[Json]]) -> Fault:
    """Return a fault that changes the logs of a receipt."""
    return result(lambda receipt: receipt | {"logs": change(receipt["logs"])})


def error(code: Any, message: Any) -> Fault:
    """Return a fault that replaces the result by a JSON-RPC error."""
    return lambda answer: {"jsonrpc": "2.0", "id": answer["id"], "error": {"code": code, "message": message}}


class FaultyNode:
    """A faulty proxy for `async with FaultyNode(real_url) as node`, at `node.url`.

    `node.counts` has the number of calls of each method.
    """

    def __init__(self, real_url: str) -> None:
        self.real_url = real_url
        self.url = ""
        self.counts: Counter[str] = Counter()
        self.questions: list[Json] = []
        self._faults: dict[str, tuple[Fault, int]] = {}
        self._stopped = asyncio.Event()

    def fault(self, method: str, fault: Fault, times: int = FOR_EVER) -> None:
        """Apply `fault` to the next `times` answers to `method`; "*" is any method."""
        self._faults[method] = (fault, times)

    def heal(self) -> None:
        """Remove all faults."""
        self._faults.clear()

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._real = aiohttp.ClientSession()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopped.set()
        await self._runner.cleanup()
        await self._real.close()

    async def _answer(self, request: web.Request) -> web.Response:
        question = await request.json()
        self.questions.append(question)
        self.counts[question["method"]] += 1
        async with self._real.post(self.real_url, json=question) as real:
            answer = await real.json()
        changed = self._next_fault(question["method"])(answer)
        if isinstance(changed, dict):
            return web.json_response(changed)
        if isinstance(changed, Reply):
            return web.Response(status=changed.status, body=changed.body, headers=changed.headers)
        if changed is Silence.HOLD:
            await self._stopped.wait()
        if request.transport is not None:  # None: the client has hung up
            request.transport.abort()
        return web.Response()

    def _next_fault(self, method: str) -> Fault:
        for name in (method, "*"):
            fault, left = self._faults.get(name, (None, 0))
            if fault is not None and left > 0:
                self._faults[name] = (fault, left - 1)
                return fault
        return lambda answer: answer
