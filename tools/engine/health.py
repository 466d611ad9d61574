"""The last findings of the background probe, so that /health answers without asking other systems."""

from dataclasses import dataclass, field
from datetime import datetime

from storage.vocabulary import Env


@dataclass(slots=True)
class HealthSnapshot:
    """Health findings, written by the worker loop at most 5 s ago and read by get_health."""

    taken_at: datetime | None = None
    database: bool = False
    workers: bool = False
    chains: dict[Env, str] = field(default_factory=dict)  # ok, down, or not_configured
    heads: dict[Env, int] = field(default_factory=dict)
    disk_low: bool = False  # the database's disk has less than MIN_FREE_DISK_MB free
    rounds: int = 0  # rounds of all due steps since the start
    round_ended: float | None = None  # monotonic second at which the last round ended; None before the first
