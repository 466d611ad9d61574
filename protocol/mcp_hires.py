"""Hiring as a task over MCP: the job is the task, under its own id, and all of it is read from the job.

A handle is given only where the connection itself shows who calls: a host polls on its own, and knows no key that a model
passed as an argument. Who does that is answered as ever, after the bounded wait.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import mcp_types as t
import orjson
from mcp.shared.exceptions import MCPError

from protocol.job_texts import what_is_due, where_it_stands
from protocol.mcp_tasks import Asking, Task, created, unknown
from protocol.mcp_tools import Called, Tools
from protocol.mcp_wire import HIRE
from protocol.reserved import API_KEY, Reserved, take
from protocol.toolsets import CALL
from tools.answers import Answer
from tools.context import Approach
from tools.errors import Forbidden, InvalidTransition, MarketError, NotFound
from tools.errors.base import Json
from tools.operations.hiring import read_hire
from tools.records.brief import DETAIL
from tools.registry import CATALOGUE

PAY, ACCEPT_QUOTE, CANCEL = "pay_job", "accept_quote", "cancel_job"
TRANSACTION = {"type": "string", "description": "hash of the mined transfer, 0x and 64 hex"}


@dataclass(frozen=True, slots=True)
class Ask:
    """What the task asks of its buyer: a form under a key that no other request of the task has, and the call it is answered by."""

    key: str
    tool: str
    message: str
    given: Mapping[str, Json]
    properties: Mapping[str, Json]

    def request(self) -> Json:
        schema = {"type": "object", "properties": dict(self.properties), "required": list(self.properties)}
        form = {"mode": "form", "message": self.message, "requestedSchema": schema}
        return {"method": "elicitation/create", "params": form}

    def arguments(self, content: Mapping[str, Any] | None) -> dict[str, Json]:
        return {**self.given, **{name: (content or {}).get(name) for name in self.properties}}


class Hires:
    """The tasks of the market: the jobs the caller has ordered."""

    def __init__(self, tools: Tools) -> None:
        self.tools, self.market = tools, tools.market

    async def begin(self, called: Called, asking: Asking) -> t.CallToolResult | dict[str, Any] | None:
        """Hire, as a task; the result of the call where it made none, and None for a call of anything else."""
        at_once, approach = _at_once(called), asking.approach
        if at_once is None or approach.keyless:
            return None
        result = (await self.tools.call(at_once, approach)).result()
        replayed, rehearsed = (
            f"{self.tools.telling.brand}/{word}" in (result.meta or {}) for word in ("replayed", "dry_run")
        )
        if result.is_error or rehearsed:
            return result
        job = result.structured_content["job"]
        beside = ({"warnings": job["warnings"]} if job["warnings"] else {}) | ({"replayed": True} if replayed else {})
        with suppress(MCPError):  # it is ordered, whatever the second look meets
            record = await self._record(job["id"], replace(approach, follows=True))
            return created(self._task(record, asking, approach), self.tools.telling.named(**beside))
        return result

    async def read(self, task_id: str, asking: Asking) -> Task | None:
        approach = self._approach(asking, task_id)
        return self._task(await self._record(task_id, approach), asking, approach)

    async def answer(self, task: Task, responses: Mapping[str, Any], asking: Asking) -> None:
        """An accepted form is the call it stands for. Whoever declines is not taken to give up: that is tasks/cancel."""
        approach = self._further(asking, task)
        ask = ask_of(await self._record(task.task_id, approach))
        if ask is None or ask.key not in responses:
            return
        response = t.ElicitResult.model_validate(responses[ask.key])
        if response.action == "accept":
            answer = await self._change(ask.tool, ask.arguments(response.content), asking, approach)
            if answer.error is not None:  # then the request stands as it was
                raise self._refused(task.task_id, answer)

    async def cancel(self, task: Task, asking: Asking) -> None:
        """Withdraw from the job where its buyer may; where not, it goes on, which the next look tells."""
        answer = await self._change(CANCEL, {"job_id": task.task_id}, asking, self._further(asking, task))
        if answer.error is not None and not isinstance(answer.refusal, InvalidTransition):
            raise self._refused(task.task_id, answer)

    async def _change(self, tool: str, given: dict[str, Json], asking: Asking, approach: Approach) -> Answer:
        if asking.readonly:
            error = Forbidden(f"{tool} changes something, and this address is for reading", hint="Call it at /mcp.")
            return self.market.refuse_stranger(error, approach)
        return await self.market.call(CATALOGUE[tool], given, approach)

    async def _record(self, task_id: str, approach: Approach) -> dict[str, Json]:
        answer = await self.market.call(read_hire, {"job_id": task_id}, approach)
        if answer.refusal is not None:
            raise self._refused(task_id, answer)
        record: dict[str, Json] = orjson.loads(answer.body)
        return record

    def _task(self, record: dict[str, Json], asking: Asking, approach: Approach) -> Task:
        job = record["hired"]["job"]
        return Task(
            task_id=job["id"],
            status=record["status"],
            created_at=job["created_at"],
            last_updated_at=job["updated_at"],
            message=_told(record),
            inside=self._inside(record, asking, approach),
        )

    def _inside(self, record: dict[str, Json], asking: Asking, approach: Approach) -> dict[str, Json]:
        if record["status"] == "completed":
            return {
                "result": self._result(record, approach, self._reserved(asking, record["hired"]["job"]["id"]).detail)
            }
        if record["status"] == "input_required":
            ask = ask_of(record) if asking.elicits else None  # who can fill in no form is told what to call
            return {"inputRequests": {} if ask is None else {ask.key: ask.request()}}
        return {}

    def _result(self, record: dict[str, Json], approach: Approach, detail: str | None) -> Json:
        """What hire would answer now. A job that came to nothing is an error of the tool, and has no structuredContent."""
        answer = Answer(200, orjson.dumps(record["hired"]))
        result = self.tools.said(self.tools.operations[HIRE], answer, approach, detail).result()
        if record["in_vain"]:
            result = result.model_copy(update={"is_error": True, "structured_content": None})
        frame = result.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"structured_content"})
        return frame | ({} if result.structured_content is None else {"structuredContent": result.structured_content})

    def _approach(self, asking: Asking, task_id: str) -> Approach:
        """The caller's, with the key that came as the reserved member `api_key`."""
        return replace(asking.approach, argument_key=self._reserved(asking, task_id).api_key)

    def _reserved(self, asking: Asking, task_id: str) -> Reserved:
        """What came beside the task's id as it would among the arguments of a tool call."""
        try:
            return take({API_KEY: asking.api_key, DETAIL: asking.detail})
        except MarketError as error:
            raise self._refused(task_id, self.market.refuse_stranger(error, asking.approach)) from None

    def _further(self, asking: Asking, task: Task) -> Approach:
        """For the calls after the first look, which has used up what the request is signed with."""
        return replace(self._approach(asking, task.task_id), follows=True)

    def _refused(self, task_id: str, answer: Answer) -> MCPError:
        """The refusal as JSON-RPC knows it. What may be sent again is no fault of the parameters: the task is still there."""
        assert answer.error is not None
        if isinstance(answer.refusal, NotFound):
            return unknown(task_id, answer.error)
        code = t.INTERNAL_ERROR if answer.error["retryable"] else t.INVALID_PARAMS
        return MCPError(code, answer.error["message"], data={"taskId": task_id, "error": answer.error})


def ask_of(record: dict[str, Json]) -> Ask | None:
    """What a task asks for; None where it asks nothing that a form can answer. An amount is part of the key: another is another request."""
    job, terms = record["hired"]["job"], record["hired"]["terms"]
    own = {"job_id": job["id"]}
    if record["your_turn"] == "accept_quote":
        price = job["quoted_price"]
        message = (
            f"The seller asks {job['quoted_price_display']} ({price} minor units). Accepting the form agrees to it."
        )
        return Ask(f"accept_quote-{price}", ACCEPT_QUOTE, message, own | {"price": price}, {})
    if record["your_turn"] == "pay" and terms is not None:
        due = f"{what_is_due(job['payment'], terms['amount'])} Once it is mined, give its hash here, or to {PAY}."
        return Ask(f"pay-{terms['amount']}", PAY, due, own, {"transaction": TRANSACTION})
    return None


def _told(record: dict[str, Json]) -> str:
    """How the task stands, in words of ours."""
    job, asked = record["hired"]["job"], record["your_turn"]
    tool = next((op.name for op in CATALOGUE.values() if op.action == asked), None) if asked else None
    return where_it_stands(job) + (f" It is your turn: {tool}." if tool else "")


def _at_once(called: Called) -> Called | None:
    """The call of hire, also through call_tool, without its wait: the task is waited for instead. None for any other."""
    if called.name == HIRE:
        return replace(called, arguments={**called.arguments, "wait_seconds": 0})
    inner = called.arguments.get("arguments")
    if called.name == CALL and called.arguments.get("name") == HIRE and isinstance(inner, dict):
        return replace(called, arguments={**called.arguments, "arguments": {**inner, "wait_seconds": 0}})
    return None
