"""A2A at /a2a: our RequestHandler below the a2a-sdk's dispatchers. Protocols 1.0 and 0.3, JSON-RPC and HTTP+JSON.

A data part {tool, arguments} calls one operation and is answered with a Message; a job is shown as a task.
"""

import logging
import os
import re
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import chain

import orjson
import structlog

os.environ["OTEL_INSTRUMENTATION_A2A_SDK_ENABLED"] = "false"  # read at import: its spans cost a third of a call

from a2a.server.context import ServerCallContext
from a2a.server.jsonrpc_models import JSONParseError as RpcParseError
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes import DefaultServerCallContextBuilder, create_jsonrpc_routes, create_rest_routes
from a2a.utils.constants import VERSION_HEADER
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
)
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Match, Route
from starlette.types import Message, Receive, Scope, Send

from protocol.a2a import payment as x402
from protocol.a2a import sdk_bodies as wire
from protocol.a2a.agent_endpoint import CARD, AgentEndpoints
from protocol.a2a.errors import invalid
from protocol.a2a.fast_path import FastPath
from protocol.a2a.request_handler import MarketRequestHandler
from protocol.a2a.sdk_bodies import CallState, Reply
from protocol.http import (
    FAST_PATHS,
    Refused,
    RequestReader,
    check,
    check_credential,
    header,
    read_body,
    replayed,
    send_refusal,
    send_response,
    watch_disconnect,
)
from tools.engine.access_tokens import is_token
from tools.engine.caller import Surface
from tools.engine.dispatch import Market
from tools.engine.errors import MethodNotAllowed, RouteNotFound
from tools.engine.protocol_requests import count_protocol_request, refuse_unread_body
from tools.engine.registry import CATALOGUE
from tools.kernel.errors import Json, MarketError
from tools.kernel.strict_json import BadJson, MalformedJson

log = structlog.get_logger("emporion.a2a")
logging.getLogger("a2a").setLevel(logging.CRITICAL)  # the SDK logs input of any length; faults are logged here
PREFIX = "/a2a"
ENDPOINTS = (PREFIX, f"{PREFIX}/")  # for JSON-RPC; some clients add the slash
OF_AGENT = re.compile(rf"{PREFIX}/agents/([^/]{{3,64}})(/.*|)")  # an agent's own endpoint, which is like the market's
OLD_HTTP = f"{PREFIX}/v1/"
UNSUPPORTED_MEDIA_TYPE = 415  # HTTP's status for a body; a part of a type that the card does not name is 400
CANNOT_BE_READ = "the request cannot be read"
UNREADABLE = orjson.dumps(build_rest_error_payload(InvalidParamsError(message=CANNOT_BE_READ)))


class A2aSurface:
    """The ASGI application for every path under /a2a.

    The edge in front of it limits the size of bodies and assigns request ids. `request_of` reads the caller's address
    and credential from a request.
    """

    def __init__(self, market: Market, request_of: RequestReader) -> None:
        self.market, self.request_of = market, request_of
        self.shops = AgentEndpoints(market)
        self.desk, reads = MarketRequestHandler(market, CATALOGUE.values()), ContextBuilder()
        self.front = FastPath(self.desk.sending.replies)
        rpc = (create_jsonrpc_routes(self.desk, path, reads, enable_v0_3_compat=True) for path in ENDPOINTS)
        http = create_rest_routes(self.desk, reads, enable_v0_3_compat=True, path_prefix=PREFIX)
        only_routes = (route for route in http if isinstance(route, Route))  # no Mount: it takes any path
        self.routes = [*chain.from_iterable(rpc), *only_routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = CallState(self.request_of(scope, Surface.A2A), header(scope, b"idempotency-key"))
        call.pays = x402.activated(scope["headers"])
        send = _naming_extension(send) if call.pays else send
        try:
            if (place := OF_AGENT.fullmatch(scope["path"])) is not None:
                scope = {**scope, "path": PREFIX + place[2]}
                await self.shops.enter(place[1], call)
                if scope["path"] == PREFIX + CARD and scope["method"] == "GET":
                    await self.shops.show(place[1], scope, call, send)
                    return
            await self._answer(scope, receive, send, call)
        except Refused as refused:
            await send_refusal(send, refused.answer, *refused.headers)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, call: CallState) -> None:
        path: str = scope["path"]
        sent = scope["headers"]
        call.over_rpc, call.old = path in ENDPOINTS, path.startswith(OLD_HTTP)
        scope = wire.for_sdk(scope, call)
        try:
            self._check_route(scope, call)
            raw = await read_body(scope, receive)
        except MarketError as error:
            raise Refused(self.market.refuse(error, call.request)) from None
        except ClientDisconnect:
            return
        call.request.set_body(raw)
        if is_token(call.request.credential):
            await check_credential(self.market, call.request, sent, PREFIX)
        check(await refuse_unread_body(self.market, call.request, len(raw)))
        reply = Reply(send, call, UNREADABLE)
        try:
            rest = _extracted(scope, raw, call)
            if not call.wanted:
                check(await count_protocol_request(self.market, call.request))
            if FAST_PATHS and await self.front.serve(scope, rest, call, send):
                return
            body = raw if rest is None else orjson.dumps(rest)
            async with AsyncExitStack() as stack:
                if call.pays and x402.PAYLOAD in call.metadata:  # without its client nothing more is submitted
                    gone = await stack.enter_async_context(watch_disconnect(receive))
                    call.request = replace(call.request, client_disconnected=gone)
                await self._handled(scope, replayed(body, receive), reply)
        except A2AError as error:
            if reply.started:
                raise
            if not call.reached and not call.wanted:
                check(await count_protocol_request(self.market, call.request))
            await _refuse(send, call, raw, error)

    async def _handled(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        """Let the SDK answer; raises A2AError.

        If the SDK fails before our handler was called, the request is at fault.
        """
        route, scope = self._routed(scope)
        try:
            await route.handle(scope, receive, reply)
        except A2AError:  # raised by its streams of 0.3 over HTTP
            raise
        except Exception as fault:
            if reply.call.reached or reply.started:
                raise
            log.info("unreadable", error=type(fault).__name__, request_id=reply.call.request.request_id)
            raise InvalidParamsError(message=CANNOT_BE_READ) from None

    def _check_route(self, scope: Scope, call: CallState) -> None:
        """Raise RouteNotFound or MethodNotAllowed; the endpoints of JSON-RPC serve every POST."""
        if scope["method"] != "POST" or not call.over_rpc:
            self._routed(scope)

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
    """The builder of the handler's context: our Call, and of the headers only the version."""

    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        version = request.headers.get(VERSION_HEADER, "")
        context.state = {"headers": {VERSION_HEADER: version}, "call": request.scope["a2a.call"]}
        return context


def _extracted(scope: Scope, raw: bytes, call: CallState) -> Json:
    """Fill `call` from the body and return the rest of it; raises A2AError."""
    kind = header(scope, b"content-type")
    if scope["method"] == "POST" and not wire.speaks_json(kind):
        raise ContentTypeNotSupportedError(message="Content-Type must be application/json")
    try:
        return wire.extract_data(raw, call)
    except MalformedJson as bad:
        raise JSONParseError(message=bad.message) from None
    except BadJson as bad:
        raise invalid(bad.message, bad.path) from None


def _naming_extension(send: Send) -> Send:
    """Wrap `send` so that the answer names the activated extension, in both versions' headers."""

    async def named(message: Message) -> None:
        if message["type"] == "http.response.start":
            told = [(name, x402.URI.encode()) for name in x402.ACTIVATION]
            message = {**message, "headers": [*message["headers"], *told]}
        await send(message)

    return named


async def _refuse(send: Send, call: CallState, raw: bytes, error: A2AError) -> None:
    """Send an error in the form of the binding.

    The SDK cannot write a JSONParseError: it knows neither its code nor its status.
    """
    unread = isinstance(error, JSONParseError)
    if call.over_rpc:
        status = 200
        refused = build_error_response(wire.id_of(raw), RpcParseError(message=error.message) if unread else error)
    else:
        refused = build_rest_error_payload(InvalidRequestError(message=error.message) if unread else error)
        if isinstance(error, ContentTypeNotSupportedError) and not call.reached:
            refused["error"]["code"] = UNSUPPORTED_MEDIA_TYPE
        status = refused["error"]["code"]
    await send_response(send, status, orjson.dumps(refused))
