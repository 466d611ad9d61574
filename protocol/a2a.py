"""A2A at /a2a: our own RequestHandler under the a2a-sdk's dispatchers. Protocols 1.0 and 0.3, JSON-RPC and HTTP+JSON.

A data part {tool, arguments} is one call through the door, answered with one Message. Nothing is stored.
"""

import difflib
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from typing import Any, TypeVar

import orjson
import structlog

os.environ["OTEL_INSTRUMENTATION_A2A_SDK_ENABLED"] = "false"  # read at import: its spans cost a third of a call

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.jsonrpc_models import JSONParseError as RpcParseError
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes import DefaultServerCallContextBuilder, create_jsonrpc_routes, create_rest_routes
from a2a.types import a2a_pb2 as pb
from a2a.utils.constants import PROTOCOL_VERSION_0_3, VERSION_HEADER
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    ExtendedAgentCardNotConfiguredError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    PushNotificationNotSupportedError,
    TaskNotFoundError,
)
from a2a.utils.input_mode_validator import validate_input_modes
from a2a.utils.proto_utils import parse_lenient, validate_proto_required_fields
from a2a.utils.task import validate_history_length, validate_page_size
from starlette.requests import Request
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from protocol import a2a_wire as wire
from protocol.a2a_wire import Call, Reply
from protocol.card import example_of, extended_card, public_card, signed
from protocol.http import challenged, read_body, replayed, send_json, send_refusal
from tools.answers import Answer
from tools.context import Approach, Surface
from tools.dispatch import Market
from tools.errors import MarketError, MethodNotAllowed, RouteNotFound, Unauthenticated
from tools.errors.base import Json
from tools.identity import NO_KEY
from tools.registry import CATALOGUE, Operation
from tools.rules.jsontext import BadJson, MalformedJson
from tools.tokens import is_token

log = structlog.get_logger("emporion.a2a")
logging.getLogger("a2a").setLevel(logging.CRITICAL)  # the SDK logs what callers send, unbounded; faults are logged here
T = TypeVar("T")
PREFIX = "/a2a"
ENDPOINTS = (PREFIX, f"{PREFIX}/")  # JSON-RPC; some clients add the slash
OLD_HTTP = f"{PREFIX}/v1/"
DEFAULT_PAGE_SIZE = 50
KEY_ADVICE = (
    "To use an API key for good, send it as the X-API-Key header of every request. Until then pass it as api_key in the "
    "message's metadata, and only there: a test key or a key of few scopes belongs there."
)
CANNOT_BE_READ = "the request cannot be read"
UNREADABLE = orjson.dumps(build_rest_error_payload(InvalidParamsError(message=CANNOT_BE_READ)))


class A2aSurface:
    """The ASGI application for every path under /a2a. Behind the edge, which bounds bodies and gives requests their ids.

    `approach_of` reads who calls from a request.
    """

    def __init__(self, market: Market, approach_of: Callable[[Scope, Surface], Approach]) -> None:
        self.market, self.approach_of = market, approach_of
        desk, reads = Desk(market, CATALOGUE.values()), ContextBuilder()
        rpc = [
            route for path in ENDPOINTS for route in create_jsonrpc_routes(desk, path, reads, enable_v0_3_compat=True)
        ]
        http = create_rest_routes(desk, reads, enable_v0_3_compat=True, path_prefix=PREFIX)
        self.routes = [*rpc, *(route for route in http if isinstance(route, Route))]  # no Mount: it takes any path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        sent = scope["headers"]
        call = Call(self.approach_of(scope, Surface.A2A), wire.header(scope, b"idempotency-key"))
        call.over_rpc, call.old = path in ENDPOINTS, path.startswith(OLD_HTTP)
        try:
            route, scope = self._routed(wire.for_sdk(scope, call))
        except MarketError as error:
            await send_refusal(send, self.market.refuse(error, call.approach))
            return
        raw = await read_body(receive)
        if raw is None:
            return
        call.approach = call.approach.with_body(raw)
        if is_token(call.approach.credential) and (closed := await self.market.gate(call.approach)):
            await send_refusal(send, closed, *challenged(closed, self.market.house, sent, PREFIX, tried=True))
            return
        if refused := await self.market.unread(call.approach, len(raw)):
            await send_refusal(send, refused)
            return
        reply = Reply(send, call, UNREADABLE)
        try:
            body = _judged(scope, raw, call)
            if not call.wanted and (refused := await self.market.knock(call.approach)):
                await send_refusal(send, refused)
                return
            await self._handled(route, scope, replayed(body, receive), reply)
        except A2AError as error:
            if reply.started:
                raise
            if not call.reached and call.wanted == [] and (refused := await self.market.knock(call.approach)):
                await send_refusal(send, refused)
                return
            await _refuse(send, call, raw, error)

    async def _handled(self, route: Route, scope: Scope, receive: Receive, reply: Reply) -> None:
        """Let the SDK answer. What it raises instead before our handler was asked is the request's fault; raises A2AError."""
        try:
            await route.handle(scope, receive, reply)
        except A2AError:  # its streams of 0.3 over HTTP
            raise
        except Exception as fault:
            if reply.call.reached or reply.started:
                raise
            log.info("unreadable", error=type(fault).__name__, request_id=reply.call.approach.request_id)
            raise InvalidParamsError(message=CANNOT_BE_READ) from None

    def _routed(self, scope: Scope) -> tuple[Route, Scope]:
        allowed = set[str]()
        for route in self.routes:
            match, found = route.matches(scope)
            if match is Match.FULL:
                return route, {**scope, **found}
            if match is Match.PARTIAL:
                allowed |= route.methods or set()
        if allowed:
            raise MethodNotAllowed(f"{scope['method'][:20]} is not served here", allowed=sorted(allowed))
        raise RouteNotFound(f"there is no path {scope['path'][:200]}")


class ContextBuilder(DefaultServerCallContextBuilder):
    """What the handler is told of a request: our Call, and of the headers only the protocol version."""

    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        version = request.headers.get(VERSION_HEADER, "")
        context.state = {"headers": {VERSION_HEADER: version}, "call": request.scope["a2a.call"]}
        return context


class Desk(RequestHandler):
    """The market behind the SDK's dispatchers. It keeps no task, so every question about one is about none."""

    def __init__(self, market: Market, operations: Collection[Operation]) -> None:
        self.market = market
        self.operations = {op.name: op for op in operations if Surface.A2A in op.surfaces}
        self.rest_only = {op.name: op.only_because for op in operations if Surface.A2A not in op.surfaces}
        self.card = _proto(public_card(market.house, operations))
        self.help, self.tools = _help(self.operations), _tools(self.operations)
        extended = extended_card(market.house, operations)
        self.extended = _proto(signed(extended, market.house.base_url, market.world.signer))
        self.extended_old = _proto(_as_old(extended))

    async def on_message_send(self, params: pb.SendMessageRequest, context: ServerCallContext) -> pb.Task | pb.Message:
        return await self._reply(params, context)

    async def on_message_send_stream(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        yield await self._reply(params, context)

    async def on_get_task(self, params: pb.GetTaskRequest, context: ServerCallContext) -> pb.Task | None:
        _reached(context)
        validate_proto_required_fields(params)
        validate_history_length(params)
        raise TaskNotFoundError

    async def on_list_tasks(self, params: pb.ListTasksRequest, context: ServerCallContext) -> pb.ListTasksResponse:
        _reached(context)
        validate_history_length(params)
        if params.HasField("page_size"):
            validate_page_size(params.page_size)
        if params.page_token:
            raise InvalidParamsError(message="there is no such page", data={"param": "pageToken"})
        return pb.ListTasksResponse(page_size=params.page_size or DEFAULT_PAGE_SIZE)

    async def on_cancel_task(self, params: pb.CancelTaskRequest, context: ServerCallContext) -> pb.Task | None:
        _reached(context)
        validate_proto_required_fields(params)
        raise TaskNotFoundError

    async def on_subscribe_to_task(
        self, params: pb.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        _reached(context)
        validate_proto_required_fields(params)
        raise TaskNotFoundError
        yield  # type: ignore[unreachable]  # without it this is no generator

    async def on_create_task_push_notification_config(
        self, params: pb.TaskPushNotificationConfig, context: ServerCallContext
    ) -> pb.TaskPushNotificationConfig:
        raise _no_push(context)

    async def on_get_task_push_notification_config(
        self, params: pb.GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> pb.TaskPushNotificationConfig:
        raise _no_push(context)

    async def on_list_task_push_notification_configs(
        self, params: pb.ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> pb.ListTaskPushNotificationConfigsResponse:
        raise _no_push(context)

    async def on_delete_task_push_notification_config(
        self, params: pb.DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        raise _no_push(context)

    async def on_get_extended_agent_card(
        self, params: pb.GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> pb.AgentCard:
        """Every operation as a skill, for callers with a valid key: the SDK itself would show it to anyone."""
        call = _reached(context)
        try:
            await _guarded(call, self._identified(call.approach))
        except MarketError as error:
            raise _card_refused(error) from None
        return self.extended_old if call.old else self.extended

    async def _identified(self, approach: Approach) -> None:
        caller = await self.market.visitor(approach)
        if caller.agent_id is None:
            raise Unauthenticated(NO_KEY)

    async def _reply(self, asked: pb.SendMessageRequest, context: ServerCallContext) -> pb.Message:
        call = _reached(context)
        self._check(asked)
        return await _guarded(call, self._answered(asked.message, call))

    def _check(self, asked: pb.SendMessageRequest) -> None:
        validate_proto_required_fields(asked)
        validate_history_length(asked.configuration)
        validate_input_modes(asked.message, self.card)
        if asked.configuration.HasField("task_push_notification_config"):
            raise PushNotificationNotSupportedError
        if asked.message.task_id:
            raise TaskNotFoundError

    async def _answered(self, message: pb.Message, call: Call) -> pb.Message:
        wanted = call.wanted
        if not wanted and call.refusal is None:
            return self._message(message, call, self.tools, self.help)
        if len(wanted) > 1:
            raise _invalid("one message makes one call: send one data part {tool, arguments}", "parts")
        if call.refusal is not None:
            return self._message(message, call, self.market.refuse_stranger(call.refusal, call.approach).body)
        op, arguments = self._call_of(wanted[0])
        answer = await self.market.call(op, arguments, call.approach, call.idempotency_key)
        made = self._message(message, call, answer.body)
        made.metadata.update(self._told(op, answer, call))
        return made

    def _told(self, op: Operation, answer: Answer, call: Call) -> dict[str, Json]:
        """What stands beside a record, under names of ours."""
        keyless = call.approach.keyless and not answer.refused
        advised = keyless and (op.shows_secrets or call.approach.argument_key is not None)
        marks = {"replayed": answer.replayed, "dryRun": answer.rehearsed}
        told = {**{mark: True for mark, holds in marks.items() if holds}, **({"apiKey": KEY_ADVICE} if advised else {})}
        return {f"{self.market.house.brand}/{name}": value for name, value in told.items()}

    def _call_of(self, wanted: dict[str, Json]) -> tuple[Operation, dict[str, Json]]:
        unknown = sorted(wanted.keys() - {"tool", "arguments"})
        if unknown:
            raise _invalid(f"unknown member {unknown[0][:64]} beside tool and arguments", "parts")
        arguments = wanted.get("arguments")
        if not isinstance(arguments, dict | None):
            raise _invalid("arguments must be an object", "arguments")
        return self._operation(wanted["tool"]), arguments or {}

    def _operation(self, name: Json) -> Operation:
        if not isinstance(name, str):
            raise _invalid("tool must be the name of a tool", "tool")
        op = self.operations.get(name)
        if op is not None:
            return op
        if name in self.rest_only:
            raise _invalid(f"{name} is served over REST only: {self.rest_only[name]}", "tool")
        near = difflib.get_close_matches(name[:64], self.operations, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Tools: {', '.join(self.operations)}."
        raise _invalid(f"Unknown tool: {name[:64]}", "tool", hint)

    def _message(self, asked: pb.Message, call: Call, document: bytes, text: str = "") -> pb.Message:
        identity = self.market.world.dice.roll(16).hex()
        made = pb.Message(message_id=identity, role=pb.Role.ROLE_AGENT, context_id=asked.context_id)
        if text:
            made.parts.add(text=text, media_type="text/plain")
        part = made.parts.add(media_type="application/json")
        part.data.struct_value.update({wire.HELD: call.hold(document)})
        return made


# --- refusals --------------------------------------------------------------------------------------------------------


def _reached(context: ServerCallContext) -> Call:
    call: Call = context.state["call"]
    call.reached = True
    return call


def _no_push(context: ServerCallContext) -> A2AError:
    _reached(context)
    return PushNotificationNotSupportedError()


def _invalid(message: str, param: str, hint: str = "") -> A2AError:
    return InvalidParamsError(message=message, data={"param": param, **({"hint": hint} if hint else {})})


def _card_refused(error: MarketError) -> A2AError:
    told = {"code": error.code, "hint": error.hint}
    return ExtendedAgentCardNotConfiguredError(f"the extended card is for callers with a key: {error.message}", told)


async def _guarded(call: Call, work: Awaitable[T]) -> T:
    """The result of our own code. The SDK would tell the caller what a fault says; the log has it instead."""
    try:
        return await work
    except (A2AError, MarketError):
        raise
    except Exception:
        log.exception("fault", request_id=call.approach.request_id)
        raise InternalError(message="something went wrong on our side") from None


def _judged(scope: Scope, raw: bytes, call: Call) -> bytes:
    """The body for the SDK, with `call` filled from it; raises A2AError."""
    kind = wire.header(scope, b"content-type")
    if scope["method"] == "POST" and not wire.speaks_json(kind):
        raise ContentTypeNotSupportedError(message="Content-Type must be application/json")
    try:
        return wire.taken(raw, call)
    except MalformedJson as bad:
        raise JSONParseError(message=bad.message) from None
    except BadJson as bad:
        raise _invalid(bad.message, bad.path) from None


async def _refuse(send: Send, call: Call, raw: bytes, error: A2AError) -> None:
    """Answer in the binding's own form. The SDK writes no JSONParseError itself: it knows neither code nor status for it."""
    unread = isinstance(error, JSONParseError)
    if call.over_rpc:
        status = 200
        refused = build_error_response(wire.id_of(raw), RpcParseError(message=error.message) if unread else error)
    else:
        refused = build_rest_error_payload(InvalidRequestError(message=error.message) if unread else error)
        status = refused["error"]["code"]
    await send_json(send, status, orjson.dumps(refused))


# --- texts -------------------------------------------------------------------------------------------------------------


def _help(operations: dict[str, Operation]) -> str:
    example = orjson.dumps(example_of(next(iter(operations.values())))).decode() if operations else "{}"
    return (
        f"This market answers calls. Send a message with one data part, for example {example}. "
        "Pass an API key as the header Authorization: Bearer or X-API-Key, or as api_key in the message's metadata; "
        "an Idempotency-Key header, or idempotency_key in the metadata, makes a repeat safe. "
        f"Tools: {', '.join(operations)}."
    )


def _tools(operations: dict[str, Operation]) -> bytes:
    tools = [
        {"tool": op.name, "summary": op.summary, "needs_key": op.auth == "key", "example": example_of(op)}
        for op in operations.values()
    ]
    return orjson.dumps({"object": "tools", "tools": tools})


def _proto(card: dict[str, Any]) -> pb.AgentCard:
    return parse_lenient(card, pb.AgentCard())


def _as_old(card: dict[str, Any]) -> dict[str, Any]:
    """A card 0.3 clients can read: the SDK converts the interfaces of that version only. Its shape changes, so it is unsigned."""
    old = [{**found, "protocolVersion": PROTOCOL_VERSION_0_3} for found in card["supportedInterfaces"]]
    return {**card, "supportedInterfaces": old}
