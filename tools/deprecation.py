"""What is on its way out: since when, until when, and what to call instead. Every wire and document says it from here."""

from dataclasses import dataclass
from datetime import date, timedelta

NOTICE = timedelta(days=180)  # at the least, between the word and the end


@dataclass(frozen=True, slots=True)
class Deprecated:
    """Said of an operation: `@operation(…, deprecated=Deprecated(since, sunset, successor))`."""

    since: date
    sunset: date | None = None  # the day it may be gone; None: no day is set yet
    successor: str | None = None  # the operation to call instead

    def __post_init__(self) -> None:
        if self.sunset is not None and self.sunset - self.since < NOTICE:
            raise TypeError(f"{NOTICE.days} days of notice are promised, not {(self.sunset - self.since).days}")

    @property
    def sentence(self) -> str:
        """The notice as agents read it."""
        until = f"; it may be gone from {self.sunset} on" if self.sunset else ""
        instead = f" Call {self.successor} instead." if self.successor else ""
        return f"Deprecated since {self.since}{until}.{instead}"

    @property
    def record(self) -> dict[str, str | None]:
        """The same for programs."""
        sunset = None if self.sunset is None else self.sunset.isoformat()
        return {"since": self.since.isoformat(), "sunset": sunset, "successor": self.successor}

    def told_in(self, text: str) -> str:
        """A docstring with the notice in its first paragraph, which is what lists show."""
        first, *rest = text.split("\n", 1)
        return "\n".join([f"{first} {self.sentence}", *rest])
