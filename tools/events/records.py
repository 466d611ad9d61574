"""Records of events, and the frames of a stream."""

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
    """An event for the caller. Ids increase in commit order."""

    object: Literal["event"] = "event"
    id: str
    type: Annotated[str, Field(description="e.g. job.created, job.paid, message.received")]
    env: Env
    created_at: Stamp
    data: Annotated[dict[str, Json], Payload()]


Told: TypeAlias = tuple[int, str, int, str]  # a row: number, kind, microseconds since 1970, data as JSON


def written(page: Iterable[Told], env: str) -> str:
    """Return records of type Event as JSON text, separated by commas.

    Nothing needs to be escaped: ids, kinds and times are plain text, and data is JSON already.
    """
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
    truncated: Annotated[bool, Field(description="true: some events after `since` are no longer kept")] = False


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of an event stream."""

    event: str
    data: bytes
    id: str | None = None
