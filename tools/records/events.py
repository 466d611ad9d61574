"""Events as records, and the frames of a stream."""

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from tools.ports import Env
from tools.records.base import Json, Stamp, stamp_of
from tools.rules.ids import event_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to the caller. Ids rise in the order of commits."""

    object: Literal["event"] = "event"
    id: str
    type: Annotated[str, Field(description="e.g. job.created, job.paid, message.received")]
    env: Env
    created_at: Stamp
    data: dict[str, Json]


class Told(NamedTuple):
    """An event as its row keeps it: what a page of many is written from."""

    number: int
    kind: str
    at_microseconds: int  # since 1970
    data: str  # JSON

    def written(self, env: str) -> str:
        """The record Event as JSON text: its own words need no escapes, and its data is JSON already."""
        return (
            f'{{"object":"event","id":"{event_id(self.number)}","type":"{self.kind}","env":"{env}",'
            f'"created_at":"{stamp_of(self.at_microseconds)}","data":{self.data}}}'
        )


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
