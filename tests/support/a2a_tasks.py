"""Tasks over A2A for tests: send the same request in each of the four forms, and read the answers in one form."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tests.support.a2a_requests import (
    HTTP_03,
    HTTP_1,
    RPC_03,
    RPC_1,
    RPC_FORMS,
    VERSION,
    A2a,
    Heard,
    connected,
    message_of,
    request,
)
from tests.support.market import Agent
from tests.support.trade import Trade

ASKED = {
    "get": ("GetTask", "tasks/get", "GET", ""),
    "cancel": ("CancelTask", "tasks/cancel", "POST", ":cancel"),
}


class Desk:
    """An A2A client of the market, with the key of one agent or with none."""

    def __init__(self, a2a: A2a, agent: Agent | None) -> None:
        self.a2a, self.said = a2a, 0
        self.headers = {} if agent is None else {"x-api-key": agent.keys["test"]}

    async def task(self, form: str, job_id: str, what: str = "get", **params: Any) -> Heard:
        """Send GetTask or CancelTask."""
        new, old, method, tail = ASKED[what]
        if form in RPC_FORMS:
            name = new if form == RPC_1 else old
            return await self.a2a.ask(RPC_1 if form == RPC_1 else RPC_03, name, {"id": job_id, **params}, self.headers)
        query = "&".join(f"{name}={value}" for name, value in params.items())
        if what == "cancel":
            tasks = "/a2a/tasks" if form == HTTP_1 else "/a2a/v1/tasks"
            return await self.a2a.post(form, b"{}", f"{tasks}/{job_id}{tail}", self.headers)
        path = f"/a2a{'' if form == HTTP_1 else '/v1'}/tasks/{job_id}{tail}" + (f"?{query}" if query else "")
        return await self.a2a.fetch(form, path, method, self.headers)

    async def tasks(self, form: str = RPC_1, **params: Any) -> Any:
        """Send ListTasks, which only protocol 1.0 has."""
        if form == RPC_1:
            return (await self.a2a.ask(form, "ListTasks", params, self.headers)).body["result"]
        query = "&".join(f"{name}={value}" for name, value in params.items())
        return (await self.a2a.fetch(form, f"/a2a/tasks?{query}", headers=self.headers)).body

    async def say(self, form: str, *parts: Any, wait: bool = False, **message: Any) -> Heard:
        """Send a message of these parts with a new id. It is answered at once unless `wait` is true."""
        self.said += 1
        sent = message_of(form, parts, **{"messageId": f"m-{self.said}", **message})
        path, body = request(form, sent)
        setting = {"returnImmediately": not wait} if form in (RPC_1, HTTP_1) else {"blocking": wait}
        (body["params"] if form in RPC_FORMS else body)["configuration"] = setting
        return await self.a2a.post(form, json.dumps(body).encode(), path, self.headers)

    def saying(self, form: str, *parts: Any, **message: Any) -> "asyncio.Task[list[Any]]":
        """Start a streamed message; the task returns its events when the stream ends."""
        path, body = request(form, message_of(form, parts, **message), stream=True)
        return asyncio.create_task(self._events(form, path, body))

    def following(self, form: str, job_id: str) -> "asyncio.Task[list[Any]]":
        """Start SubscribeToTask; the task returns its events when the stream ends."""
        if form in RPC_FORMS:
            name = "SubscribeToTask" if form == RPC_1 else "tasks/resubscribe"
            body = {"jsonrpc": "2.0", "id": 7, "method": name, "params": {"id": job_id}}
            return asyncio.create_task(self._events(form, "/a2a", body))
        path = f"/a2a{'' if form == HTTP_1 else '/v1'}/tasks/{job_id}:subscribe"
        return asyncio.create_task(self._events(form, path, {}))

    async def _events(self, form: str, path: str, body: Any) -> list[Any]:
        sent = {"content-type": "application/json", **(VERSION if form in (RPC_1, HTTP_1) else {}), **self.headers}
        answer = await self.a2a.http.post(path, json=body, headers=sent)
        lines = [line.removeprefix("data:") for line in answer.text.split("\n") if line.startswith("data:")]
        found = [json.loads(line) for line in lines] or [answer.json()]
        return [event_in(form, one) for one in found]


@asynccontextmanager
async def desk_of(trade: Trade, agent: Agent | None = None, *, at: str | None = None) -> AsyncIterator[Desk]:
    """Open a client of the market's endpoint, or of the endpoint of the agent `at`."""
    async with connected(trade.market.market) as a2a:
        if at is not None:
            a2a.http.event_hooks["request"].append(_moved(at))
        yield Desk(a2a, agent)


def _moved(handle: str) -> Callable[[httpx.Request], Awaitable[None]]:
    async def move(request: httpx.Request) -> None:
        raw = request.url.raw_path.decode().removeprefix("/a2a")
        request.url = request.url.copy_with(raw_path=f"/a2a/agents/{handle}{raw}".encode())

    return move


def task_in(heard: Heard) -> Any:
    """Return the task in an answer, as protocol 1.0 writes it."""
    assert heard.status == 200, heard.raw
    found = heard.body["result"] if heard.form in RPC_FORMS else heard.body
    found = found.get("task", found)
    return {**found, "status": status_in(heard.form, found["status"])}


def event_in(form: str, body: Any) -> Any:
    """Return an event of a stream in the terms of protocol 1.0, or the error.

    The one member is task, message, statusUpdate or artifactUpdate.
    """
    if "error" in body:
        return body
    found = body["result"] if form in RPC_FORMS else body
    if form == RPC_03:
        kinds = {"status-update": "statusUpdate", "artifact-update": "artifactUpdate"}
        found = {kinds.get(found["kind"], found["kind"]): found}
    for name in ("task", "statusUpdate"):
        if name in found:
            found[name]["status"] = status_in(form, found[name]["status"])
    return found


def states_in(events: list[Any]) -> list[str]:
    """Return the state of each event that has one, without its prefix."""
    told = [one.get("task") or one.get("statusUpdate") for one in events]
    return [one["status"]["state"].removeprefix("TASK_STATE_") for one in told if one]


async def until_waiting(trade: Trade, streams: int = 1) -> None:
    """Wait until `streams` streams listen and have read the current state."""
    async with asyncio.timeout(10):
        while sum(map(len, trade.market.market.notifier.ears.values())) < streams:  # noqa: ASYNC110 - no event for it
            await asyncio.sleep(0.005)
    await asyncio.sleep(0.02)


def status_in(form: str, status: Any) -> Any:
    """Return a status with its state in the terms of protocol 1.0."""
    words = {"TASK_STATE_CANCELLED": "TASK_STATE_CANCELED"}
    old = f"TASK_STATE_{status['state'].upper().replace('-', '_')}"
    state = old if form == RPC_03 else words.get(status["state"], status["state"])
    message = status.get("message", status.get("update"))
    return {**status, "state": state, "message": message}


def data_in(form: str, holder: Any) -> Any:
    """Return the value of the only data part of a message or artifact."""
    parts = holder.get("parts", holder.get("content"))
    (value,) = [part["data"] for part in parts if "data" in part]
    return value["data"] if form == HTTP_03 else value


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
