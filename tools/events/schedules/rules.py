"""Times at which a schedule fires: once per due time. Missed times are skipped, without shifting later ones."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class ScheduleRun:
    """A schedule after it has fired: its number of runs, and its next time (None: never)."""

    run_count: int
    next_at: datetime | None


def fired(
    due_at: datetime, interval_seconds: int | None, max_runs: int | None, run_count: int, now: datetime
) -> ScheduleRun:
    """Return the schedule that was due at `due_at` after it has fired at `now`."""
    runs = run_count + 1
    if interval_seconds is None or (max_runs is not None and runs >= max_runs):
        return ScheduleRun(runs, None)
    return ScheduleRun(runs, next_after(due_at, interval_seconds, now))


def next_after(due_at: datetime, interval_seconds: int, now: datetime) -> datetime:
    """Return the first time after `now` that is a whole number of intervals past `due_at`.

    The number is at least one.
    """
    interval = timedelta(seconds=interval_seconds)
    return due_at + interval * max(1, (now - due_at) // interval + 1)


def next_due(due_at: datetime, interval_seconds: int | None, now: datetime) -> datetime:
    """Return when a resumed schedule is due next.

    A recurring schedule skips the times that have passed. A single one still fires.
    """
    if interval_seconds is None or due_at > now:
        return due_at
    return next_after(due_at, interval_seconds, now)
