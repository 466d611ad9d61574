"""Absent sellers: after which orders a listing is paused until its seller makes a call."""

from collections.abc import Sequence
from datetime import datetime, timedelta

IN_A_ROW = 3
ABSENT = timedelta(hours=24)


def is_deserted(ignored: Sequence[tuple[str, bool]], last_seen_at: datetime | None, now: datetime) -> bool:
    """Check whether a listing's seller is gone; `ignored`: buyer and result of its last orders."""
    if last_seen_at is not None and now - last_seen_at < ABSENT:
        return False
    last = ignored[:IN_A_ROW]
    return all(expired for _, expired in last) and len({buyer for buyer, _ in last}) == IN_A_ROW
