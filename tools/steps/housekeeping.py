"""Housekeeping: what is kept only for a time is forgotten, and what was noted in memory is written."""

from datetime import timedelta

from storage.door import forget_answers, forget_bodies, forget_windows
from storage.events import forget_events
from storage.memory import forget_expired
from storage.webhooks import forget_deliveries, forget_hosts
from tools.context import Context

ANSWERS_KEPT = timedelta(hours=24)
WINDOWS_KEPT = timedelta(hours=2)
EVENTS_KEPT = timedelta(days=90)
DELIVERIES_KEPT = timedelta(days=30)
BATCH = 500


def forget_old(ctx: Context) -> bool:
    """Delete a batch of what is older than it is kept: answers, windows, hosts, deliveries, events, memory; whether more wait."""
    kept = {
        forget_answers: ANSWERS_KEPT,
        forget_bodies: ANSWERS_KEPT,
        forget_windows: WINDOWS_KEPT,
        forget_hosts: WINDOWS_KEPT,
        forget_deliveries: DELIVERIES_KEPT,
        forget_events: EVENTS_KEPT,
    }
    forget = {query: ctx.now - time for query, time in kept.items()} | {forget_expired: ctx.now}
    return max([ctx.tx.run(query, before=before, limit=BATCH) for query, before in forget.items()]) == BATCH
