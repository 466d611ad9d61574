"""The bodies of A2A push notifications: the task, in the protocol version that its config was set in."""

from collections.abc import Iterable

import orjson
from a2a.compat.v0_3.conversions import to_compat_task
from a2a.types import a2a_pb2 as pb
from a2a.utils.constants import PROTOCOL_VERSION_0_3
from a2a.utils.proto_utils import parse_lenient
from google.protobuf.json_format import MessageToDict

from protocol.a2a.sdk_bodies import CallState, restore, stash
from protocol.a2a.task_view import View, forms_of
from tools.engine.caller import CallRequest, Surface
from tools.engine.registry import Operation

NO_APPROACH = CallRequest(Surface.A2A, "sender", "req_sender")


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
        call = CallState(NO_APPROACH, old=form == PROTOCOL_VERSION_0_3)
        made = parse_lenient(stash(task, call), pb.Task())
        if call.old:
            body = to_compat_task(made).model_dump(mode="json", by_alias=True, exclude_none=True)
        else:
            body = MessageToDict(pb.StreamResponse(task=made))
        return restore(orjson.dumps(body), call)
