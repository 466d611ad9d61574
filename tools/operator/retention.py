"""Housekeeping: deletes rows whose retention period is over."""

from datetime import timedelta
from typing import Any

from storage.discovery import forget_searches
from storage.events import forget_deliveries, forget_events, forget_hosts, forget_pushes
from storage.query import Query
from storage.quotas import forget_expired
from storage.requests import forget_answers, forget_bodies, forget_signatures, forget_windows
from tools.engine.context import TxContext
from tools.engine.rate_limits import ALLOWANCES
from tools.engine.request_signatures import USES_KEPT
from tools.jobs.stored_texts import BATCH as TEXTS
from tools.jobs.stored_texts import forget_unpaid
from tools.listings.search_rules import SEARCH_DAYS, first_day

ANSWERS_KEPT = timedelta(hours=24)
HOSTS_KEPT = timedelta(hours=2)
WINDOWS_KEPT = timedelta(hours=1, seconds=max(one.seconds for one in ALLOWANCES.values()))  # no open window is deleted
EVENTS_KEPT = timedelta(days=90)
DELIVERIES_KEPT = timedelta(days=30)
BATCH = 500


def forget_old(ctx: TxContext) -> bool:
    """Delete a batch of each kind of expired row; return whether more may remain.

    The kinds are stored answers, rate limit windows, hosts, signatures, deliveries, webhooks of tasks, events,
    searches, memory entries and the texts of unpaid jobs.
    """
    kept = {
        forget_answers: ANSWERS_KEPT,
        forget_windows: WINDOWS_KEPT,
        forget_hosts: HOSTS_KEPT,
        forget_signatures: USES_KEPT,
        forget_deliveries: DELIVERIES_KEPT,
    }
    forget = {query: ctx.now - time for query, time in kept.items()} | {forget_pushes: ctx.now}
    counted = {forget_bodies: ANSWERS_KEPT, forget_events: EVENTS_KEPT, forget_expired: timedelta()}
    freed = max(_free(ctx, query, time) for query, time in counted.items())
    searches = ctx.tx.run(forget_searches, day=first_day(ctx.now.date(), SEARCH_DAYS), limit=BATCH)
    full = forget_unpaid(ctx) == TEXTS
    return (
        full
        or max(searches, freed, *(ctx.tx.run(query, before=before, limit=BATCH) for query, before in forget.items()))
        == BATCH
    )


def _free(ctx: TxContext, query: Query[Any], kept: timedelta) -> int:
    """Delete a batch of rows and subtract their bytes from agents' storage; return their number."""
    rows = ctx.tx.all(query, before=ctx.now - kept, limit=BATCH)
    for agent_id, env, size in rows:
        if agent_id is not None:
            ctx.tx.count_bytes(agent_id, env, -size)
    return len(rows)
