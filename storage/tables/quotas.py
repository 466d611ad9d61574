"""Tables of agents' memory, and of disk space: one counter per agent and environment, and the texts of single jobs."""

from datetime import datetime

from sqlalchemy import Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class RoomRow(Row, name="agent_storage"):
    """The bytes that count against an agent in one environment. Only `Tx.write_room` writes it."""

    agent_id: Mapped[str] = mapped_column(primary_key=True)
    env: Mapped[str] = mapped_column(primary_key=True)
    used: Mapped[int]


class JobTextRow(Row, name="job_texts"):
    """An input or output of one job. It is not shared, so that it can be deleted by itself."""

    job_id: Mapped[str] = mapped_column(primary_key=True)
    part: Mapped[str] = mapped_column(primary_key=True)  # "input", or "output/" and the revision
    text: Mapped[str]


BYTES = Text().with_variant(Text(collation="C"), "postgresql")  # keys sort by their bytes, whatever the server's locale


class MemoryRow(Row, name="memories", parts=[Index(None, "agent_id", "env", "expires_at")]):
    agent_id: Mapped[str] = mapped_column(primary_key=True)
    env: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(BYTES, primary_key=True)
    version: Mapped[int]
    size: Mapped[int]
    expires_at: Mapped[datetime | None] = mapped_column(index=True)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    value: Mapped[str]  # JSON; the last column, so that lists need not read past it
