"""The HTTP form of the ARD registry under /ard: its paths, answers and errors are those of ARD 0.91, 5.3."""

from functools import partial

import orjson
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from protocol.discovery.ard_registry import (
    get_listing_catalog,
    get_registry,
    get_registry_entry,
    list_registry,
    search_registry,
)
from protocol.http import RequestReader, read_body, send_response
from rest.arguments import arguments_of, is_dry_run
from rest.headers import of_answer, send_tagged
from rest.routes import Router, Target
from tools.engine.caller import CallRequest, Surface
from tools.engine.dispatch import Market
from tools.engine.errors import MethodNotAllowed, NotImplementedHere
from tools.engine.idempotency import Response
from tools.kernel.errors import MarketError
from tools.kernel.records import etag

BASE, EXPLORE = "/ard", "/ard/explore"
CODES = {404: "NOT_FOUND", 429: "RATE_LIMIT_EXCEEDED", 501: "UNIMPLEMENTED"}
OPERATIONS = [get_registry, search_registry, list_registry, get_registry_entry, get_listing_catalog]


class ArdRegistry:
    """The ASGI application under /ard.

    Its requests are anonymous: a credential changes nothing, so every answer is the same for all callers.
    """

    def __init__(self, market: Market, request_of: RequestReader) -> None:
        self.market, self.request_of, self.table = market, request_of, Router(OPERATIONS)

    def __contains__(self, path: str) -> bool:
        return path == BASE or path.startswith(f"{BASE}/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        came = self.request_of(scope, Surface.REST)
        request = CallRequest(Surface.REST, came.ip, came.request_id)
        try:
            target = self._route(scope)
            op = target.op
            request.dry_run = is_dry_run(op, scope["query_string"])
            body = await read_body(scope, receive)
        except ClientDisconnect:
            return
        except MarketError as error:
            answer = self.market.refuse_anonymous(error, request)
            allowed = error.details["allowed"] if isinstance(error, MethodNotAllowed) else []
            await self._send(scope, send, answer, 0, *([(b"allow", ", ".join(allowed).encode())] if allowed else []))
            return
        given = partial(arguments_of, op, target.path, target.query, body)
        await self._send(scope, send, await self.market.call(op, given, request), op.cache_seconds)

    def _route(self, scope: Scope) -> Target:
        if scope["path"] == EXPLORE:
            raise NotImplementedHere("this registry does not aggregate", hint="POST /ard/search finds entries.")
        return self.table.route(scope)

    async def _send(
        self, scope: Scope, send: Send, answer: Response, cache_seconds: int, *more: tuple[bytes, bytes]
    ) -> None:
        about = f'<{self.market.config.base_url}{BASE}>; rel="service-desc"'
        headers = [*of_answer(answer, cache_seconds), (b"link", about.encode()), *more]
        body = _in_their_form(answer) if answer.refusal is not None else answer.body
        if answer.status == 200 and scope["method"] in ("GET", "HEAD"):
            await send_tagged(scope, send, body, etag(body), headers)
            return
        await send_response(send, answer.status, body, *headers, head_only=scope["method"] == "HEAD")


def _in_their_form(answer: Response) -> bytes:
    """Return the error of ARD, with the market's own beside it."""
    other = "INTERNAL_ERROR" if answer.status >= 500 else "INVALID_ARGUMENT"
    error = answer.error or {}
    return orjson.dumps(
        {"errorCode": CODES.get(answer.status, other), "message": error.get("message", ""), "error": error}
    )
