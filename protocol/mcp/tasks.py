"""The tasks extension of MCP (io.modelcontextprotocol/tasks, SEP-2663): its requests and answers on the wire.

Only clients that declare the extension, request by request, get tasks; all others get the usual answer. Status
notifications, which are optional, are not sent.
"""

from dataclasses import dataclass
from typing import Any

import mcp_types as t
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field

from protocol.mcp.request import TASKS, Request, arrived_in
from protocol.mcp.toolsets import View
from tools.engine.caller import CallRequest
from tools.kernel.errors import Json


class TaskParams(t.RequestParams):
    """The parameters of a task's methods, with the reserved arguments of tool calls."""

    task_id: str = Field(max_length=128)
    api_key: Json = Field(None, alias="api_key")
    detail: Json = None


class UpdateParams(TaskParams):
    input_responses: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asking:
    """A request about a task, from a client that supports tasks."""

    request: Request
    api_key: Json = None
    detail: Json = None

    @property
    def call_request(self) -> CallRequest:
        return arrived_in(self.request).call_request

    @property
    def view(self) -> View:
        return arrived_in(self.request).view

    @property
    def elicits(self) -> bool:
        """True if the client can show forms.

        `elicitation: {}` declares that it can, {"url": {}} alone that it cannot.
        """
        declared = self.request.session.client_capabilities
        asked = None if declared is None else declared.elicitation
        return asked is not None and (asked.form is not None or asked.url is None)


def declares(request: Request) -> bool:
    """Return True if the request's client supports tasks; only modern versions have them."""
    if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False
    capabilities = request.session.client_capabilities
    return capabilities is not None and TASKS in (capabilities.extensions or {})


def missing() -> MCPError:
    needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
    return MCPError(t.MISSING_REQUIRED_CLIENT_CAPABILITY, f"declare {TASKS} in clientCapabilities", data=needed)


def unknown(task_id: str, error: Json = None) -> MCPError:
    """Return the error for a missing or foreign task; `error` is the market's own refusal."""
    told = {"taskId": task_id} | ({} if error is None else {"error": error})
    return MCPError(t.INVALID_PARAMS, "Unknown task", data=told)


def check_name(request: Request, task_id: str) -> None:
    """Raise MCPError if the name header does not match the task.

    A client must send it, but published clients do not yet, so a missing header is accepted.
    """
    headers = {} if request.request is None else request.request.headers
    named = headers.get(MCP_NAME_HEADER)
    if named is not None and decode_header_value(named) != task_id:
        raise MCPError(t.HEADER_MISMATCH, "mcp-name header does not match the request body's taskId")
