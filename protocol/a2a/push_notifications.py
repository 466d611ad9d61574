"""A2A push notifications: the configs of a task, each request about which calls one operation, and the bodies sent."""

from collections.abc import Iterable
from typing import Any

import orjson
from a2a.compat.v0_3.conversions import to_compat_task
from a2a.types import a2a_pb2 as pb
from a2a.utils.constants import PROTOCOL_VERSION_0_3, PROTOCOL_VERSION_1_0
from a2a.utils.errors import A2AError, TaskNotFoundError
from a2a.utils.proto_utils import parse_lenient, validate_proto_required_fields
from google.protobuf.json_format import MessageToDict

from protocol.a2a.errors import invalid, market_error
from protocol.a2a.sdk_bodies import CallState, Placeholders
from protocol.a2a.task_view import View, forms_of
from protocol.a2a.tasks import Tasks
from tools.engine.arguments import read_arguments
from tools.engine.errors import InvalidRequest, NotFound
from tools.engine.outgoing_urls import callable_url
from tools.engine.registry import Operation
from tools.jobs.task_operations import end_push, read_push, read_pushes, set_push
from tools.kernel.errors import Json, MarketError


class Pushes:
    """The configs of tasks. A config without an id gets the task's id, as in the SDK."""

    def __init__(self, tasks: Tasks) -> None:
        self.tasks, self.market = tasks, tasks.market

    def check(self, config: pb.TaskPushNotificationConfig, call: CallState) -> None:
        """Raise A2AError for an invalid config, before the message it came with takes effect."""
        try:
            read_arguments(set_push.input, _given(config, "job_", call))
            callable_url(self.market.config, config.url, "url")
        except InvalidRequest as error:
            raise _refused(error) from None

    async def set(self, config: pb.TaskPushNotificationConfig, call: CallState) -> pb.TaskPushNotificationConfig:
        """Set a config of a visible task; it replaces one with the same id."""
        return _shown(await self._ask(set_push, _given(config, config.task_id, call), call))

    async def begin(self, task_id: str, asked: pb.SendMessageRequest, call: CallState) -> None:
        """Set the config that a message contains, if any."""
        if asked.configuration.HasField("task_push_notification_config"):
            await self._call(set_push, _given(asked.configuration.task_push_notification_config, task_id, call), call)

    async def get(
        self, params: pb.GetTaskPushNotificationConfigRequest, call: CallState
    ) -> pb.TaskPushNotificationConfig:
        """Return a config. Raises TaskNotFoundError if it does not exist.

        A request of 0.3 need not name it.
        """
        if not call.old:
            validate_proto_required_fields(params)
        return _shown(await self._ask(read_push, _named(params.task_id, params.id), call))

    async def page(
        self, params: pb.ListTaskPushNotificationConfigsRequest, call: CallState
    ) -> pb.ListTaskPushNotificationConfigsResponse:
        """Return all configs of a task on one page, because they are few."""
        if params.page_token:
            raise invalid("there is no such page", "pageToken")
        found = await self._ask(read_pushes, {"job_id": params.task_id}, call)
        return pb.ListTaskPushNotificationConfigsResponse(configs=[_shown(one) for one in found["data"]])

    async def end(self, params: pb.DeleteTaskPushNotificationConfigRequest, call: CallState) -> None:
        """Delete a config; a missing one is no error."""
        await self._ask(end_push, _named(params.task_id, params.id), call)
        call.resultless = True

    async def _ask(self, op: Operation, arguments: dict[str, Any], call: CallState) -> dict[str, Json]:
        await self.tasks.read(arguments["job_id"], call, 0)
        return await self._call(op, arguments, call)

    async def _call(self, op: Operation, arguments: dict[str, Any], call: CallState) -> dict[str, Json]:
        answer = await call.ask(self.market, op, arguments)
        if answer.refusal is not None:
            raise _refused(answer.refusal)
        record: dict[str, Json] = orjson.loads(answer.body)
        return record


class PushBodies:
    """The renderer of push notification bodies from task records.

    One key of the market signs all of them, so each names the agent that it is for.
    """

    def __init__(self, brand: str, operations: Iterable[Operation]) -> None:
        self.view = View(brand, forms_of(operations))

    def __call__(
        self, record: bytes, agent_id: str, form: str, *, with_order: bool = True, with_output: bool = True
    ) -> bytes:
        """Render the task: in 1.0 inside a StreamResponse, in 0.3 by itself.

        The order's message and the artifacts are left out once the receiver has them; GetTask shows them again.
        """
        task = self.view.task(orjson.loads(record))
        if not with_order:
            task["history"] = task["history"][1:]
        if not with_output:
            task.pop("artifacts", None)
        task["metadata"][self.view.brand]["agentId"] = agent_id
        old, documents = form == PROTOCOL_VERSION_0_3, Placeholders()
        made = parse_lenient(documents.stash(task, old), pb.Task())
        if old:
            body = to_compat_task(made).model_dump(mode="json", by_alias=True, exclude_none=True)
        else:
            body = MessageToDict(pb.StreamResponse(task=made))
        return documents.restore(orjson.dumps(body))


def _given(config: pb.TaskPushNotificationConfig, task_id: str, call: CallState) -> dict[str, Any]:
    entry = config.authentication
    beside = {"token": config.token, "scheme": entry.scheme, "credentials": entry.credentials}
    said_too = {name: value for name, value in beside.items() if value}
    return {
        **_named(task_id, config.id),
        "url": config.url,
        "form": PROTOCOL_VERSION_0_3 if call.old else PROTOCOL_VERSION_1_0,
        **said_too,
    }


def _named(task_id: str, config_id: str) -> dict[str, Any]:
    return {"job_id": task_id, "id": config_id or task_id}


def _shown(record: dict[str, Json]) -> pb.TaskPushNotificationConfig:
    """Return the config as it is shown, without its token and credentials."""
    entry = None if record["scheme"] is None else pb.AuthenticationInfo(scheme=record["scheme"])
    return pb.TaskPushNotificationConfig(
        task_id=record["job_id"], id=record["id"], url=record["url"], authentication=entry
    )


def _refused(error: MarketError) -> A2AError:
    if isinstance(error, NotFound):
        return TaskNotFoundError()
    if isinstance(error, InvalidRequest):
        return invalid(error.message, error.param or "", error.hint)
    return market_error(error)
