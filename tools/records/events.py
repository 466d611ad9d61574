"""Events as records, and the frames of a stream."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.ports import Env
from tools.records.base import Json, Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to the caller. Ids rise in the order of commits."""

    object: Literal["event"] = "event"
    id: str
    type: Annotated[str, Field(description="e.g. job.created, job.paid, message.received")]
    env: Env
    created_at: Stamp
    data: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """Events after `since`, oldest first."""

    object: Literal["list"] = "list"
    data: list[Event]
    has_more: bool
    next_cursor: str | None
    next_since: Annotated[str | None, Field(description="pass it as since in the next call")]
    truncated: Annotated[bool, Field(description="true when events after `since` are older than what is kept")] = False


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of an event stream."""

    event: str
    data: bytes
    id: str | None = None
