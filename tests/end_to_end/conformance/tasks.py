"""The tasks that the MCP conformance suite expects of any server: tools that take time, fail, or ask for input.

The state of a task depends only on the clock and its inputs, so nothing runs in the background.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any

import mcp_types as t
from mcp.shared.exceptions import MCPError

from protocol.mcp.request import Request
from protocol.mcp.tasks import Asking, HireTasks, declares, missing
from server.adapters.clock import SystemClock
from tests.support.mcp_client import Call

POLL_MS = 200
CLOCK, NUMBERS = SystemClock(), count(1)
NAME: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}}


def said(words: str, *, fails: bool = False) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(text=words)], is_error=fails)


def form(message: str) -> t.ElicitRequest:
    return t.ElicitRequest(params=t.ElicitRequestFormParams(message=message, requested_schema=NAME))


@dataclass
class Work:
    """A task of the suite.

    It ends after `seconds`, or after the answers to `asks`, with a result or an error of the protocol.
    """

    ends: t.CallToolResult | t.ErrorData
    seconds: float = 0.0
    asks: dict[str, t.ElicitRequest] = field(default_factory=dict)
    task_id: str = field(default_factory=lambda: f"suite_{next(NUMBERS)}")
    began: datetime = field(default_factory=CLOCK.now)
    cancelled: bool = False

    def frame(self) -> dict[str, Any]:
        at = self.began.isoformat()
        described = {"taskId": self.task_id, "status": self.state()[0], "createdAt": at, "lastUpdatedAt": at}
        return {**described, "ttlMs": None, "pollIntervalMs": POLL_MS}

    def state(self) -> tuple[str, Mapping[str, Any]]:
        if self.cancelled:
            return "cancelled", {}
        if self.asks:
            return "input_required", {"inputRequests": {key: _dumped(ask) for key, ask in self.asks.items()}}
        if (CLOCK.now() - self.began).total_seconds() < self.seconds:
            return "working", {}
        ends = _dumped(self.ends)
        return ("failed", {"error": ends}) if isinstance(self.ends, t.ErrorData) else ("completed", {"result": ends})


WORKS: dict[str, Work] = {}


def begin(work: Work) -> dict[str, Any]:
    WORKS[work.task_id] = work
    return {"resultType": "task", **work.frame()}


class SuiteTasks(HireTasks):
    """The suite's tasks, in memory and without an owner, beside those of the market."""

    async def read(self, task_id: str, asking: Asking) -> dict[str, Any]:
        if (work := WORKS.get(task_id)) is None:
            return await super().read(task_id, asking)
        return {**work.frame(), **work.state()[1]}

    async def answer(self, task_id: str, responses: Mapping[str, Any], asking: Asking) -> None:
        if (work := WORKS.get(task_id)) is None:
            await super().answer(task_id, responses, asking)
        else:
            work.asks = {key: ask for key, ask in work.asks.items() if key not in responses}

    async def cancel(self, task_id: str, asking: Asking) -> None:
        if (work := WORKS.get(task_id)) is None:
            await super().cancel(task_id, asking)
        else:
            work.cancelled = True


def working(work: Callable[[Mapping[str, Any]], Work], *, required: bool = False) -> Call:
    """Return a tool that becomes a task if the client supports tasks, unless it ends at once.

    If `required`, other clients are refused.
    """

    async def call(request: Request, asked: t.CallToolRequestParams) -> t.Result | dict[str, Any]:
        made = work(asked.arguments or {})
        if declares(request) and asked.arguments != {"seconds": 0}:
            return begin(made)
        if required:
            raise missing()
        if isinstance(made.ends, t.ErrorData):
            raise MCPError.from_error_data(made.ends)
        return made.ends

    return call


async def greet(request: Request, asked: t.CallToolRequestParams) -> t.CallToolResult:
    return said(f"Hello, {(asked.arguments or {}).get('name')}!")


async def name_first(request: Request, asked: t.CallToolRequestParams) -> t.Result | dict[str, Any]:
    """Ask for a name before the task exists, then start the task."""
    if not declares(request):
        raise missing()
    given = (asked.input_responses or {}).get("user_name")
    if not isinstance(given, t.ElicitResult):
        return t.InputRequiredResult(input_requests={"user_name": form("Your name?")}, request_state="asked")
    return begin(Work(said(f"Hello, {(given.content or {}).get('name')}!")))


CALLS: dict[str, Call] = {
    "greet": greet,
    "slow_compute": working(lambda given: Work(said("computed"), seconds=float(given.get("seconds", 0)))),
    "failing_job": working(lambda given: Work(said("it failed, as asked", fails=True), seconds=0.2), required=True),
    "protocol_error_job": working(lambda given: Work(t.ErrorData(code=t.INTERNAL_ERROR, message="Internal error"))),
    "confirm_delete": working(lambda given: Work(said("deleted"), asks={"confirm": form("Delete it?")})),
    "multi_input": working(lambda given: Work(said("both came"), asks={"one": form("One?"), "two": form("Two?")})),
    "test_tool_with_task": name_first,
}


def _dumped(model: Any) -> Any:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)
