"""Hiring as a task of MCP (the extension io.modelcontextprotocol/tasks, SEP-2663).

The job is the task, with the same id, and everything is read from the job. Only clients that declare the extension,
request by request, get tasks; all others get the usual answer after the bounded wait. A task is created only if the
connection itself carries a key, because a host polls on its own and does not know a key that a model passed as an
argument. Status notifications, which are optional, are not sent.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import mcp_types as t
import orjson
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field

from protocol.brief import DETAIL
from protocol.job_texts import what_is_due, where_it_stands
from protocol.mcp.request import HIRE, TASKS, Request, arrived_in
from protocol.mcp.tools import Called, Tools
from protocol.mcp.toolsets import CALL, View
from protocol.mcp.wording import Wording
from protocol.reserved_arguments import API_KEY, extract
from tools.engine.caller import CallRequest
from tools.engine.errors import Forbidden, NotFound
from tools.engine.idempotency import Response
from tools.engine.registry import CATALOGUE
from tools.jobs.errors import InvalidTransition
from tools.jobs.operations import read_hire
from tools.kernel.errors import Json, MarketError

PAY, ACCEPT_QUOTE, CANCEL = "pay_job", "accept_quote", "cancel_job"
POLL_MS = 5_000
ENDED = frozenset({"completed", "failed", "cancelled"})
TRANSACTION = {"type": "string", "description": "hash of the mined transfer, 0x and 64 hex"}


class TaskParams(t.RequestParams):
    """The parameters of a task's methods, with the reserved arguments of tool calls."""

    task_id: str = Field(max_length=128)
    api_key: Json = Field(None, alias="api_key")
    detail: Json = None


class UpdateParams(TaskParams):
    input_responses: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asking:
    """A request about a task, from a client that supports tasks.

    The reserved arguments are taken from it.
    """

    request: Request
    call_request: CallRequest
    detail: str | None = None

    @property
    def continued(self) -> CallRequest:
        """The request for a further call of the same task, whose signature is not used up again.

        A signature is valid for one call. The first call of the task has used it.
        """
        return replace(self.call_request, is_continuation=True)

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


def _check_name(request: Request, task_id: str) -> None:
    """Raise MCPError if the name header does not match the task.

    A client must send it, but published clients do not yet, so a missing header is accepted.
    """
    http: Any = request.request
    named = http.headers.get(MCP_NAME_HEADER)
    if named is not None and decode_header_value(named) != task_id:
        raise MCPError(t.HEADER_MISMATCH, "mcp-name header does not match the request body's taskId")


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for input from the buyer: a form, and the call that is made when it is accepted.

    No other request of the same task has the same `key`.
    """

    key: str
    tool: str
    message: str
    given: Mapping[str, Json]
    properties: Mapping[str, Json]

    def request(self, wording: Wording) -> Json:
        schema = {"type": "object", "properties": dict(self.properties), "required": list(self.properties)}
        form = {"mode": "form", "message": wording.text(self.message), "requestedSchema": schema}
        return {"method": "elicitation/create", "params": form}

    def arguments(self, content: Mapping[str, Any] | None) -> dict[str, Json]:
        return {**self.given, **{name: (content or {}).get(name) for name in self.properties}}


class HireTasks:
    """The tasks of the market: the jobs the caller has ordered."""

    def __init__(self, tools: Tools) -> None:
        self.tools, self.market = tools, tools.market

    def install(self, server: Server[Any]) -> None:
        """Add the three methods of tasks, and declare the extension."""
        server.extensions[TASKS] = {}
        for name, params in (("tasks/get", TaskParams), ("tasks/update", UpdateParams), ("tasks/cancel", TaskParams)):
            server.add_request_handler(name, params, self._handle)

    async def _handle(self, request: Request, asked: Any) -> dict[str, Any]:
        if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            raise MCPError(t.METHOD_NOT_FOUND, "Method not found", data=request.method)
        if not declares(request):
            raise missing()
        _check_name(request, asked.task_id)
        asking = self._asking(request, asked)
        task = await self.read(asked.task_id, asking)
        if request.method == "tasks/update":
            await self.answer(asked.task_id, asked.input_responses, asking)
        elif request.method == "tasks/cancel" and task["status"] not in ENDED:
            await self.cancel(asked.task_id, asking)
        return {"resultType": "complete", **(task if request.method == "tasks/get" else {})}

    def _asking(self, request: Request, asked: TaskParams) -> Asking:
        asking = Asking(request, arrived_in(request).call_request)
        try:
            given = extract({API_KEY: asked.api_key, DETAIL: asked.detail})
        except MarketError as error:
            refusal = self.market.refuse_anonymous(error, asking.call_request)
            raise self._refused(asked.task_id, refusal, asking) from None
        return Asking(request, replace(asking.call_request, argument_key=given.api_key), given.detail)

    async def begin(self, called: Called, asking: Asking) -> t.CallToolResult | dict[str, Any] | None:
        """Hire as a task; return the plain result if no task was made, None for other calls."""
        at_once, call_request = _at_once(called), asking.call_request
        if at_once is None or call_request.is_anonymous:
            return None
        result = (await self.tools.call(at_once, call_request)).result()
        brand, meta = self.tools.telling.brand, result.meta or {}
        replayed, rehearsed = f"{brand}/replayed" in meta, f"{brand}/dry_run" in meta
        if result.is_error or rehearsed:
            return result
        job = result.structured_content["job"]
        beside = ({"warnings": job["warnings"]} if job["warnings"] else {}) | ({"replayed": True} if replayed else {})
        with suppress(MCPError):  # the job is ordered, even if it cannot be read again
            record = await self._record(job["id"], asking, asking.continued)
            named = {"_meta": self.tools.telling.named(**beside)} if beside else {}
            return {"resultType": "task", **self._frame(record, asking), **named}
        return result

    async def read(self, task_id: str, asking: Asking) -> dict[str, Json]:
        """Return a task with what its status adds: result, error or inputRequests.

        Raises MCPError for a refusal.
        """
        record = await self._record(task_id, asking, asking.call_request)
        return {**self._frame(record, asking), **self._inside(record, asking)}

    async def answer(self, task_id: str, responses: Mapping[str, Any], asking: Asking) -> None:
        """Make the call that belongs to an accepted form, and ignore other responses.

        A declined form changes nothing; tasks/cancel gives up the job.
        """
        ask = ask_of(await self._record(task_id, asking, asking.continued))
        if ask is None or ask.key not in responses:
            return
        response = t.ElicitResult.model_validate(responses[ask.key])
        if response.action == "accept":
            answer = await self._change(ask.tool, ask.arguments(response.content), asking)
            if answer.error is not None:  # then the request stays as it was
                raise self._refused(task_id, answer, asking)

    async def cancel(self, task_id: str, asking: Asking) -> None:
        """Cancel the job if its buyer may; otherwise it goes on, as the next poll shows."""
        answer = await self._change(CANCEL, {"job_id": task_id}, asking)
        if answer.error is not None and not isinstance(answer.refusal, InvalidTransition):
            raise self._refused(task_id, answer, asking)

    async def _change(self, tool: str, arguments: dict[str, Json], asking: Asking) -> Response:
        if asking.view.readonly:
            error = Forbidden(f"{tool} changes something, and this address is for reading", hint="Call it at /mcp.")
            return self.market.refuse_anonymous(error, asking.continued)
        return await self.market.call(CATALOGUE[tool], arguments, asking.continued)

    async def _record(self, task_id: str, asking: Asking, call_request: CallRequest) -> dict[str, Json]:
        answer = await self.market.call(read_hire, {"job_id": task_id}, call_request)
        if answer.refusal is not None:
            raise self._refused(task_id, answer, asking)
        record: dict[str, Json] = orjson.loads(answer.body)
        return record

    def _frame(self, record: dict[str, Json], asking: Asking) -> dict[str, Json]:
        """Return the task as in the answer that creates it. It is kept for good, so ttlMs is null."""
        job = record["hired"]["job"]
        return {
            "taskId": job["id"],
            "status": record["status"],
            "statusMessage": self.tools.wording(asking.view).text(_told(record)),
            "createdAt": job["created_at"],
            "lastUpdatedAt": job["updated_at"],
            "ttlMs": None,
            "pollIntervalMs": POLL_MS,
        }

    def _inside(self, record: dict[str, Json], asking: Asking) -> dict[str, Json]:
        if record["status"] == "completed":
            return {"result": self._result(record, asking)}
        if record["status"] == "input_required":
            ask = ask_of(record) if asking.elicits else None  # clients without forms see the tool's name in the message
            return {"inputRequests": {} if ask is None else {ask.key: ask.request(self.tools.wording(asking.view))}}
        return {}

    def _result(self, record: dict[str, Json], asking: Asking) -> Json:
        """Return the result that `hire` would give now.

        A job that ended without a result is an error of the tool, without structuredContent.
        """
        answer = Response(200, orjson.dumps(record["hired"]))
        hire, wording = self.tools.operations[HIRE], self.tools.wording(asking.view)
        result = self.tools.as_tool_result(hire, answer, asking.call_request, wording, asking.detail).result()
        if record["in_vain"]:
            result = result.model_copy(update={"is_error": True, "structured_content": None})
        frame = result.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"structured_content"})
        return frame | ({} if result.structured_content is None else {"structuredContent": result.structured_content})

    def _refused(self, task_id: str, answer: Response, asking: Asking) -> MCPError:
        """Return the refusal as a JSON-RPC error.

        A retryable one is an internal error and not the fault of the params, because the task still exists.
        """
        assert answer.error is not None
        error = self.tools.wording(asking.view).refusal({"error": answer.error})["error"]
        message = "Unknown task" if isinstance(answer.refusal, NotFound) else error["message"]
        code = t.INTERNAL_ERROR if error["retryable"] else t.INVALID_PARAMS
        return MCPError(code, message, data={"taskId": task_id, "error": error})


def ask_of(record: dict[str, Json]) -> Ask | None:
    """Return the input that a task needs, None if no form can give it.

    The amount is part of the key, because another amount is another request.
    """
    job, terms = record["hired"]["job"], record["hired"]["terms"]
    own = {"job_id": job["id"]}
    if record["your_turn"] == "accept_quote":
        price, shown = job["quoted_price"], job["quoted_price_display"]
        message = f"The seller asks {shown} ({price} minor units). Accepting the form agrees to it."
        return Ask(f"accept_quote-{price}", ACCEPT_QUOTE, message, own | {"price": price}, {})
    if record["your_turn"] == "pay" and terms is not None:
        due = f"{what_is_due(job['payment'], terms['amount'])} Once it is mined, give its hash here, or to {PAY}."
        return Ask(f"pay-{terms['amount']}", PAY, due, own, {"transaction": TRANSACTION})
    return None


def _told(record: dict[str, Json]) -> str:
    """Describe the state of the task in the market's own words."""
    job, asked = record["hired"]["job"], record["your_turn"]
    tool = next((op.name for op in CATALOGUE.values() if op.action == asked), None) if asked else None
    return where_it_stands(job) + (f" It is your turn: {tool}." if tool else "")


def _at_once(called: Called) -> Called | None:
    """Return a call of `hire` without its wait, because the task is polled; None for others.

    The call may be made through call_tool.
    """
    if called.name == HIRE:
        return replace(called, arguments={**called.arguments, "wait_seconds": 0})
    inner = called.arguments.get("arguments")
    if called.name == CALL and called.arguments.get("name") == HIRE and isinstance(inner, dict):
        return replace(called, arguments={**called.arguments, "arguments": {**inner, "wait_seconds": 0}})
    return None
