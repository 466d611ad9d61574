"""A client that follows a task over real HTTP, in any protocol form; it subscribes again when a stream ends."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import httpx

from tests.support.a2a_requests import HTTP_1, RPC_03, RPC_1, VERSION
from tests.support.a2a_tasks import event_in

ENDED = {"ended": True}
PATIENCE_SECONDS = 15
SUBSCRIBE = {RPC_1: "SubscribeToTask", RPC_03: "tasks/resubscribe"}


class Follower:
    """Successive subscriptions to one task; `last` is the newest event as received."""

    def __init__(self, http: httpx.AsyncClient, key: str, form: str, task_id: str, *, returns: bool = False) -> None:
        self.http, self.form, self.task_id, self.returns = http, form, task_id, returns
        self.headers = {"x-api-key": key} | ({} if form == RPC_03 else VERSION)
        self.heard = asyncio.Queue[Any]()
        self.last: Any = None
        self.running = asyncio.create_task(self._follow())

    async def next(self) -> Any:
        """Return the next event, normalised as by tests.support.a2a_tasks; ENDED after the last."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            raw = await self.heard.get()
        self.last = raw
        return ENDED if raw is ENDED else event_in(self.form, json.loads(raw))

    def again(self) -> None:
        """Subscribe again and forget earlier events."""
        self.heard = asyncio.Queue()
        self.running = asyncio.create_task(self._follow())

    async def leave(self) -> None:
        """Close the connection."""
        self.running.cancel()
        with suppress(asyncio.CancelledError):
            await self.running

    async def _follow(self) -> None:
        heard = self.heard
        path, body = self._asked()
        async with self.http.stream("POST", path, json=body, headers=self.headers, timeout=60) as answer:
            if "event-stream" in answer.headers["content-type"]:
                async for line in answer.aiter_lines():
                    if line.startswith("data:"):
                        heard.put_nowait(line.removeprefix("data:"))
            else:
                heard.put_nowait((await answer.aread()).decode())
        heard.put_nowait(ENDED)

    def _asked(self) -> tuple[str, Any]:
        if self.form == HTTP_1:
            return f"/a2a/tasks/{self.task_id}:subscribe", {}
        params = {"id": self.task_id}
        return "/a2a", {"jsonrpc": "2.0", "id": 7, "method": SUBSCRIBE[self.form], "params": params}
