"""MCP at /mcp: the SDK's low-level server over the registry, stateless, for both eras of the protocol.

/mcp accepts anonymous calls. A missing or bad key is reported in the tool's result, because a 401 would make clients
start OAuth. /mcp/oauth is the same server for clients that use OAuth: it answers 401 without a valid credential. A bad
token gets 401 at both.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

import mcp_types as t
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from protocol.discovery.skills import Skill
from protocol.http import (
    FAST_PATHS,
    Refused,
    RequestReader,
    check,
    check_credential,
    read_body,
    replayed,
    send_refusal,
    send_response,
    watch_disconnect,
)
from protocol.mcp.fast_path import FastPath
from protocol.mcp.request import McpRequest, Request, UnreadableRequest, arrived_in, parsed
from protocol.mcp.resources import TEMPLATES, read_record
from protocol.mcp.skills import Skills
from protocol.mcp.tasks import Asking, HireTasks, declares
from protocol.mcp.texts import GUIDES, Texts, completion_of, instructions, prompt_messages, read_resource, resources
from protocol.mcp.tools import Called, Tools
from protocol.mcp.toolsets import view_of
from tools.engine.access_tokens import is_token
from tools.engine.caller import CallRequest, Surface
from tools.engine.dispatch import Market
from tools.engine.errors import MethodNotAllowed
from tools.engine.oauth import CLOSED_MCP, OPEN_MCP
from tools.engine.protocol_requests import count_protocol_request, refuse_unread_body
from tools.engine.registry import CATALOGUE
from tools.kernel.errors import MarketError

Listing = t.PaginatedRequestParams | None
Item = TypeVar("Item")

LIST_SECONDS, TEXT_SECONDS = 60, 300
INTRODUCTIONS = ("initialize", "server/discover")
PUBLIC = CacheHint(ttl_ms=LIST_SECONDS * 1000, scope="public")
CACHING: Mapping[Any, CacheHint] = {
    "tools/list": CacheHint(ttl_ms=LIST_SECONDS * 1000, scope="private"),  # it differs with and without a key
    "prompts/list": PUBLIC,
    "resources/list": PUBLIC,
    "resources/templates/list": PUBLIC,
    "resources/read": CacheHint(ttl_ms=TEXT_SECONDS * 1000, scope="public"),
    "server/discover": PUBLIC,
}


class McpSurface:
    """The ASGI application for /mcp and the paths below it, with or without a trailing slash.

    The edge in front of it limits the size of bodies and assigns request ids. `request_of` reads the caller's address
    and credential from a request; `allowed_hosts` are the accepted host[:port] texts, () if only the edge checks Host.
    """

    def __init__(
        self,
        market: Market,
        request_of: RequestReader,
        texts: Texts,
        allowed_hosts: tuple[str, ...],
    ) -> None:
        self.market, self.request_of, self.texts = market, request_of, texts
        self.tools = Tools(market, CATALOGUE.values())
        self.hires, self.skills = HireTasks(self.tools), Skills(Skill(texts))
        self.server = self._server()
        # Origins need no list: `for_sdk` keeps only those that must be refused. Without hosts, only the edge checks Host.
        security = TransportSecuritySettings(
            enable_dns_rebinding_protection=bool(allowed_hosts), allowed_hosts=list(allowed_hosts), allowed_origins=[]
        )
        self.front = FastPath(self.tools, security, self.server.server_info_stamp)
        # JSON responses cost half as much, but carry no progress and no pings, which keep a long wait open.
        self.plain, self.streaming = (
            StreamableHTTPSessionManager(
                app=self.server, stateless=True, json_response=as_json, security_settings=security
            )
            for as_json in (True, False)
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the SDK's session managers; enter this once per process, while requests are served."""
        async with self.plain.run(), self.streaming.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(scope, receive)
        except ClientDisconnect:
            return
        try:
            await self._answer(scope, body, receive, send)
        except Refused as refused:
            await send_refusal(send, refused.answer, *refused.headers)

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        call_request = self.request_of(scope, Surface.MCP, body)
        try:
            view = view_of(scope["path"].rstrip("/"), scope["query_string"], self.tools.toolsets)
        except MarketError as astray:
            raise Refused(self.market.refuse_anonymous(astray, call_request)) from None
        await self._admit(scope, call_request)
        check(await refuse_unread_body(self.market, call_request, len(body)))
        try:
            body, request, bad = parsed(body)
        except UnreadableRequest as unreadable:
            check(await count_protocol_request(self.market, call_request))
            await send_response(send, 400, unreadable.answer)
            return
        arrived = McpRequest(scope, call_request, view, request, bad)
        if arrived.tool not in self.tools.names:
            check(await count_protocol_request(self.market, call_request))
        sending = await self.front.serve(arrived, send) if FAST_PATHS else send
        if sending is None:
            return
        manager = self.streaming if arrived.may_wait else self.plain
        async with AsyncExitStack() as stack:
            if arrived.pays:  # without its client nothing more is submitted
                gone = await stack.enter_async_context(watch_disconnect(receive))
                arrived.call_request = replace(call_request, client_disconnected=gone)
            await manager.handle_request(arrived.for_sdk(), replayed(body, receive), sending)

    async def _admit(self, scope: Scope, call_request: CallRequest) -> None:
        """Raise Refused if a required credential is missing, or for a method other than POST."""
        opening = CLOSED_MCP if scope["path"].rstrip("/") == CLOSED_MCP else OPEN_MCP
        if opening == CLOSED_MCP or is_token(call_request.credential):
            await check_credential(self.market, call_request, scope["headers"], opening)
        if scope["method"] != "POST":
            error = MethodNotAllowed("only POST is served here: there is no session", allowed=["POST"])
            raise Refused(self.market.refuse(error, call_request))

    def _server(self) -> Server[dict[str, Any]]:
        config = self.market.config
        server: Server[dict[str, Any]] = Server(
            config.title,
            version=self.texts.version,
            description="A market where software agents hire each other.",
            website_url=config.base_url,
            cache_hints=CACHING,
            get_tool_input_schema=self.tools.input_schema,
            on_list_tools=self._list_tools,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
        )
        server.add_request_handler("tools/call", t.CallToolRequestParams, self._call_tool)
        self.hires.install(server)
        self.skills.install(server)
        server.middleware[:] = [self.instruct]  # replaces OpenTelemetry, which is on by default
        return server

    async def instruct(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        """Add instructions to the SDK's introduction, with the tools that this address lists."""
        result = await call_next(ctx)
        if ctx.method not in INTRODUCTIONS or not isinstance(result, dict):
            return result
        return {**result, "instructions": instructions(self.tools.operations, self.tools.wording(arrived_in(ctx).view))}

    async def _list_tools(self, request: Request, asked: Listing) -> t.ListToolsResult:
        arrived = arrived_in(request)
        listed = await asyncio.to_thread(
            self.tools.listed, arrived.call_request, arrived.view
        )  # makes schemas at first
        return t.ListToolsResult(tools=whole(listed, asked))

    async def _call_tool(self, request: Request, asked: t.CallToolRequestParams) -> t.Result | dict[str, Any]:
        arrived = arrived_in(request)
        call = Called(asked.name, asked.arguments or {}, arrived.repeat, arrived.view, arrived.payment)
        if arrived.bad is None and declares(request):
            begun = await self.hires.begin(call, Asking(request, arrived.call_request))
            if begun is not None:
                return begun
        call_request = replace(arrived.call_request, progress=request.session.report_progress)
        return (await self.tools.call(call, call_request, arrived.bad)).result()

    async def _list_resources(self, request: Request, asked: Listing) -> t.ListResourcesResult:
        return t.ListResourcesResult(resources=whole([*resources(self.texts), *self.skills.resources()], asked))

    async def _list_templates(self, request: Request, asked: Listing) -> t.ListResourceTemplatesResult:
        return t.ListResourceTemplatesResult(resource_templates=whole([one.listed for one in TEMPLATES], asked))

    async def _read_resource(self, request: Request, asked: t.ReadResourceRequestParams) -> t.ReadResourceResult:
        uri, arrived = str(asked.uri), arrived_in(request)
        fences, wording = self.tools.telling.fences, self.tools.wording(arrived.view)
        found = await read_record(uri, self.market, arrived.call_request, fences, wording)
        return found or self.skills.read(uri) or read_resource(uri, self.texts)

    async def _list_prompts(self, request: Request, asked: Listing) -> t.ListPromptsResult:
        return t.ListPromptsResult(prompts=whole([guide.prompt for guide in GUIDES.values()], asked))

    async def _get_prompt(self, request: Request, asked: t.GetPromptRequestParams) -> t.GetPromptResult:
        wording = self.tools.wording(arrived_in(request).view)
        return prompt_messages(asked.name, asked.arguments or {}, self.tools.operations, wording)

    async def _complete(self, request: Request, asked: t.CompleteRequestParams) -> t.CompleteResult:
        if not isinstance(asked.ref, t.PromptReference):
            raise MCPError(t.INVALID_PARAMS, "only arguments of prompts complete")
        return t.CompleteResult(completion=completion_of(asked.ref.name, asked.argument.name, asked.argument.value))


def whole(items: list[Item], asked: Listing) -> list[Item]:
    """Return all items: every list fits on one page, so any cursor is invalid."""
    if asked is not None and asked.cursor is not None:
        raise MCPError(t.INVALID_PARAMS, "Invalid cursor")
    return items
