"""Strict JSON parsing: refuses what two parsers could understand differently.

RFC 8259 leaves open what duplicate keys, integers beyond double precision and lone surrogates mean, and PostgreSQL
cannot store U+0000 in text. A signed or hashed document must have one meaning, so none of these is accepted.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain
from math import isfinite
from typing import Any, TypeAlias

import jiter
import orjson

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

MAX_DEPTH = 64
MAX_CONTAINERS = 50_000
MAX_LENIENT_DEPTH = 500  # the parser of the standard library recurses; this depth is safe
MAX_LENIENT_BYTES = 65_536
MAX_INTEGER = 2**53 - 1
_EXPONENT_FROM = 1e21  # RFC 8785 (ECMAScript) writes a double below this without an exponent
_CONTAINERS = {dict, list}
KINDS = {dict, list, str, int, float, bool, type(None)}
_DIGIT_SHAPES = bytes.maketrans(b"123456789E", b"000000000e")
# in _DIGIT_SHAPES, inside or outside of strings; the zeros come first, because a literal is found fast
_ZEROS = b"0" * 16
_LONG_NUMBER = re.compile(_ZEROS + rb"(?<=[\s:,\[-]0{16})")
_LARGE_EXPONENT = re.compile(rb"(?:^|[\s:,\[-])[0.]+e[+0]")
_KEY_SHOWN = 64
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_NOT_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_NOT_QUOTES = bytes(code for code in range(256) if code not in b'"[{')  # keeps quotes and what opens a container


class BadJson(ValueError):
    """A JSON value that is refused; `path` is dotted (`input.items.3`), "" for the document."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path


class MalformedJson(BadJson):
    """Bytes that are not a JSON text at all."""


def parse(raw: bytes, max_depth: int = MAX_DEPTH) -> Json:
    """Parse a JSON text strictly; the caller bounds its length.

    Raises BadJson for invalid UTF-8, a byte order mark, duplicate keys, NaN and Infinity, numbers beyond double range,
    integers beyond ±(2^53-1), lone surrogates, U+0000, nesting over `max_depth`, more than MAX_CONTAINERS objects and
    lists, and anything after the value. A number with a fraction or an exponent counts as an integer if RFC 8785 writes
    it as one: 1e17 is the same document as 100000000000000000.
    """
    if _holds_too_many(raw):  # before the tree is built, because building it is the costly part
        raise BadJson(f"The text holds more than {MAX_CONTAINERS} objects and lists.", "")
    try:
        value: Json = jiter.from_json(raw, allow_inf_nan=False, catch_duplicate_keys=True, cache_mode="keys")
        if _needs_validation(raw, max_depth):
            validate_tree(value, max_depth)
    except ValueError:
        return _read_explaining(raw, max_depth)
    return value


def validate_tree(value: object, max_depth: int = MAX_DEPTH) -> None:
    """Apply the rules of `parse` to a tree from another parser.

    Raises BadJson with the path of one fault.
    """
    levels: list[list[Any]] = []
    for level in levels_of(value):
        levels.append(level)
        _check_level(levels, leaves_only=len(levels) > max_depth)


def read_leniently(raw: bytes) -> Any:
    """Parse a refused text with the standard library, to find out what was meant.

    Raises ValueError if that fails. The library's parser recurses, and at a great depth the process would crash, so
    such texts are refused. Large texts are refused too, because a refusal must not cost more than what it refuses.
    """
    if len(raw) > MAX_LENIENT_BYTES or _holds_too_many(raw):
        raise ValueError("too large")
    brackets = _STRING.sub(b"", raw).translate(None, _NOT_BRACKETS)
    if max(accumulate(1 if one in b"[{" else -1 for one in brackets), default=0) > MAX_LENIENT_DEPTH:
        raise ValueError("too deep")
    return json.loads(raw)


def with_integers(value: Json) -> Json:
    """Copy a parsed JSON tree with all whole floats up to ±(2^53-1) as integers.

    JSON that went through protobuf's Struct has doubles only: 3 arrives as 3.0.
    """
    if isinstance(value, dict):
        return {key: with_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_integers(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_INTEGER:
        return int(value)
    return value


def levels_of(value: object) -> Iterator[list[Any]]:
    """Yield the levels of a tree from the top, to walk it without recursion.

    A level consists of the members of all containers of the level above, one container after the other.
    """
    level = [value]
    while level:
        yield level
        level = list(chain.from_iterable(map(_members, _outers(level))))


# --- parsing: jiter, then other parsers if the text is refused, because they show what is wrong and where -------------


def _holds_too_many(raw: bytes) -> bool:
    """Check for more than MAX_CONTAINERS objects and lists, not counting brackets in strings.

    The cost of building and walking a tree depends on their number.
    """
    if raw.count(b"{") + raw.count(b"[") <= MAX_CONTAINERS:
        return False
    quotes = raw.replace(rb"\\", b"").replace(rb"\"", b"").translate(None, _NOT_QUOTES).replace(b'""', b"")
    bare = b"".join(quotes.split(b'"')[::2])
    return len(bare) > MAX_CONTAINERS


def _needs_validation(raw: bytes, max_depth: int) -> bool:
    """Check whether the text may hold what jiter admits and `validate_tree` refuses.

    That is depth, U+0000, a number of 16 digits or with a non-negative exponent, also inside of strings.
    """
    if raw.count(b"{") + raw.count(b"[") > max_depth or b"\\u0000" in raw:
        return True
    shapes = raw.translate(_DIGIT_SHAPES)
    if _ZEROS in shapes and (shapes.startswith(_ZEROS) or _LONG_NUMBER.search(shapes)):
        return True
    return (b"0e0" in shapes or b"0e+" in shapes) and _LARGE_EXPONENT.search(shapes) is not None


def _read_explaining(raw: bytes, max_depth: int) -> Json:
    """Raise BadJson with the reason why a text is refused, and with its path.

    Returns the value if the text is refused only for what jiter cannot read.
    """
    try:
        validate_tree(orjson.loads(raw), max_depth)
        value: Json = json.loads(raw, object_pairs_hook=_object)
    except orjson.JSONDecodeError as error:
        raise MalformedJson(_why_malformed(raw, error)) from None
    except RecursionError:
        raise BadJson(_too_deep(max_depth)) from None
    validate_tree(value, max_depth)
    return value


def _why_malformed(raw: bytes, error: orjson.JSONDecodeError) -> str:
    if raw.startswith(b"\xef\xbb\xbf"):
        return "The JSON text starts with a byte order mark; send UTF-8 without one."
    try:
        raw.decode()
    except UnicodeDecodeError as broken:
        return f"The JSON text is not valid UTF-8 at byte {broken.start}."
    return f"The JSON text is malformed at line {error.lineno}, column {error.colno}: {error.msg.split(':')[0]}."


class _Doubled(dict[str, Any]):
    """An object in which `key` occurs twice."""

    key = ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            doubled = _Doubled(pairs)
            doubled.key = key
            return doubled
        members[key] = value
    return members


# --- checking a tree level by level: fast if all is valid; the place of a fault is found by halving -------------------


def _check_level(levels: list[list[Any]], leaves_only: bool) -> None:
    level = levels[-1]
    kinds = set(map(type, level))
    for kind, holds in _RULES:
        if (kind is None or kind in kinds) and not holds(level):
            place = _first_fault(level, holds)
            raise BadJson(_why_refused(level[place]), _path(levels, place))
    if kinds.isdisjoint(_CONTAINERS):
        return
    outers = _outers(level)
    if leaves_only:
        place = next(i for i, item in enumerate(level) if item is outers[0])
        raise BadJson(_too_deep(len(levels) - 1), _path(levels, place))
    _check_keys(levels, [outer for outer in outers if outer.__class__ is dict])


def _check_keys(levels: list[list[Any]], objects: list[Any]) -> None:
    keys = [key for item in objects for key in item]
    if _keys_hold(keys):
        return
    place = _first_fault(keys, _keys_hold)
    owner, place_in_owner = _owner(objects, place)
    position = next(i for i, item in enumerate(levels[-1]) if item is owner)
    key = keys[place]
    reason = (
        _why_text_refused(key) if isinstance(key, str) else f"An object's key must be text, not {type(key).__name__}."
    )
    raise BadJson(f"Key {place_in_owner + 1} of an object is refused. {reason}", _path(levels, position))


def _members(outer: Any) -> Iterable[Any]:
    return outer.values() if outer.__class__ is dict else outer


def _outers(level: list[Any]) -> list[Any]:
    return [item for item in level if item.__class__ in _CONTAINERS]


def _known_kinds(level: list[Any]) -> bool:
    return set(map(type, level)) <= KINDS


def _keys_hold(keys: list[Any]) -> bool:
    return set(map(type, keys)) <= {str} and _texts_hold(keys)


def _texts_hold(level: list[Any]) -> bool:
    text = "".join([item for item in level if item.__class__ is str])
    return "\0" not in text and (text.isascii() or _is_unicode(text))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def integers_hold(level: list[Any]) -> bool:
    numbers = [item for item in level if item.__class__ is int]
    return not numbers or (min(numbers) >= -MAX_INTEGER and max(numbers) <= MAX_INTEGER)


def _floats_hold(level: list[Any]) -> bool:
    numbers = [item for item in level if item.__class__ is float]
    return all(map(isfinite, numbers)) and not any(MAX_INTEGER < abs(item) < _EXPONENT_FROM for item in numbers)


# Each check with the type of value it is for; None: every type.
_RULES: tuple[tuple[type | None, Callable[[list[Any]], bool]], ...] = (
    (None, _known_kinds),
    (str, _texts_hold),
    (int, integers_hold),
    (float, _floats_hold),
)


def _first_fault(level: list[Any], holds: Callable[[list[Any]], bool]) -> int:
    """Return the index of the first item that fails, if the level as a whole fails `holds`."""
    low, high = 0, len(level)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(level[low:middle]) else (low, middle)
    return low


def _path(levels: list[list[Any]], place: int) -> str:
    """Return the dotted path of the item at `place` of the last level."""
    steps: list[str] = []
    for upper in reversed(levels[:-1]):
        owner, inside = _owner(_outers(upper), place)
        steps.append(_shown(list(owner)[inside]) if owner.__class__ is dict else str(inside))
        place = next(i for i, item in enumerate(upper) if item is owner)
    return ".".join(reversed(steps))


def _owner(outers: list[Any], place: int) -> tuple[Any, int]:
    """Find the container of the member at `place`, and the member's index in it.

    `place` counts the members of all containers, one after the other.
    """
    for outer in outers:
        if place < len(outer):
            return outer, place
        place -= len(outer)
    raise IndexError(place)


def _shown(key: object) -> str:
    text = str(key)[:_KEY_SHOWN].encode(errors="replace").decode()
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _why_refused(item: object) -> str:
    if isinstance(item, _Doubled):
        return f"The key '{_shown(item.key)}' stands twice in one object."
    if isinstance(item, str):
        return _why_text_refused(item)
    if isinstance(item, float) and not isfinite(item):
        return "NaN and Infinity are not JSON numbers."
    if isinstance(item, (int, float)):
        return "An integer beyond ±(2^53-1) is not admitted; send it as a string."
    return f"A {type(item).__name__} is not a JSON value."


def _why_text_refused(text: str) -> str:
    if "\0" in text:
        return "The character U+0000 is not admitted in text."
    return "A lone surrogate is not a character: text must be valid Unicode."


def _too_deep(max_depth: int) -> str:
    return f"The document is nested more than {max_depth} levels deep."


def is_trivially_valid(arguments: dict[str, Json]) -> bool:
    """Check whether all arguments are ASCII texts and small integers, as in most reads.

    `validate_tree` has nothing to find in them.
    """
    words = [*arguments]
    for value in arguments.values():
        if value.__class__ is str:
            words.append(value)
        elif value.__class__ is not int or not -MAX_INTEGER <= value <= MAX_INTEGER:
            return False
    text = "".join(words)
    return text.isascii() and "\0" not in text
