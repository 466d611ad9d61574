"""Housekeeping: what is kept only for a time is forgotten, and what was noted in memory is written."""

from datetime import timedelta

from storage.door import forget_answers, forget_bodies, forget_windows
from storage.events import forget_events
from storage.webhooks import forget_deliveries, forget_hosts
from tools.context import Context

ANSWERS_KEPT = timedelta(hours=24)
WINDOWS_KEPT = timedelta(hours=2)
EVENTS_KEPT = timedelta(days=90)
DELIVERIES_KEPT = timedelta(days=30)
BATCH = 500


def forget_old(ctx: Context) -> bool:
    """Delete a batch of what is older than it is kept: answers, windows, hosts, deliveries, events; whether more wait."""
    kept = {
        forget_answers: ANSWERS_KEPT,
        forget_bodies: ANSWERS_KEPT,
        forget_windows: WINDOWS_KEPT,
        forget_hosts: WINDOWS_KEPT,
        forget_deliveries: DELIVERIES_KEPT,
        forget_events: EVENTS_KEPT,
    }
    return max([ctx.tx.run(query, before=ctx.now - time, limit=BATCH) for query, time in kept.items()]) == BATCH
