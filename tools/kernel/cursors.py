"""Cursors of lists: opaque, signed, bound to the list, its filters and its environment; they never expire."""

import hmac
from functools import lru_cache
from hashlib import sha256

import orjson

from tools.kernel.base64url import base64url, from_base64url
from tools.kernel.errors import Json

TAG_BYTES = 16


class BadCursor(ValueError):
    """A cursor that was changed or belongs to another list."""


@lru_cache(maxsize=8)
def cursor_key(pepper: bytes) -> bytes:
    """Return the signing key of cursors, derived from the pepper."""
    return hmac.digest(pepper, b"emporion:cursor", sha256)


def write_cursor(key: bytes, scope: Json, place: Json) -> str:
    """Write a cursor for `place` in the list that `scope` names.

    The scope is the operation, the caller, the environment and the filters.
    """
    body = orjson.dumps(place)
    return base64url(_tag(key, scope, body) + body)


def read_cursor(key: bytes, scope: Json, cursor: str) -> Json:
    """Return the place in a cursor that this key wrote for this scope; raises BadCursor."""
    try:
        raw = from_base64url(cursor)
    except ValueError:
        raise BadCursor("not a cursor") from None
    tag, body = raw[:TAG_BYTES], raw[TAG_BYTES:]
    if not hmac.compare_digest(tag, _tag(key, scope, body)) or write_cursor(key, scope, orjson.loads(body)) != cursor:
        raise BadCursor("changed, or of another list")
    return orjson.loads(body)


def _tag(key: bytes, scope: Json, body: bytes) -> bytes:
    return hmac.digest(key, orjson.dumps(scope, option=orjson.OPT_SORT_KEYS) + b"\n" + body, sha256)[:TAG_BYTES]
