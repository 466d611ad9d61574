"""Canonical JSON (RFC 8785) and SHA-256, for documents that are hashed or signed.

RFC 8785 is UTF-8 with keys sorted recursively, no whitespace, and one form for each number. orjson writes the same
bytes a hundred times faster, except for some floats and for keys beyond the Basic Multilingual Plane. The library
rfc8785 writes those documents.
"""

from hashlib import sha256
from math import isfinite

import orjson
import rfc8785

from tools.kernel.strict_json import KINDS, MAX_INTEGER, Json, integers_hold, levels_of, with_integers

_BELOW_F0 = bytes(range(0xF0))  # in UTF-8 a character beyond U+FFFF begins with a byte from F0 to F4
_PLAIN_FROM = 1e-5  # from here up to 2^53 both libraries write a fraction in its shortest digits, without exponent


class NotCanonical(ValueError):
    """A value without an RFC 8785 form.

    That is NaN, an infinity, an integer beyond ±(2^53-1), a lone surrogate, or a value that is not JSON.
    """


def canonical(value: Json) -> bytes:
    """Return the RFC 8785 form of `value`; raises NotCanonical if it has none.

    Every value that passes `strict_json.validate_tree` has one.
    """
    try:
        plain = _plain(value)
        return rfc8785.dumps(value) if plain is None else plain
    except (rfc8785.CanonicalizationError, TypeError, UnicodeEncodeError, RecursionError):
        raise NotCanonical("The value has no canonical JSON form (RFC 8785).") from None


def sha256_hex(raw: bytes) -> str:
    """Return the SHA-256 of `raw` as 64 lower-case hex digits."""
    return sha256(raw).hexdigest()


def _plain(value: Json) -> bytes | None:
    """Return the canonical form as orjson writes it; None if its bytes might differ."""
    whole_floats = False
    for level in levels_of(value):
        kinds = set(map(type, level))
        if not kinds <= KINDS or (int in kinds and not integers_hold(level)):
            return None
        if float in kinds:
            floats = [n for n in level if n.__class__ is float]
            whole = [n for n in floats if n.is_integer()]
            if any(abs(n) > MAX_INTEGER for n in whole) or (len(whole) < len(floats) and not _spelled_alike(floats)):
                return None
            whole_floats = whole_floats or bool(whole)
    written = orjson.dumps(with_integers(value) if whole_floats else value, option=orjson.OPT_SORT_KEYS)
    return None if _holds_astral(written) and _has_astral_key(value) else written


def _spelled_alike(floats: list[float]) -> bool:
    return all(abs(n) >= _PLAIN_FROM or n == 0 for n in floats) and all(map(isfinite, floats))


def _holds_astral(written: bytes) -> bool:
    """Check whether the text has a character beyond the Basic Multilingual Plane."""
    return not written.isascii() and bool(written.translate(None, _BELOW_F0))


def _has_astral_key(value: Json) -> bool:
    objects = (item for level in levels_of(value) for item in level if item.__class__ is dict)
    return any(max("".join(names), default="") > "\uffff" for names in objects)
