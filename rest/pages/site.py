"""Answer the pages for people. Accept chooses between a web page and the JSON of the same read."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

import orjson
from markupsafe import Markup
from starlette.types import Message, Receive, Scope, Send

from protocol.accept import HTML, JSON, all_of, prefers_html
from protocol.discovery.documents import links
from protocol.html.frame import POLICY, Frame, opening, query
from protocol.http import RequestReader, header, read_body, send_response
from rest.arguments import arguments_of
from rest.headers import Headers, of_limits, of_quota, send_tagged
from rest.pages.plots import bars, newest
from rest.pages.table import NOWHERE, PAGES, PageSpec, Record
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
from tools.engine.registry import CATALOGUE, Operation
from tools.kernel.errors import Json, MarketError
from tools.kernel.records import etag
from tools.kernel.strict_json import BadJson, parse

VERIFY = "/verify"
MAX_FORM = 65_536  # bytes of a form
FORM = "application/x-www-form-urlencoded"
PAGING = ("cursor", "limit")  # they do not make another page
MAX_ROWS = 1_000  # rendered entries that are kept, of about 3 KB with their keys
TEMPLATES = Path(__file__).with_name("templates")


class Refusal(Exception):
    """A read that the market refused."""

    def __init__(self, answer: Response) -> None:
        super().__init__(answer.status)
        self.answer = answer


class Visit(NamedTuple):
    """A request for a page, with the arguments in its path, and without credentials."""

    page: PageSpec
    path: dict[str, str]
    scope: Scope
    send: Send
    request: CallRequest

    @property
    def place(self) -> str:
        """The path of the JSON that the page shows."""
        return self._filled(self.page.json or CATALOGUE[self.page.operation].path)

    @property
    def address(self) -> str:
        """The path of the page."""
        return self._filled(self.page.path)

    def _filled(self, path: str) -> str:
        return path.format(**{name: quote(value, safe="") for name, value in self.path.items()})


class Site:
    """The pages of one market. A page shows what anyone may read: credentials are not looked at."""

    def __init__(self, market: Market, rest: Rest, request_of: RequestReader) -> None:
        self.market, self.rest, self.request_of = market, rest, request_of
        self.frame = Frame(market.config, TEMPLATES)
        self.root = self.frame.environment.globals["root"]
        self.usual_env = str(Env.LIVE if Env.LIVE in market.world.chains else Env.TEST)
        self.pages = {page.path.partition("{")[0]: page for page in PAGES}
        self.frame.environment.globals |= {"bars": bars, "newest": newest, "categories_of": _categories_of}
        self.frame.environment.globals["listing_rows"] = self._listing_rows
        self.row = lru_cache(MAX_ROWS)(self._rendered_row)

    def find(self, path: str) -> tuple[PageSpec, dict[str, str]] | None:
        """Return the page of a path, and the arguments in the path."""
        page = self.pages.get(path.rstrip("/") or "/")
        if page is not None and "{" not in page.path:
            return page, {}
        head, _, name = path.rstrip("/").rpartition("/")
        page = self.pages.get(f"{head}/")
        if page is None or "{" not in page.path or not name:
            return None
        return page, {page.path.partition("{")[2].rstrip("}"): name}

    async def __call__(
        self, found: tuple[PageSpec, dict[str, str]], scope: Scope, receive: Receive, send: Send
    ) -> None:
        page, path = found
        html = prefers_html(all_of(scope, b"accept"), JSON)
        visit = Visit(page, path, scope, _with_vary(send), self._public(scope))
        if page.path == VERIFY and scope["method"] == "POST":
            await self._verify(visit, receive, html=html)
        elif scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("this page is only read", allowed=["GET", "HEAD"])
        elif html:
            await self._show(visit)
        else:
            await self.rest({**scope, "path": visit.place, "raw_path": visit.place.encode()}, receive, visit.send)

    async def refuse_path(self, scope: Scope, send: Send) -> None:
        """Answer a page that says that nothing is served at a path."""
        visit = Visit(NOWHERE, {}, scope, _with_vary(send), self._public(scope))
        error = RouteNotFound(f"there is no path {scope['path'][:200]}")
        await self._refuse(visit, self.market.refuse_anonymous(error, visit.request))

    def _listing_rows(self, listings: Iterable[Record], suffix: str) -> Markup:
        """Return the entries of listings in a list.

        They are kept, because lists show the same listings again and again.
        """
        rows = (self.row(orjson.dumps(one), suffix) for one in listings)
        return Markup("".join(rows))  # noqa: S704 - their template has escaped them

    def _rendered_row(self, listing: bytes, suffix: str) -> str:
        return self.frame.render("listing_row.html", {"one": orjson.loads(listing), "suffix": suffix}).decode()

    async def _show(self, visit: Visit) -> None:
        page = visit.page
        try:
            given = _given(visit)
        except MarketError as error:
            await self._refuse(visit, self.market.refuse_anonymous(error, visit.request))
            return
        env = given.get("env", self.usual_env)
        try:
            record, quota = await self._read(page.operation, given, visit.request, env)
            more = {
                one.name: (await self._read(one.operation, one.arguments, visit.request, env))[0]
                for one in page.more(record)
            }
        except Refusal as refused:
            await self._refuse(visit, refused.answer, env)
            return
        if visit.path:
            visit = _of_record(visit, record)
        values = {"record": record, "given": given, "other": self._other(visit, given, env), **self._in(env), **more}
        values["canonical"] = self._canonical(visit, given, env)
        await self._send_page(visit, values, more=[] if quota is None else of_quota(quota))

    def _in(self, env: Json) -> dict[str, Json]:
        """Return the environment of a page, and the query of links that stay in it."""
        return {"env": env, "suffix": "" if env == self.usual_env else f"?env={env}"}

    async def _read(self, name: str, arguments: dict[str, Json], request: CallRequest, env: Json) -> tuple[Record, Any]:
        op = CATALOGUE[name]
        answer = await self.market.call(op, _in_env(op, arguments, env), request)
        if answer.refused:
            raise Refusal(answer)
        return orjson.loads(answer.body), answer.quota

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
            await self._send_page(visit, {"document": document, **outcome}, answer.status, of_limits(answer))

    def _public(self, scope: Scope) -> CallRequest:
        """Return the request without its credentials, because a page shows public reads only."""
        request = self.request_of(scope, Surface.REST)
        return replace(request, credential=None, argument_key=None, admin_token=None, payment=None, http=None)

    def _other(self, visit: Visit, given: dict[str, Json], env: Json) -> str:
        """Return the address of the JSON that the page shows, in the same environment."""
        op = CATALOGUE[visit.page.operation]
        asked = {name: value for name, value in _in_env(op, given, env).items() if name not in visit.path}
        return _with_query(f"{self.root}{visit.place}", asked)

    def _canonical(self, visit: Visit, given: dict[str, Json], env: Json) -> str:
        """Return the one URL of a page.

        It has no paging, no defaults and no unknown parameters, and `env` only if it is not the usual one.
        """
        fields = CATALOGUE[visit.page.operation].input.model_fields
        kept = {
            name: given[name]
            for name in sorted(given.keys() - {"env", *PAGING, *visit.path})
            if given[name] != fields[name].default
        }
        if env != self.usual_env:
            kept["env"] = env
        return _with_query(self.market.config.base_url + visit.address, kept)

    async def _refuse(self, visit: Visit, answer: Response, env: Json = None) -> None:
        """Answer a page about an error.

        If the record is missing, links stay in the environment that was read.
        """
        phrase = HTTPStatus(answer.status).phrase
        values: dict[str, Any] = {"error": answer.error, "phrase": phrase, "missing": "", "address": visit.address}
        if answer.status == HTTPStatus.NOT_FOUND:
            values |= {"missing": visit.page.missing, **self._in(env or self.usual_env)}
        visit = visit._replace(page=replace(visit.page, template="error.html", title=phrase))
        await self._send_page(visit, values, answer.status, of_limits(answer))

    async def _send_page(
        self, visit: Visit, values: Mapping[str, Any], status: int = 200, more: Headers | None = None
    ) -> None:
        page, scope, title = visit.page, visit.scope, self.market.config.title
        common = {
            "title": f"{page.title} · {title}" if page.title else title,
            "about": page.about,
            "other": f"{self.root}{visit.place}",
            "other_kind": JSON,
            "section": page.section,
            "path": scope["path"],
            "env": self.usual_env,
            "usual_env": self.usual_env,
        }
        body = self.frame.render(page.template, {**common, **values})
        headers: Headers = [(b"content-security-policy", POLICY.encode()), *(more or [])]
        if page.path == "/":
            headers.append((b"link", links(self.market.config)))
        headers.append((b"cache-control", b"no-cache" if scope["method"] != "POST" else b"no-store"))
        kind = f"{HTML}; charset=utf-8".encode()
        if status == HTTPStatus.OK and scope["method"] != "POST":
            await send_tagged(scope, visit.send, body, etag(body), headers, kind)
            return
        await send_response(visit.send, status, body, *headers, kind=kind, head_only=scope["method"] == "HEAD")


def _given(visit: Visit) -> dict[str, Json]:
    """Return the arguments of the page's operation.

    A field that was left empty does not count, and neither does an unknown parameter.
    """
    op, path = CATALOGUE[visit.page.operation], visit.path
    try:
        query = visit.scope["query_string"].decode("ascii")
        pairs = parse_qsl(query, errors="strict", max_num_fields=50)
    except ValueError:
        raise InvalidRequest("the query string is not valid percent-encoded UTF-8", param="query") from None
    known = [(name, value) for name, value in pairs if name in op.input.model_fields and name not in path]
    return arguments_of(op, path, urlencode(known).encode(), b"")


def _of_record(visit: Visit, record: Record) -> Visit:
    """Put the record's id into the address, and its words into the head of the page.

    A description that looks like an attack stays out of the head.
    """
    page, text = visit.page, "" if record.get("content_warnings") else record["description"]
    about = opening(text) if text else page.about
    named = replace(page, title=record.get("title") or record["handle"], about=about)
    return visit._replace(page=named, path=dict.fromkeys(visit.path, str(record["id"])))


def _categories_of(found: Iterable[Record]) -> list[str]:
    """Return the categories of some records, each once."""
    return sorted({one["category"] for one in found})


def _with_query(url: str, arguments: Mapping[str, Json]) -> str:
    return f"{url}?{query(arguments)}" if arguments else url


def _in_env(op: Operation, arguments: dict[str, Json], env: Json) -> dict[str, Json]:
    return {"env": env, **arguments} if "env" in op.input.model_fields else arguments


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
