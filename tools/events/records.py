"""Events as records, and the frames of a stream."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from storage.vocabulary import Env
from tools.kernel.ids import event_id
from tools.kernel.records import Json, Stamp, stamp_of
from tools.kernel.text_authors import Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to the caller. Ids rise in the order of commits."""

    object: Literal["event"] = "event"
    id: str
    type: Annotated[str, Field(description="e.g. job.created, job.paid, message.received")]
    env: Env
    created_at: Stamp
    data: Annotated[dict[str, Json], Payload()]


Told: TypeAlias = tuple[int, str, int, str]  # as its row keeps it: number, kind, microseconds since 1970, data as JSON


def written(page: Iterable[Told], env: str) -> str:
    """The records Event as JSON text, parted by commas: their own words need no escapes, and their data is JSON already."""
    within = f'","env":"{env}","created_at":"'
    return ",".join([
        f'{{"object":"event","id":"{event_id(number)}","type":"{kind}{within}{stamp_of(at)}","data":{data}}}'
        for number, kind, at, data in page
    ])  # fmt: skip


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
