"""The tasks extension of MCP (io.modelcontextprotocol/tasks, SEP-2663): how tasks are asked for and answered on the wire.

Only clients that declare the extension, request by request, hear of tasks; everybody else is answered as ever. What a task is
says its source: nothing of it is kept here. Status notifications, which are optional, are not sent.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import mcp_types as t
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field

from protocol.mcp_request import Request, approach_in, view_in
from protocol.mcp_wire import TASKS
from tools.context import Approach
from tools.errors.base import Json

POLL_MS = 5_000
ENDED = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True, slots=True)
class Task:
    """A task as it stands. `inside` is what its status brings with it: result, error or inputRequests."""

    task_id: str
    status: Literal["working", "input_required", "completed", "failed", "cancelled"]
    created_at: str
    last_updated_at: str
    message: str | None = None
    inside: Mapping[str, Json] = field(default_factory=dict)
    poll_ms: int = POLL_MS

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def frame(self) -> dict[str, Json]:
        """The task without what is inside: as it is answered where it is made. It is kept for good, so no ttlMs bounds it."""
        said = {} if self.message is None else {"statusMessage": self.message}
        return {
            "taskId": self.task_id,
            "status": self.status,
            **said,
            "createdAt": self.created_at,
            "lastUpdatedAt": self.last_updated_at,
            "ttlMs": None,
            "pollIntervalMs": self.poll_ms,
        }


class TaskParams(t.RequestParams):
    """`api_key` and `detail` are reserved arguments of a tool call, which tasks have no arguments to carry them in."""

    task_id: str = Field(max_length=128)
    api_key: Json = Field(None, alias="api_key")
    detail: Json = None


class UpdateParams(TaskParams):
    input_responses: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asking:
    """A request about a task, from a client that takes tasks."""

    request: Request
    api_key: Json = None
    detail: Json = None

    @property
    def approach(self) -> Approach:
        return approach_in(self.request)

    @property
    def readonly(self) -> bool:
        return view_in(self.request).readonly

    @property
    def elicits(self) -> bool:
        """Whether this client can be asked to fill in a form. `elicitation: {}` says so, and {"url": {}} alone does not."""
        declared = self.request.session.client_capabilities
        asked = None if declared is None else declared.elicitation
        return asked is not None and (asked.form is not None or asked.url is None)


class Source(Protocol):
    """Where tasks come from."""

    async def read(self, task_id: str, asking: Asking) -> Task | None:
        """None: this source has no such task. MCPError where it knows why it may not be read."""

    async def answer(self, task: Task, responses: Mapping[str, Any], asking: Asking) -> None:
        """Take the responses to what the task asks for; those to anything else are passed over."""

    async def cancel(self, task: Task, asking: Asking) -> None:
        """Ask that it ends, if it has not; that it does is not promised."""


Doing = Callable[[Source, Task, Any, Asking], Awaitable[Mapping[str, Json]]]


def declares(request: Request) -> bool:
    """Whether this request's client takes tasks. The era with a handshake has none: the extension is not for it."""
    if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False
    capabilities = request.session.client_capabilities
    return capabilities is not None and TASKS in (capabilities.extensions or {})


def created(task: Task, meta: dict[str, Any] | None = None) -> dict[str, Any]:
    """The result of a call that became a task."""
    return {"resultType": "task", **task.frame(), **({"_meta": meta} if meta else {})}


def missing() -> MCPError:
    needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
    return MCPError(t.MISSING_REQUIRED_CLIENT_CAPABILITY, f"declare {TASKS} in clientCapabilities", data=needed)


def unknown(task_id: str, error: Json = None) -> MCPError:
    """Also for a task of somebody else; `error` is the market's own refusal."""
    return MCPError(
        t.INVALID_PARAMS, "Unknown task", data={"taskId": task_id} | ({} if error is None else {"error": error})
    )


def install(server: Server[Any], sources: Sequence[Source]) -> None:
    """Serve the three methods over these sources, which are asked in their order, and say so in the server's capabilities."""
    server.extensions[TASKS] = {}
    for name, params, doing in (
        ("tasks/get", TaskParams, _get),
        ("tasks/update", UpdateParams, _update),
        ("tasks/cancel", TaskParams, _cancel),
    ):
        server.add_request_handler(name, params, _method(sources, doing))


def _method(sources: Sequence[Source], doing: Doing) -> Callable[[Request, Any], Awaitable[dict[str, Any]]]:
    async def handle(request: Request, asked: Any) -> dict[str, Any]:
        if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            raise MCPError(t.METHOD_NOT_FOUND, "Method not found", data=request.method)
        if not declares(request):
            raise missing()
        _check_name(request, asked.task_id)
        asking = Asking(request, asked.api_key, asked.detail)
        for source in sources:
            task = await source.read(asked.task_id, asking)
            if task is not None:
                return {"resultType": "complete", **await doing(source, task, asked, asking)}
        raise unknown(asked.task_id)

    return handle


async def _get(source: Source, task: Task, asked: TaskParams, asking: Asking) -> Mapping[str, Json]:
    return {**task.frame(), **task.inside}


async def _update(source: Source, task: Task, asked: UpdateParams, asking: Asking) -> Mapping[str, Json]:
    await source.answer(task, asked.input_responses, asking)
    return {}


async def _cancel(source: Source, task: Task, asked: TaskParams, asking: Asking) -> Mapping[str, Json]:
    if not task.ended:
        await source.cancel(task, asking)
    return {}


def _check_name(request: Request, task_id: str) -> None:
    """The header a client must send names the same task. Who sends none is served: published clients do not know it yet."""
    headers = {} if request.request is None else request.request.headers
    named = headers.get(MCP_NAME_HEADER)
    if named is not None and decode_header_value(named) != task_id:
        raise MCPError(t.HEADER_MISMATCH, "mcp-name header does not match the request body's taskId")
