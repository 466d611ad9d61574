"""Threads agents talk in, and their messages."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class ThreadRow(Row, name="threads"):
    id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    env: Mapped[str]
    kind: Mapped[str]
    job_id: Mapped[str | None] = mapped_column(index=True)
    a: Mapped[str] = mapped_column(index=True)
    b: Mapped[str] = mapped_column(index=True)
    created_at: Mapped[datetime]


class MessageRow(Row, name="messages", parts=[Index(None, "thread_id", "id")]):
    id: Mapped[str] = mapped_column(primary_key=True)
    thread_id: Mapped[str]
    sender_id: Mapped[str | None]  # None: the platform
    body: Mapped[str]
    data: Mapped[str | None]
    content_warnings: Mapped[str]
    created_at: Mapped[datetime]
