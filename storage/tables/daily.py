"""Table of the figures of the whole market by day."""

from sqlalchemy.orm import Mapped, mapped_column

from storage.rows import Row


class DailyCountRow(Row, name="daily_counts"):
    """A count of one UTC day in one environment. Only `Tx.write_counts` writes it."""

    env: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)  # a word of Counted; a status or an outcome follows after a dot
    day: Mapped[int] = mapped_column(primary_key=True)  # days since 1970-01-01, UTC
    at: Mapped[int] = mapped_column(primary_key=True)  # seconds of a duration, rounded down; 0 for other counts
    number: Mapped[int]
