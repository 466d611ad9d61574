"""Tables of disk space: one counter per agent and environment, and the texts of single jobs."""

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
