"""Answer the pages for people. Accept chooses between a web page and the JSON of the same read."""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import orjson
from starlette.types import Message, Receive, Scope, Send

from protocol.accept import HTML, JSON, all_of, prefers_html
from protocol.discovery.documents import links
from protocol.html.frame import POLICY
from protocol.http import RequestReader, header, read_body, send_response
from rest.headers import Headers, of_limits, of_quota, send_tagged
from rest.pages.renderer import PageSource, Place, Renderer, arguments_of_page, with_env
from rest.pages.table import NOWHERE, PAGES
from rest.routes import Rest
from storage.vocabulary import Env
from tools.engine.caller import CallRequest, Surface
from tools.engine.dispatch import Market
from tools.engine.errors import (
    InvalidRequest,
    MalformedJson,
    MethodNotAllowed,
    PayloadTooLarge,
    RouteNotFound,
    UnsupportedMediaType,
)
from tools.engine.idempotency import Response
from tools.engine.registry import CATALOGUE
from tools.kernel.errors import Json, MarketError
from tools.kernel.records import etag
from tools.kernel.strict_json import BadJson, parse

VERIFY = "/verify"
MAX_FORM = 65_536  # bytes of a form
FORM = "application/x-www-form-urlencoded"


class Refusal(Exception):
    """A read that the market refused."""

    def __init__(self, answer: Response) -> None:
        super().__init__(answer.status)
        self.answer = answer


class Visit(NamedTuple):
    """A request for a page, without credentials."""

    place: Place
    scope: Scope
    send: Send
    request: CallRequest


class Site:
    """The pages of one market. A page shows what anyone may read: credentials are not looked at."""

    def __init__(self, market: Market, rest: Rest, request_of: RequestReader) -> None:
        self.market, self.rest, self.request_of = market, rest, request_of
        self.usual_env = str(Env.LIVE if Env.LIVE in market.world.chains else Env.TEST)
        self.renderer = Renderer(market.config, self.usual_env)
        self.pages = {page.path.partition("{")[0]: page for page in PAGES}

    def find(self, path: str) -> Place | None:
        """Return the page of a path, with the argument in the path."""
        page = self.pages.get(path.rstrip("/") or "/")
        if page is not None and not page.parameter:
            return Place(page)
        head, _, name = path.rstrip("/").rpartition("/")
        page = self.pages.get(f"{head}/")
        return Place(page, name) if page is not None and page.parameter and name else None

    async def __call__(self, place: Place, scope: Scope, receive: Receive, send: Send) -> None:
        html = prefers_html(all_of(scope, b"accept"), JSON)
        visit = Visit(place, scope, _with_vary(send), self._public(scope))
        if place.page.path == VERIFY and scope["method"] == "POST":
            await self._verify(visit, receive, html=html)
        elif scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("this page is only read", allowed=["GET", "HEAD"])
        elif html:
            await self._show(visit)
        else:
            await self.rest({**scope, "path": place.json, "raw_path": place.json.encode()}, receive, visit.send)

    async def refuse_path(self, scope: Scope, send: Send) -> None:
        """Answer a page that says that nothing is served at a path."""
        visit = Visit(Place(NOWHERE), scope, _with_vary(send), self._public(scope))
        error = RouteNotFound(f"there is no path {scope['path'][:200]}")
        await self._refuse(visit, self.market.refuse_anonymous(error, visit.request))

    async def _show(self, visit: Visit) -> None:
        place, query = visit.place, visit.scope["query_string"]
        try:
            given = arguments_of_page(place, query)
        except MarketError as error:
            await self._refuse(visit, self.market.refuse_anonymous(error, visit.request))
            return
        env = given.get("env", self.usual_env)
        try:
            body, quota = await self._read(place.page.operation, given, visit.request, env)
            reads = place.page.more(orjson.loads(body)) if place.page.more else ()
            more = [(await self._read(one.operation, one.arguments, visit.request, env))[0] for one in reads]
        except Refusal as refused:
            await self._refuse(visit, refused.answer, env)
            return
        shown = self.renderer.cached_page(
            PageSource(place, orjson.dumps(given, option=orjson.OPT_SORT_KEYS), env, (body, *more))
        )
        await self._send(visit, shown, more=[] if quota is None else of_quota(quota))

    async def _read(
        self, name: str, arguments: Mapping[str, Json], request: CallRequest, env: Json
    ) -> tuple[bytes, Any]:
        op = CATALOGUE[name]
        answer = await self.market.call(op, with_env(op, arguments, env), request)
        if answer.refused:
            raise Refusal(answer)
        return answer.body, answer.quota

    async def _verify(self, visit: Visit, receive: Receive, *, html: bool) -> None:
        """Check the document in a form of at most MAX_FORM bytes by verify_receipt."""
        document = ""
        try:
            document = await _document_in_form(visit.scope, receive)
        except MarketError as error:
            answer = self.market.refuse_anonymous(error, visit.request)
        else:
            answer = await self.market.call(CATALOGUE["verify_receipt"], lambda: _parsed(document), visit.request)
        if not html:
            await send_response(visit.send, answer.status, answer.body, *of_limits(answer))
        else:
            outcome: dict[str, Any] = {"error": answer.error}
            if not answer.refused:
                sent = _parsed(document)
                signed = sent.get("receipt") or sent.get("attestation")
                outcome = {"result": orjson.loads(answer.body), "signed": signed}
            page = self.renderer.page(visit.place, {"document": document, **outcome})
            await self._send(visit, page, answer.status, of_limits(answer))

    def _public(self, scope: Scope) -> CallRequest:
        """Return the request without its credentials, because a page shows public reads only."""
        request = self.request_of(scope, Surface.REST)
        return replace(request, credential=None, argument_key=None, admin_token=None, payment=None, http=None)

    async def _refuse(self, visit: Visit, answer: Response, env: Json = None) -> None:
        """Answer a page about an error.

        If the record is missing, links stay in the environment that was read.
        """
        place, phrase = visit.place, HTTPStatus(answer.status).phrase
        values: dict[str, Any] = {"error": answer.error, "phrase": phrase, "missing": "", "address": place.address}
        if answer.status == HTTPStatus.NOT_FOUND:
            values |= {"missing": place.page.missing, **self.renderer.env_values(env or self.usual_env)}
        place = place._replace(page=replace(place.page, template="error.html", title=phrase))
        await self._send(visit, self.renderer.page(place, values), answer.status, of_limits(answer))

    async def _send(self, visit: Visit, body: bytes, status: int = 200, more: Headers | None = None) -> None:
        scope = visit.scope
        headers: Headers = [(b"content-security-policy", POLICY.encode()), *(more or [])]
        if visit.place.page.path == "/":
            headers.append((b"link", links(self.market.config)))
        headers.append((b"cache-control", b"no-cache" if scope["method"] != "POST" else b"no-store"))
        kind = f"{HTML}; charset=utf-8".encode()
        if status == HTTPStatus.OK and scope["method"] != "POST":
            await send_tagged(scope, visit.send, body, etag(body), headers, kind)
            return
        await send_response(visit.send, status, body, *headers, kind=kind, head_only=scope["method"] == "HEAD")


def _with_vary(send: Send) -> Send:
    """Add `Vary: Accept` to the response."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), (b"vary", b"Accept")]}
        await send(message)

    return sent


async def _document_in_form(scope: Scope, receive: Receive) -> str:
    """Return the field `document` of a form."""
    kind = (header(scope, b"content-type") or "").partition(";")[0].strip().lower()
    if kind != FORM:
        raise UnsupportedMediaType(f"send a form as {FORM}", param="Content-Type")
    body = await read_body(scope, receive)
    if len(body) > MAX_FORM:
        raise PayloadTooLarge(f"the form is larger than {MAX_FORM} bytes")
    try:
        fields = dict(parse_qsl(body.decode("ascii"), errors="strict", max_num_fields=5))
    except ValueError:
        raise InvalidRequest("the form is not valid percent-encoded UTF-8", param="document") from None
    if not fields.get("document", "").strip():
        raise InvalidRequest("paste a signed receipt or attestation", param="document")
    return fields["document"]


def _parsed(document: str) -> dict[str, Json]:
    try:
        parsed = parse(document.encode())
    except BadJson as bad:
        raise MalformedJson(str(bad), param="document") from None
    if not isinstance(parsed, dict):
        raise InvalidRequest("the document must be a JSON object", param="document")
    return parsed
