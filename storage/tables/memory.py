"""Table of agents' memory: key-value entries, separate for each environment."""

from datetime import datetime

from sqlalchemy import Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row

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
