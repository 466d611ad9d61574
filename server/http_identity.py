"""Read a request's headers: the client's address, its credential, its request id and its payment."""

import re
from urllib.parse import parse_qs

from starlette.types import Scope

from protocol.http import RequestReader, header_values
from tools.engine.access_tokens import is_token
from tools.engine.caller import CallRequest, Surface
from tools.engine.ports import RandomSource
from tools.engine.rate_limits import bare_address
from tools.kernel.http_signatures import READ, HttpRequest

REQUEST_ID = re.compile(r"[A-Za-z0-9_.:-]{8,128}")
CREDENTIALS = frozenset({b"authorization", b"x-api-key"})
CONTRADICTION = "an empty credential, or more than one"  # not a valid API key, so the call is refused


def request_reader(trusted_proxies: frozenset[str]) -> RequestReader:
    """Return a reader of requests; it believes forwarded addresses only from `trusted_proxies`."""

    def read(scope: Scope, surface: Surface, body: bytes = b"") -> CallRequest:
        values = header_values(scope)
        return CallRequest(
            surface,
            client_ip(scope, trusted_proxies),
            scope["state"]["request_id"],
            _credential(scope, values, surface),
            admin_token=_admin_token(scope) if surface is Surface.REST and b"x-admin-token" in values else None,
            payment=_payment(values),
            http=None if READ.isdisjoint(values) else _request(scope, body),
            body_bytes=len(body),
        )

    return read


def _request(scope: Scope, body: bytes) -> HttpRequest:
    """Return the request for checking its signature."""
    raw = scope.get("raw_path") or scope["path"].encode()
    return HttpRequest(scope["method"], raw.split(b"?")[0], scope["query_string"], tuple(scope["headers"]), body)


def request_id(given: bytes | None, dice: RandomSource) -> str:
    """Return the caller's X-Request-Id if it is well-formed, otherwise a new id."""
    if given is not None and REQUEST_ID.fullmatch(own := given.decode("latin-1")):
        return own
    return f"req_{dice.random_bytes(13).hex()}"


def client_ip(scope: Scope, trusted_proxies: frozenset[str]) -> str:
    """Return the peer's address, or behind trusted proxies the rightmost untrusted address."""
    peer = scope["client"][0] if scope.get("client") else "unknown"
    if peer not in trusted_proxies:
        return peer
    forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
    for hop in reversed([part.strip() for part in forwarded.decode("latin-1").split(",") if part.strip()]):
        address = bare_address(hop)
        if address not in trusted_proxies:
            return address[:64]
    return peer


def _credential(scope: Scope, values: dict[bytes, bytes], surface: Surface) -> str | None:
    if surface is not Surface.MCP and CREDENTIALS.isdisjoint(values):
        return None
    found = {*map(_bearer, _values(scope, b"authorization")), *_values(scope, b"x-api-key")}
    if surface is Surface.MCP and scope["query_string"]:
        keys = parse_qs(scope["query_string"].decode("latin-1")).get("api_key", ())
        found |= {CONTRADICTION if is_token(key) else key for key in keys}  # tokens belong in headers (RFC 6750, 2.3)
    if len(found) > 1 or "" in found:
        return CONTRADICTION
    return next(iter(found), None)


def _admin_token(scope: Scope) -> str | None:
    """Return the operator's secret from the headers; None if there is more than one."""
    found = _values(scope, b"x-admin-token")
    return found[0] if len(found) == 1 else None


def _values(scope: Scope, header: bytes) -> list[str]:
    """Return all values of a header.

    Most requests repeat no header, so the whole list is read only if one does.
    """
    values, headers = header_values(scope), scope["headers"]
    if header not in values:
        return []
    if len(values) == len(headers):
        return [values[header].decode("latin-1")]
    return [value.decode("latin-1") for name, value in headers if name == header]


def _payment(headers: dict[bytes, bytes]) -> str | None:
    """Return the x402 payment header: PAYMENT-SIGNATURE (version 2) or X-PAYMENT (version 1)."""
    found = headers.get(b"payment-signature") or headers.get(b"x-payment")
    return None if found is None else found.decode("latin-1")


def _bearer(text: str) -> str:
    """Return the token of `Bearer <token>`, in any case; a bare key is accepted too."""
    return text[7:].strip() if text[:7].lower() == "bearer " else text
