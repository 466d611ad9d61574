"""Housekeeping: what is kept only for a time is forgotten, and what was noted in memory is written."""

from datetime import timedelta

from storage.door import forget_answers, forget_windows
from storage.events import forget_events
from storage.memory import forget_expired
from tools.context import Context

ANSWERS_KEPT = timedelta(hours=24)
WINDOWS_KEPT = timedelta(hours=2)
EVENTS_KEPT = timedelta(days=90)


def forget_old(ctx: Context) -> int:
    """Delete answers after 24 hours, counted windows after 2, events after 90 days, memory that expired; how many rows went."""
    gone = ctx.tx.run(forget_answers, before=ctx.now - ANSWERS_KEPT)
    gone += ctx.tx.run(forget_windows, before=ctx.now - WINDOWS_KEPT)
    gone += ctx.tx.run(forget_expired, now=ctx.now)
    return gone + ctx.tx.run(forget_events, before=ctx.now - EVENTS_KEPT)
