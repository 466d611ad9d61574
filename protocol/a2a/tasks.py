"""Jobs as A2A tasks: read them with the operations of tasks and render them with the view."""

from collections.abc import Iterable
from typing import Any

import orjson
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import TaskNotFoundError
from a2a.utils.proto_utils import parse_lenient

from protocol.a2a.errors import NEEDS_KEY, invalid, market_error, not_shown
from protocol.a2a.pending_orders import PREFIX
from protocol.a2a.sdk_bodies import CallState
from protocol.a2a.task_view import STATES, Record, View, forms_of
from tools.engine.dispatch import Market
from tools.engine.errors import RateLimited
from tools.engine.registry import Operation
from tools.jobs.task_operations import MAX_MESSAGES, read_task, read_tasks
from tools.kernel.errors import Json

DEFAULT_PAGE_SIZE = 50
FORGOTTEN = (
    "A task that asks for one x402 payment is known to GetTask, to CancelTask and to messages that activate the extension, "
    "for a while and in one process. If GetTask does not find it, send the order again without a taskId; if you have signed a "
    "payment for it, with that payment, never with a new one."
)
Told = tuple[Record | None, list[Json]]  # the metadata of a refused payment or None, and the parts said first
NUMBERS = dict(pb.TaskState.items())


class Tasks:
    """The caller's jobs as tasks; a list shows only the order of each history."""

    def __init__(self, market: Market, operations: Iterable[Operation]) -> None:
        self.market, self.view = market, View(market.config.brand, forms_of(operations))

    async def get(self, params: pb.GetTaskRequest, call: CallState) -> pb.Task:
        """Return a task. Raises TaskNotFoundError for missing and for foreign jobs."""
        most = history_limit(params)
        return self.shown(await self.read(params.id, call, most), call, most)

    async def page(self, params: pb.ListTasksRequest, call: CallState) -> pb.ListTasksResponse:
        """Return the caller's orders, most recently changed first; none for anonymous callers."""
        size = params.page_size or DEFAULT_PAGE_SIZE
        if call.is_nobody:
            if params.page_token:
                raise invalid("there is no such page", "pageToken")
            return pb.ListTasksResponse(page_size=size)
        answer = await call.ask(self.market, read_tasks, _listed(params, size, call))
        if answer.refusal is not None:
            raise market_error(answer.refusal)
        page = orjson.loads(answer.body)
        most = history_limit(params)
        return pb.ListTasksResponse(
            tasks=[self.shown(task, call, most, params.include_artifacts) for task in page["data"]],
            next_page_token=page["next_cursor"] or "",
            page_size=size,
            total_size=page["total"],
        )

    async def read(self, task_id: str, call: CallState, most: int | None = None, wait_seconds: int = 0) -> Record:
        """Return the record of a job's task with at most `most` messages, the newest.

        Raises RateLimited if too many calls wait already.
        """
        if task_id.startswith(PREFIX):
            raise TaskNotFoundError(data={"hint": FORGOTTEN})
        if call.is_nobody:
            raise TaskNotFoundError(data={"hint": NEEDS_KEY})
        messages = MAX_MESSAGES if most is None else min(most, MAX_MESSAGES)
        asked = {"job_id": task_id, "messages": messages, "wait_seconds": wait_seconds}
        answer = await call.ask(self.market, read_task, asked)
        if wait_seconds and isinstance(answer.refusal, RateLimited):
            raise answer.refusal
        if answer.refusal is not None:
            raise not_shown(answer.refusal)
        record: Record = orjson.loads(answer.body)
        if call.seller not in (None, record["job"]["seller"]["id"]):
            raise TaskNotFoundError
        return record

    def shown(
        self, record: Record, call: CallState, most: int | None, whole: bool = True, told: Told | None = None
    ) -> pb.Task:
        """Render a record as a task, with at most `most` messages; its status begins with `told`."""
        task = self.view.task(record)
        if told is not None:
            task["status"] = self.view.status(record, *told)
        if most is not None:
            task["history"] = task["history"][-most:] if most else []
        if not whole:
            task["artifacts"] = []
        call.shown = record
        return parse_lenient(call.stash(task), pb.Task())


def history_limit(params: pb.GetTaskRequest | pb.ListTasksRequest | pb.SendMessageConfiguration) -> int | None:
    """Return how many messages of a task the caller asks for; None for all."""
    return params.history_length if params.HasField("history_length") else None


def _listed(params: pb.ListTasksRequest, size: int, call: CallState) -> dict[str, Any]:
    asked: dict[str, Any] = {"limit": size} | ({} if call.seller is None else {"seller_id": call.seller})
    if params.page_token:
        asked["cursor"] = params.page_token
    if params.context_id:
        asked["context_id"] = params.context_id
    if params.status:
        asked["statuses"] = [status for status, state in STATES.items() if NUMBERS[state] == params.status]
    if params.HasField("status_timestamp_after"):
        asked["since"] = max(0, params.status_timestamp_after.ToMilliseconds())
    return asked
