"""Base of all records: their JSON text and their JSON Schema.

A record is a frozen dataclass: `object` names its kind, money is an integer in minor units with a display string,
a time is ISO-8601 UTC text with milliseconds.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache, lru_cache
from hashlib import sha256
from types import GenericAlias
from typing import Annotated, Any, Final, Generic, Literal, TypeVar, cast, get_args, get_type_hints

import orjson
from pydantic import Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from tools.kernel.money import display_or_none
from tools.kernel.text_authors import Ours

T = TypeVar("T")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The parts of stamps, because looking them up takes a fifth of the time of formatting.
_MINUTES = tuple(f"{hour:02d}:{minute:02d}:" for hour in range(24) for minute in range(60))
_SECONDS = tuple(f"{second:02d}." for second in range(60))
_THOUSANDTHS = tuple(f"{number:03d}Z" for number in range(1000))
Json = Any  # a JSON value; may hold orjson.Fragment: JSON text spliced in as it is
MONEY: Final = "money"  # marks an amount in minor units
Minor = Annotated[int, MONEY, Field(description="USDC minor units: 1000000 = 1 USDC")]
SHOWN_ONCE = "shown once"  # marks a field that holds a secret
REVEALED = "revealed"  # marks a field that a call can reveal, and that a dry run of the call must not
Stamp = Annotated[str, Field(json_schema_extra={"format": "date-time"}, description="ISO-8601 UTC")]


@dataclass(frozen=True, slots=True)
class Bulk:
    """A mark for a value of any size, which is left out when it is large.

    `uri`: the address to read it from, filled with its record's members.
    """

    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Foremost:
    """A mark for a member that only the first `count` records of a list have.

    The other records have enough members to ask for them.
    """

    count: int


ONE_ALONE: Final = "left out of lists"
_PLAIN = frozenset({str, int, bool, type(None)})
Bulky = Annotated[T, Bulk()]
Alone = Annotated[T, ONE_ALONE]  # shown in a single record, left out of each record in a list


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """A record with amounts: a member `x_display` is always made from the amount `x`."""

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, shown in amounts_in_words(kind):
            object.__setattr__(self, shown, display_or_none(getattr(self, name)))


@dataclass(frozen=True, slots=True)
class Existing(Generic[T]):
    """A record that an earlier call has made: this call answers 200, not 201."""

    record: T


@dataclass(frozen=True, slots=True)
class Ready:
    """A record as its JSON text, from a cache, with its ETag if that is cached too."""

    body: bytes
    tag: bytes | None = None


class _DataOfItsType:
    """Base that gives `class JobPage(PlainPage[Job])` the annotation `data: list[Job]`.

    Schemas are made from annotations.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for base in cls.__dict__.get("__orig_bases__", ()):
            cls.__annotations__["data"] = GenericAlias(list, get_args(base))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainPage(_DataOfItsType, Generic[T]):
    """One page of a list that needs no hint."""

    object: Literal["list"] = "list"
    data: list[T]
    has_more: bool
    next_cursor: Annotated[str | None, Field(description="pass it as cursor for the next page")]


@dataclass(frozen=True, slots=True, kw_only=True)
class HintedPage(PlainPage[T]):
    """One page of a list that explains an empty result."""

    hint: Annotated[Ours[str | None], Field(description="what to do with an empty result")] = None


@dataclass(frozen=True, kw_only=True)  # no slots: see `made_of`
class Step:
    """A call worth making next, with its arguments filled in."""

    action: str
    why: Ours[str]
    tool: Annotated[str | None, Field(description="the MCP tool and A2A skill")] = None
    arguments: Ours[dict[str, Json]] = field(default_factory=dict)
    method: str | None = None
    path: str | None = None
    deadline: Stamp | None = None
    body: Ours[dict[str, Json] | None] = None


@cache
def with_steps(kind: Any) -> Any:
    """Return the record type with a member for the calls that are worth making next."""
    names = {"__annotations__": {"next_steps": list[Step]}, "__doc__": kind.__doc__, "__module__": __name__}
    return dataclass(frozen=True, slots=True, kw_only=True)(type(f"{kind.__name__}Changed", (kind,), names))


def and_steps(record: Any, found: list[Step]) -> Any:
    """Convert a record to `with_steps` of its type, with these steps."""
    kind: Any = type(record)
    values = {one.name: getattr(record, one.name) for one in fields(record)}
    return with_steps(kind)(**values, next_steps=found)


def record_from(kind: type[T], source: Any, **others: Any) -> T:
    """Make a record from the values of a row that have the record's names, and from `others`.

    Times become stamps and words of an enumeration become text.
    """
    for name in _shared_names(kind, source):
        if name not in others:
            value = getattr(source, name)
            others[name] = value if type(value) in _PLAIN else _shown(value)
    return made_of(kind, others)


_SHARED: dict[tuple[type, type], tuple[str, ...]] = {}


def _shared_names(kind: type, source: Any) -> tuple[str, ...]:
    """Return the names that a record and all sources of this one's type have in common."""
    types = kind, type(source)
    found = _SHARED.get(types)
    if found is None:
        names = (one.name for one in fields(cast(Any, kind)) if one.name != "object")
        found = _SHARED[types] = tuple(name for name in names if hasattr(source, name))
    return found


def made_of(kind: type[T], values: Mapping[str, Any]) -> T:
    """Make a record as `kind(**values)` does, but faster if it has no slots.

    Frozen dataclasses set each field with a call. orjson reads slots in such a way too, and a __dict__ four times as
    fast. So the records of long lists have no slots.
    """
    template = _template(cast(Any, kind))
    filled = {**template, **values}
    if not template or len(filled) > len(template) or MISSING in filled.values():
        return kind(**values)
    record: Any = object.__new__(kind)
    record.__dict__.update(filled)
    if isinstance(record, Priced):
        record.__post_init__()
    return cast(T, record)


@cache
def _template(kind: Any) -> dict[str, Any]:
    """Return the defaults of a record's fields in their order; nothing if it has slots."""
    return {} if "__slots__" in kind.__dict__ else {one.name: one.default for one in fields(kind)}


def _shown(value: Any) -> Json:
    if isinstance(value, datetime):
        return stamp(value)
    return value.value if isinstance(value, StrEnum) else value


@cache
def amounts_in_words(kind: Any) -> tuple[tuple[str, str], ...]:
    """Return the amounts of a record that have a display string, each with that member's name."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple((name, f"{name}_display") for name in hints if f"{name}_display" in hints)


def with_words(data: dict[str, Json], kind: type) -> dict[str, Json]:
    """Add the display strings of the amounts to the data of an event."""
    return data | {shown: display_or_none(data[name]) for name, shown in amounts_in_words(kind) if name in data}


def shortened(text: str, most: int) -> str:
    """Return the text with at most this many characters; a longer one ends with three dots."""
    return text if len(text) <= most else text[: most - 3] + "..."


def shown_columns(row: object, *names: str) -> dict[str, Any]:
    """Return these columns of a row as records show them: times as text, enum members as words."""
    return {name: _shown(getattr(row, name)) for name in names}


def stamp(at: datetime) -> str:
    """Format a time like `2026-11-21T03:51:07.123Z`."""
    since = at - EPOCH
    return _stamp(since.days, since.seconds, since.microseconds)


def stamp_of(microseconds: int) -> str:
    """Format the microseconds since 1970 of a row like `stamp`."""
    seconds, rest = divmod(microseconds, 1_000_000)
    return f"{_second(seconds)}{_THOUSANDTHS[rest // 1000]}"


@lru_cache(4096)  # events that are read together often happened in the same second
def _second(seconds: int) -> str:
    return _stamp(*divmod(seconds, 86_400), 0)[:-4]


def stamp_or_none(at: datetime | None) -> str | None:
    return None if at is None else stamp(at)


def _stamp(days: int, seconds: int, microseconds: int) -> str:
    minute, second = divmod(seconds, 60)
    return f"{_date(days)}{_MINUTES[minute]}{_SECONDS[second]}{_THOUSANDTHS[microseconds // 1000]}"


@lru_cache(4096)
def _date(days: int) -> str:
    return (EPOCH + timedelta(days=days)).isoformat()[:11]


def etag(body: bytes) -> bytes:
    """Return a strong ETag: 96 bits of the body's SHA-256, which processors compute fast.

    Source: RFC 9110, section 8.8.3.
    """
    return b'"' + sha256(body, usedforsecurity=False).hexdigest()[:24].encode() + b'"'


def encode(record: object) -> bytes:
    """Return the record's JSON text."""
    return record.body if isinstance(record, Ready) else orjson.dumps(record)


def spliced(text: str | bytes | None) -> Json:
    """Wrap JSON text as a value inside a record, without parsing it."""
    return None if text is None else orjson.Fragment(text)


class Untitled(GenerateJsonSchema):
    """A schema generator without pydantic's titles.

    They repeat the names and take a fifth of the bytes of tools/list.
    """

    def generate(self, schema: Any, mode: Any = "validation") -> Any:
        return _without_titles(super().generate(schema, mode))


@cache
def record_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a record as it is answered."""
    return TypeAdapter(kind).json_schema(mode="serialization", schema_generator=Untitled)


def _without_titles(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_titles(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    named = ("properties", "$defs")
    return {
        name: {key: _without_titles(part) for key, part in value.items()} if name in named else _without_titles(value)
        for name, value in schema.items()
        if not (name == "title" and isinstance(value, str))
    }
