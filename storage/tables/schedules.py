"""Table of schedules: when an agent wants to be woken."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row
from storage.vocabulary import ScheduleStatus

SCHEDULE_PARTS = [
    Index(None, "agent_id", "env", "id"),
    Index(None, "agent_id", "env", "status", "id"),
    Index(None, "status", "next_at", "id"),
]


class ScheduleRow(Row, name="schedules", parts=SCHEDULE_PARTS):
    id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    agent_id: Mapped[str]
    env: Mapped[str]
    name: Mapped[str | None]
    status: Mapped[ScheduleStatus] = mapped_column(default=ScheduleStatus.ACTIVE)
    next_at: Mapped[datetime | None]  # None: done
    interval_seconds: Mapped[int | None]  # None: once
    max_runs: Mapped[int | None]
    run_count: Mapped[int] = mapped_column(default=0)
    last_run_at: Mapped[datetime | None] = mapped_column(default=None)
    payload: Mapped[str]  # JSON
    created_at: Mapped[datetime]
