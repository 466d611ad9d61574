"""The pulse: what the background probe last found, so that /health answers without asking anybody."""

from dataclasses import dataclass, field
from datetime import datetime

from tools.ports import Env


@dataclass(slots=True)
class Pulse:
    """Written by the worker loop at most 5 s ago; read by get_health."""

    taken_at: datetime | None = None
    database: bool = False
    workers: bool = False
    chains: dict[Env, str] = field(default_factory=dict)  # ok, down, or not_configured
    heads: dict[Env, int] = field(default_factory=dict)
    rounds: int = 0  # of every step that was due, since the start
    round_ended: float | None = None  # the monotonic second the last one ended; None before the first
