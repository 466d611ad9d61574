"""The OAuth token endpoint (RFC 6749, client credentials), and the documents by which clients find it.

Its requests, answers and errors are those of OAuth, not the market's.
"""

from base64 import b64decode
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlsplit

import orjson
import structlog
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from protocol.http import RequestReader, read_body, send_response
from rest.headers import Headers, of_quota
from tools.engine import oauth
from tools.engine.caller import Surface
from tools.engine.client_assertions import TYPE
from tools.engine.dispatch import Market
from tools.engine.errors import Unauthenticated
from tools.engine.oauth import OAuthRefusal
from tools.engine.token_grants import TokenRequest, grant
from tools.kernel.errors import MarketError
from tools.kernel.strict_json import BadJson, parse

Document = Callable[[str], dict[str, Any]]
Fields = dict[str, list[str]]
GRANT = "client_credentials"
MAX_FIELDS = 20
MAX_BODY = 16_384
UNSEEN: Headers = [(b"cache-control", b"no-store"), (b"pragma", b"no-cache")]
PUBLIC: Headers = [(b"cache-control", b"public, max-age=300"), (b"vary", b"Host")]
NO_USERS = OAuthRefusal("unsupported_response_type", "nobody signs in here: agents use the token endpoint")

log = structlog.get_logger("emporion.oauth")
parse_form = partial(parse_qs, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)


class OAuth:
    """The ASGI application for the paths it contains.

    It runs behind the edge, which limits the size of bodies.
    """

    def __init__(self, market: Market, request_of: RequestReader) -> None:
        self.market, self.request_of = market, request_of
        self.documents = _documents(market)

    def __contains__(self, path: str) -> bool:
        return path in self.documents or path in (oauth.TOKEN_PATH, oauth.AUTHORIZE_PATH)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        if path == oauth.TOKEN_PATH and method == "POST":
            await self._token(scope, receive, send)
        elif path == oauth.TOKEN_PATH:
            refusal = OAuthRefusal("invalid_request", "a token is asked for by POST")
            await _refuse(send, refusal, 405, (b"allow", b"POST"))
        elif path == oauth.AUTHORIZE_PATH:
            await _refuse(send, NO_USERS, NO_USERS.status)
        elif method not in ("GET", "HEAD"):
            await _refuse(send, OAuthRefusal("invalid_request", "this is only read"), 405, (b"allow", b"GET, HEAD"))
        else:
            base = oauth.spelled(self.market.config.urls, scope["headers"])
            document = orjson.dumps(self.documents[path](base))
            await send_response(send, 200, document, *PUBLIC, head_only=method == "HEAD")

    async def _token(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = self.request_of(scope, Surface.REST)
        try:
            body = await read_body(scope, receive)
            given, quota = await grant(self.market, login_of(scope["headers"], body), request)
        except ClientDisconnect:
            return
        except OAuthRefusal as refusal:
            log.info("login", error=refusal.error, request_id=request.request_id)
            counted = self.market.refuse_anonymous(Unauthenticated(refusal.description), request)
            if counted.refusal is not None and counted.refusal.retryable:
                await _wait(send, counted.refusal)
            else:
                basic = (b"www-authenticate", b'Basic realm="%s"' % self.market.config.brand.encode())
                await _refuse(send, refusal, refusal.status, *([basic] if refusal.status == 401 else []))
        except MarketError as error:
            await _wait(send, error)
        else:
            log.info("login", agent_id=given.agent_id, scope=given.scope, request_id=request.request_id)
            headers = [*UNSEEN, *(of_quota(quota) if quota else [])]
            await send_response(send, 200, orjson.dumps(given), *headers)


def login_of(headers: Headers, body: bytes) -> TokenRequest:
    """Return the parsed token request.

    Raises OAuthRefusal if it is malformed. Unknown parameters are ignored (RFC 6749, 3.2).
    """
    if len(body) > MAX_BODY:
        raise OAuthRefusal("invalid_request", f"a token request is at most {MAX_BODY} bytes")
    fields = _fields(body)
    taken = partial(_only, fields)
    grant_type = taken("grant_type")
    if grant_type is None:
        raise OAuthRefusal("invalid_request", f"grant_type is missing: it is {GRANT}")
    if grant_type != GRANT:
        raise OAuthRefusal("unsupported_grant_type", f"grant_type is {GRANT}")
    basic = _basic([value for name, value in headers if name == b"authorization"])
    named, secret, assertion = taken("client_id"), taken("client_secret"), taken("client_assertion")
    if [basic, secret, assertion].count(None) < 2:
        raise OAuthRefusal("invalid_request", "authenticate in one way only")
    if assertion is not None and taken("client_assertion_type") != TYPE:
        raise OAuthRefusal("invalid_request", f"client_assertion_type is {TYPE}")
    if basic is not None and named not in (None, basic[0]):
        raise OAuthRefusal("invalid_request", "client_id is another than in Authorization")
    return TokenRequest(
        client_id=named if basic is None else basic[0],
        secret=secret if basic is None else basic[1],
        assertion=assertion,
        scope=taken("scope"),
        resources=tuple(fields.get("resource", ())),
    )


def _fields(body: bytes) -> Fields:
    """Return the parameters of a form or a JSON object; empty ones are dropped (RFC 6749, 3.1)."""
    try:
        read = _of_json(body) if body.lstrip()[:1] == b"{" else parse_form(body.strip().decode("ascii"))
    except (BadJson, ValueError):
        raise OAuthRefusal("invalid_request", "the body is a form of UTF-8, or a JSON object of texts") from None
    return {name: [value for value in values if value] for name, values in read.items() if any(values)}


def _of_json(body: bytes) -> Fields:
    """Return the texts of each field; a list gives several, null gives none."""
    value = parse(body, 2)
    if not isinstance(value, dict):
        raise BadJson("not an object")
    return {name: _texts(one) for name, one in value.items()}


def _texts(value: Any) -> list[str]:
    many = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(one, str) for one in many):
        raise BadJson("not a text")
    return many


def _only(fields: Fields, name: str) -> str | None:
    values = fields.get(name, [])
    if len(values) > 1:
        raise OAuthRefusal("invalid_request", f"{name} is given twice")
    return values[0] if values else None


def _basic(values: list[bytes]) -> tuple[str, str] | None:
    """Return client and secret of an Authorization header (RFC 6749, 2.3.1).

    The client may be an unencoded did, which contains colons. Raises OAuthRefusal.
    """
    if not values:
        return None
    scheme, _, encoded = values[0].strip().partition(b" ")
    if len(values) > 1:
        raise OAuthRefusal("invalid_request", "Authorization is given twice")
    if scheme.lower() != b"basic":
        raise OAuthRefusal("invalid_client", "Authorization is Basic here, with client_id and client_secret")
    try:
        client, _, secret = b64decode(encoded.strip(), validate=True).decode().rpartition(":")
    except ValueError:
        client = secret = ""
    if not (client and secret):
        raise OAuthRefusal("invalid_client", "Authorization holds no client_id:client_secret in base64")
    return unquote_plus(client), unquote_plus(secret)


def _documents(market: Market) -> dict[str, Document]:
    """Return the documents by path.

    This includes the paths at which clients look for an issuer or a resource whose address has a path.
    """
    bases = {urlsplit(url).path for url in market.config.urls}
    found: dict[str, Document] = {}
    for resource in oauth.RESOURCES:
        made = partial(oauth.resource_metadata, path=resource, brand=market.config.title)
        for base in ("", *bases):
            found[oauth.RESOURCE_PATH + base + resource] = made
            found[oauth.SERVER_PATH + base + resource] = oauth.server_metadata
    return found


async def _refuse(send: Send, refusal: OAuthRefusal, status: int, *headers: tuple[bytes, bytes]) -> None:
    body = orjson.dumps({"error": refusal.error, "error_description": refusal.description})
    await send_response(send, status, body, *UNSEEN, *headers)


async def _wait(send: Send, error: MarketError) -> None:
    """Answer a call that is over the rate limit, or that finds the market too busy.

    RFC 6749 has no error code for this at the token endpoint; the code is that of the authorization endpoint.
    """
    later = error.retry_after_seconds or 2
    refusal = OAuthRefusal("temporarily_unavailable", error.message)
    await _refuse(send, refusal, error.status, (b"retry-after", b"%d" % later))
