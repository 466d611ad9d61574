"""Deprecations: since when, until when, and what to call instead. Every protocol and document reads them here."""

from dataclasses import dataclass
from datetime import date, timedelta

NOTICE = timedelta(days=180)  # at least, between the announcement and the removal


@dataclass(frozen=True, slots=True)
class Deprecated:
    """A deprecation: `@operation(…, deprecated=Deprecated(since, sunset, successor))`."""

    since: date
    sunset: date | None = None  # the earliest day of removal; None: not decided
    successor: str | None = None  # the operation to call instead

    def __post_init__(self) -> None:
        if self.sunset is not None and self.sunset - self.since < NOTICE:
            raise TypeError(f"{NOTICE.days} days of notice are promised, not {(self.sunset - self.since).days}")

    @property
    def sentence(self) -> str:
        """The notice for agents."""
        until = f"; it may be gone from {self.sunset} on" if self.sunset else ""
        instead = f" Call {self.successor} instead." if self.successor else ""
        return f"Deprecated since {self.since}{until}.{instead}"

    @property
    def record(self) -> dict[str, str | None]:
        """The notice as a JSON record."""
        sunset = None if self.sunset is None else self.sunset.isoformat()
        return {"since": self.since.isoformat(), "sunset": sunset, "successor": self.successor}

    def told_in(self, text: str) -> str:
        """Return a docstring with the notice added to its first line, which lists show."""
        first, *rest = text.split("\n", 1)
        return "\n".join([f"{first} {self.sentence}", *rest])
