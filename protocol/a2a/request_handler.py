"""The SDK's RequestHandler on the market's operations, without AgentExecutor, TaskStore or queue."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from functools import cached_property
from typing import Any

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types import a2a_pb2 as pb
from a2a.utils.constants import PROTOCOL_VERSION_0_3
from a2a.utils.errors import ExtendedAgentCardNotConfiguredError
from a2a.utils.input_mode_validator import validate_input_modes
from a2a.utils.proto_utils import parse_lenient, validate_proto_required_fields
from a2a.utils.task import validate_history_length, validate_page_size
from google.protobuf.message import Message

from protocol.a2a.agent_card import extended_card, public_card
from protocol.a2a.errors import guarded, reached
from protocol.a2a.message_replies import MessageReplies
from protocol.a2a.push_notifications import Pushes
from protocol.a2a.sdk_bodies import CallState
from protocol.a2a.send_message import MessageSender
from protocol.a2a.streams import Streams
from protocol.a2a.tasks import Tasks
from tools.agents.agent_cards import signed
from tools.engine.authentication import NO_KEY
from tools.engine.dispatch import Market
from tools.engine.errors import Unauthenticated
from tools.engine.protocol_requests import identify_viewer
from tools.engine.registry import Operation
from tools.kernel.errors import MarketError

Work = Callable[[Any, CallState], Awaitable[Any]]
REQUIRED: Callable[[Message], None] = validate_proto_required_fields


async def answered(work: Work, params: Message, context: ServerCallContext, *checks: Callable[[Any], None]) -> Any:
    """Check the parameters of a request that the SDK could read, then do the work."""
    call = reached(context)
    for check in checks:
        check(params)
    return await guarded(call, work(params, call))


def answering(work: Callable[["MarketRequestHandler"], Work], *checks: Callable[[Any], None]) -> Any:
    """Return a method of the handler that checks the parameters, then does the work."""

    async def answer(handler: "MarketRequestHandler", params: Any, context: ServerCallContext) -> Any:
        return await answered(work(handler), params, context, *checks)

    return answer


def _check_page_size(params: pb.ListTasksRequest) -> None:
    if params.HasField("page_size"):
        validate_page_size(params.page_size)


class MarketRequestHandler(RequestHandler):
    """The market as the SDK's request handler. A job is a task; nothing else is stored for it."""

    def __init__(self, market: Market, operations: Collection[Operation]) -> None:
        self.market = market
        self.tasks = Tasks(market, operations)
        self.streams = Streams(self.tasks)
        self.pushes = Pushes(self.tasks)
        self.sending = MessageSender(self.tasks, MessageReplies(market, operations), self.pushes)
        self.card = _proto(public_card(market.config, operations))
        self.extended_card = extended_card(market.config, operations)

    @cached_property
    def extended(self) -> pb.AgentCard:
        return _proto(signed(self.extended_card, self.market.config.base_url, self.market.world.signer))

    @cached_property
    def extended_old(self) -> pb.AgentCard:
        return _proto(_as_old(self.extended_card))

    async def on_message_send(self, params: pb.SendMessageRequest, context: ServerCallContext) -> pb.Task | pb.Message:
        return await self._reply(params, context)

    async def on_message_send_stream(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        call, first = reached(context), await self._reply(params, context, wait=False)
        yield first
        if call.shown is not None:
            async for event in self.streams.after(call, on=False):
                yield event

    on_get_task = answering(lambda desk: desk.sending.purchases.get, REQUIRED, validate_history_length)
    on_list_tasks = answering(lambda desk: desk.tasks.page, validate_history_length, _check_page_size)
    on_cancel_task = answering(lambda desk: desk.sending.cancel, REQUIRED)
    on_create_task_push_notification_config = answering(lambda desk: desk.pushes.set, REQUIRED)
    on_get_task_push_notification_config = answering(lambda desk: desk.pushes.get)
    on_delete_task_push_notification_config = answering(lambda desk: desk.pushes.end, REQUIRED)
    on_list_task_push_notification_configs = answering(lambda desk: desk.pushes.page, REQUIRED)

    async def on_subscribe_to_task(
        self, params: pb.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        yield await answered(self.streams.snapshot, params, context, REQUIRED)
        async for event in self.streams.after(reached(context), on=True):
            yield event

    async def on_get_extended_agent_card(
        self, params: pb.GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> pb.AgentCard:
        """Return a card with every operation as a skill, for callers with a valid key.

        The SDK itself would show it to anyone.
        """
        call = reached(context)
        if call.seller is not None:
            raise ExtendedAgentCardNotConfiguredError(
                "an agent's own card is whole; the market's at /a2a has an extended one"
            )
        try:
            caller = await guarded(call, identify_viewer(self.market, call.request))
            if caller.agent_id is None:
                raise Unauthenticated(NO_KEY)
        except MarketError as error:
            told = {"code": error.code, "hint": error.hint}
            message = f"the extended card is for callers with a key: {error.message}"
            raise ExtendedAgentCardNotConfiguredError(message, told) from None
        return self.extended_old if call.old else self.extended

    async def _reply(
        self, asked: pb.SendMessageRequest, context: ServerCallContext, wait: bool = True
    ) -> pb.Task | pb.Message:
        call = reached(context)
        validate_proto_required_fields(asked)
        validate_history_length(asked.configuration)
        validate_input_modes(asked.message, self.card)
        if asked.configuration.HasField("task_push_notification_config"):
            self.pushes.check(asked.configuration.task_push_notification_config, call)
        return await guarded(call, self.sending.send(asked, call, wait))


def _proto(card: dict[str, Any]) -> pb.AgentCard:
    return parse_lenient(card, pb.AgentCard())


def _as_old(card: dict[str, Any]) -> dict[str, Any]:
    """Return the card for 0.3 clients; the SDK converts only interfaces of that version.

    It is unsigned, because the conversion changes it.
    """
    old = [{**found, "protocolVersion": PROTOCOL_VERSION_0_3} for found in card["supportedInterfaces"]]
    return {**card, "supportedInterfaces": old}
