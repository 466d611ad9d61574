"""Table of search terms of registered agents, for the demand statistics; kept for thirty days."""

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class SearchedRow(Row, name="searches", parts=[Index(None, "day"), Index(None, "env", "day", "client")]):
    """A term that one client searched for on one day.

    The row does not reveal the client, nor its searches on another day.
    """

    env: Mapped[str] = mapped_column(primary_key=True)
    day: Mapped[str] = mapped_column(primary_key=True)  # 2026-11-22, UTC
    term: Mapped[str] = mapped_column(primary_key=True)
    client: Mapped[str] = mapped_column(primary_key=True)  # keyed hash of agent and day
    searches: Mapped[int]
    zero_results: Mapped[int]
