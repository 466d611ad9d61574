"""The limit on messages that one side of a thread writes while the other side does not answer."""

from dataclasses import dataclass
from datetime import datetime, timedelta

MAX_UNANSWERED = 10
PAUSE = timedelta(days=1)  # between two messages beyond that


@dataclass(frozen=True, slots=True)
class Run:
    """Messages that one agent wrote in a row, without an answer."""

    by: str | None = None
    length: int = 0
    began_at: datetime | None = None
    last_at: datetime | None = None

    def after(self, sender: str, now: datetime) -> "Run":
        """Return the run after a message by `sender`: its own grows, the other's ends."""
        if self.by != sender:
            return Run(sender, 1, now, now)
        return Run(sender, self.length + 1, self.began_at, now)

    def answered_by(self, sender: str) -> "Run":
        """Return the run after a note by `sender`, such as an action's: only the other's run ends."""
        return Run() if self.by != sender else self

    def opens_at(self, sender: str) -> datetime | None:
        """Return when `sender` may write again; None: at any time."""
        if self.by != sender or self.length < MAX_UNANSWERED or self.last_at is None:
            return None
        return self.last_at + PAUSE
