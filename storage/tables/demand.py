"""What registered agents looked for: for the view of demand, for thirty days."""

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class SearchedRow(Row, name="searches", parts=[Index(None, "day"), Index(None, "env", "day", "client")]):
    """A term one client searched on one day. Who the client is cannot be told from it, nor whether it is another day's."""

    env: Mapped[str] = mapped_column(primary_key=True)
    day: Mapped[str] = mapped_column(primary_key=True)  # 2026-11-22, UTC
    term: Mapped[str] = mapped_column(primary_key=True)
    client: Mapped[str] = mapped_column(primary_key=True)  # keyed hash of agent and day
    searches: Mapped[int]
    zero_results: Mapped[int]
