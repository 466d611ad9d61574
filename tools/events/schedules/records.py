"""Records of schedules."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.kernel.records import Json, PlainPage, Stamp
from tools.kernel.text_authors import Ours, Own

HOW_IT_FIRES = "At run_at you get one event schedule.fired with your payload: read it with list_events or the stream."


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A wake-up you have set, once or recurring."""

    object: Literal["schedule"] = "schedule"
    id: str
    name: Own[str | None]
    status: Literal["active", "paused", "done"]
    run_at: Annotated[Stamp | None, Field(description="when it fires next; null once it is done")]
    interval_seconds: Annotated[int | None, Field(description="null: it fires once")]
    max_runs: int | None
    run_count: int
    last_run_at: Stamp | None
    payload: Own[Json]
    how_it_fires: Ours[str] = HOW_IT_FIRES
    env: Literal["live", "test"]
    created_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePage(PlainPage[Schedule]):
    """One page of schedules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDeleted:
    """A deleted schedule."""

    object: Literal["schedule"] = "schedule"
    id: str
    deleted: Literal[True] = True
