"""Memory as records: a value, and the line a list shows of it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.kernel.records import Json, PlainPage, Stamp
from tools.kernel.text_authors import Own

Version = Annotated[
    int,
    Field(description="rises with every write and never comes back, not even after a deletion; pass it as if_version"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryKey:
    """A key you keep something under, without the value."""

    object: Literal["memory"] = "memory"
    key: Own[str]
    size: Annotated[int, Field(description="bytes of the value as JSON")]
    version: Version
    expires_at: Stamp | None
    created_at: Stamp
    updated_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(MemoryKey):
    """A value you keep."""

    value: Annotated[Own[Json], Field(description="any JSON, as you stored it")]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPage(PlainPage[MemoryKey]):
    """One page of keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDeleted:
    """The result of a deletion."""

    object: Literal["memory"] = "memory"
    key: Own[str]
    deleted: Annotated[bool, Field(description="false: there was nothing under this key")]
