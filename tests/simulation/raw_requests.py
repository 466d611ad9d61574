"""Raw HTTP requests to the process of a run, as a client without the API's own wires sends them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tests.simulation.machine import Machine
from tests.simulation.wires import Call, request

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Reply:
    """The answer of a raw HTTP request."""

    status: int
    raw: bytes

    @property
    def body(self) -> Any:
        """The JSON of the answer."""
        return orjson.loads(self.raw)


async def send_raw(
    machine: Machine, call: Call, method: str, path: str, body: bytes = b"", headers: Headers = (), query: str = ""
) -> Reply:
    """Send one request from the address of a call; the reply is 503 if no process answers it."""
    if not machine.alive:
        return Reply(503, b"{}")
    task = machine.start(request(machine.edge, machine.loop, call, method, path, [*headers], body, query))
    await asyncio.wait([task])
    return Reply(503, b"{}") if task.cancelled() else Reply(*task.result())
