"""Table of events, numbered in the order of their commits."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class EventRow(Row, name="events", parts=[Index(None, "agent_id", "env", "id")]):
    id: Mapped[int] = mapped_column(primary_key=True)
    agent_id: Mapped[str]
    env: Mapped[str]
    kind: Mapped[str]
    data: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(index=True)
