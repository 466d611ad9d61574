"""When a schedule fires: once per due time; what was missed is skipped, along the times it was set for."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Firing:
    """What a firing leaves: how often it has run, and when it runs next (None: never again)."""

    run_count: int
    next_at: datetime | None


def fired(
    due_at: datetime, interval_seconds: int | None, max_runs: int | None, run_count: int, now: datetime
) -> Firing:
    """The schedule that was due at `due_at` once it has fired at `now`."""
    runs = run_count + 1
    if interval_seconds is None or (max_runs is not None and runs >= max_runs):
        return Firing(runs, None)
    return Firing(runs, next_after(due_at, interval_seconds, now))


def next_after(due_at: datetime, interval_seconds: int, now: datetime) -> datetime:
    """The first time later than `now` that is a whole number of intervals, at least one, after `due_at`."""
    interval = timedelta(seconds=interval_seconds)
    return due_at + interval * max(1, (now - due_at) // interval + 1)


def resumed(due_at: datetime, interval_seconds: int | None, now: datetime) -> datetime:
    """When a schedule that was paused is due next: recurring ones skip what passed, a single one is not lost."""
    if interval_seconds is None or due_at > now:
        return due_at
    return next_after(due_at, interval_seconds, now)
