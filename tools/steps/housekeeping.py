"""Housekeeping: what is kept only for a time is forgotten, and what was noted in memory is written."""

from datetime import timedelta

from storage.discovery import forget_searches
from storage.door import forget_answers, forget_bodies, forget_signatures, forget_windows
from storage.events import forget_events
from storage.memory import forget_expired
from storage.webhooks import forget_deliveries, forget_hosts, forget_pushes
from tools.context import Context
from tools.rates import ALLOWANCES
from tools.rules.demand import SEARCH_DAYS, first_day
from tools.signers import USES_KEPT

ANSWERS_KEPT = timedelta(hours=24)
HOSTS_KEPT = timedelta(hours=2)
WINDOWS_KEPT = timedelta(hours=1, seconds=max(one.seconds for one in ALLOWANCES.values()))  # what is open still counts
EVENTS_KEPT = timedelta(days=90)
DELIVERIES_KEPT = timedelta(days=30)
BATCH = 500


def forget_old(ctx: Context) -> bool:
    """Delete a batch of what is older than it is kept: answers, windows, hosts, signatures, deliveries, webhooks of tasks, events, searches, memory; whether more wait."""
    kept = {
        forget_answers: ANSWERS_KEPT,
        forget_bodies: ANSWERS_KEPT,
        forget_windows: WINDOWS_KEPT,
        forget_hosts: HOSTS_KEPT,
        forget_signatures: USES_KEPT,
        forget_deliveries: DELIVERIES_KEPT,
        forget_events: EVENTS_KEPT,
    }
    forget = {query: ctx.now - time for query, time in kept.items()} | {forget_expired: ctx.now, forget_pushes: ctx.now}
    searches = ctx.tx.run(forget_searches, day=first_day(ctx.now.date(), SEARCH_DAYS), limit=BATCH)
    return max(searches, *(ctx.tx.run(query, before=before, limit=BATCH) for query, before in forget.items())) == BATCH
