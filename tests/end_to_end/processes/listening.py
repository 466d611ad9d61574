"""Clients that listen for events without end: one polls from `next_since`, one resumes a stream after Last-Event-ID."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import httpx
import psycopg

from tools.kernel.ids import event_id

FIRST = event_id(0)
RETRY_SECONDS = 0.05
TOLD = "SELECT id FROM events WHERE agent_id = %s AND env = 'test' ORDER BY id"
EVENTS = "/v1/events"


@dataclass
class Listener:
    """An agent's listener at one of the processes. It keeps the ids of its events in order."""

    http: httpx.AsyncClient
    key: str
    heard: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    refusals: list[httpx.Response] = field(default_factory=list)
    opened: int = 0
    came: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def last(self) -> str:
        return self.heard[-1] if self.heard else FIRST

    async def until(self, enough: Callable[["Listener"], bool]) -> None:
        """Wait until it has received enough."""
        while not enough(self):
            self.came.clear()
            await self.came.wait()

    async def poll(self) -> None:
        """Poll for events after the last one, without end."""
        while True:
            answer = await self.http.get(
                EVENTS, params={"since": self.last, "limit": 7}, headers={"X-API-Key": self.key}
            )
            if answer.status_code != 200:
                await self._refused(answer)
                continue
            for one in answer.json()["data"]:
                self._hear(one["id"], one["type"])

    async def stream(self) -> None:
        """Listen to the stream; if it ends or is refused, resume it after the last event."""
        while True:
            headers = {"X-API-Key": self.key, "Last-Event-ID": self.last}
            try:
                async with self.http.stream("GET", f"{EVENTS}/stream", headers=headers, timeout=60) as answer:
                    if answer.status_code != 200:
                        await answer.aread()
                        await self._refused(answer)
                        continue
                    self.opened += 1
                    self.came.set()
                    async for frame in frames(answer):
                        if "id" in frame:
                            self._hear(frame["id"], frame["event"])
            except httpx.TransportError:
                continue

    async def _refused(self, answer: httpx.Response) -> None:
        self.refusals.append(answer)
        await asyncio.sleep(RETRY_SECONDS)

    def _hear(self, event: str, kind: str) -> None:
        self.heard.append(event)
        self.kinds.append(kind)
        self.came.set()


async def frames(answer: httpx.Response) -> AsyncIterator[dict[str, str]]:
    """Yield the frames of a stream as they arrive."""
    frame: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if not line:
            yield frame
            frame = {}
        else:
            name, _, value = line.partition(": ")
            frame[name] = value


class Listening:
    """A context in which listeners run: `async with Listening(one.poll(), other.stream())`.

    If a listener fails, the context fails.
    """

    def __init__(self, *work: Awaitable[None]) -> None:
        self.tasks = [asyncio.ensure_future(one) for one in work]

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None:
        for task in self.tasks:
            task.cancel()
        ended = await asyncio.gather(*self.tasks, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in ended), ended


def told(url: str, agent_id: str) -> list[str]:
    """Return the ids of all events of an agent, from the rows."""
    with psycopg.connect(url) as connection:
        return [event_id(number) for (number,) in connection.execute(TOLD, [agent_id])]
