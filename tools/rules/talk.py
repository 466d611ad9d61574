"""How often one side of a thread may write while the other is silent."""

from dataclasses import dataclass
from datetime import datetime, timedelta

MOST_UNANSWERED = 10
PAUSE = timedelta(days=1)  # between two messages beyond that


@dataclass(frozen=True, slots=True)
class Run:
    """Messages one agent wrote in a row, without an answer."""

    by: str | None = None
    length: int = 0
    began_at: datetime | None = None
    last_at: datetime | None = None

    def after(self, sender: str, now: datetime) -> "Run":
        """The run once `sender` has written a message: its own grows, the other's ends."""
        if self.by != sender:
            return Run(sender, 1, now, now)
        return Run(sender, self.length + 1, self.began_at, now)

    def answered_by(self, sender: str) -> "Run":
        """The run once `sender` has done something that is no message of its own account: only the other's run ends."""
        return Run() if self.by != sender else self

    def opens_at(self, sender: str) -> datetime | None:
        """From when on `sender` may write again; None: at any time."""
        if self.by != sender or self.length < MOST_UNANSWERED or self.last_at is None:
            return None
        return self.last_at + PAUSE
