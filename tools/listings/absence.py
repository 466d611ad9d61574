"""Listings of absent sellers: ranked last, paused by the market, and back again at their seller's next call."""

from collections.abc import Iterable

from storage.jobs import latest_orders
from storage.listing_search import move_seen, seen_until_now, unseen_of
from storage.listings import paused_by_market
from storage.search_tokens import LEAST_ABSENCE, seen_until
from storage.tables import AgentRow, ListingRow
from storage.vocabulary import ClosedAs, ListingStatus
from tools.engine.context import TxContext
from tools.events.listing_payloads import ListingPaused
from tools.listings.absence_rules import IN_A_ROW, is_deserted
from tools.listings.logic import INDEXED_AT_ONCE, index


def pause_deserted(ctx: TxContext, listing_id: str) -> None:
    """Pause a listing if its seller is gone, after one of its orders has expired."""
    row = ctx.tx.get(ListingRow, listing_id, lock=True)
    if row is None or row.status is not ListingStatus.ACTIVE:
        return
    orders = ctx.tx.all(latest_orders, listing_id=listing_id, limit=IN_A_ROW)
    ignored = [(buyer, end == ClosedAs.ACCEPT_TIMEOUT and quoted is None) for _, buyer, end, quoted in orders]
    if not is_deserted(ignored, ctx.tx.need(AgentRow, row.seller_id).last_seen_at, ctx.now):
        return
    index(ctx.tx, ctx.tx.change(row, status=ListingStatus.PAUSED, paused_by="market", updated_at=ctx.now))
    told: ListingPaused = {
        "listing_id": row.id,
        "title": row.title,
        "paused_by": "market",
        "expired": [job_id for job_id, *_ in orders],
    }
    ctx.emit(row.seller_id, row.env, "listing.paused", told)


def resume_listings(ctx: TxContext, sellers: Iterable[str]) -> None:
    """Offer the listings again that the market paused while these sellers made no call."""
    for listing_id in ctx.tx.all(paused_by_market, sellers=sorted(set(sellers))):
        row = ctx.tx.get(ListingRow, listing_id, lock=True)
        if row is not None and row.paused_by == "market":
            index(ctx.tx, ctx.tx.change(row, status=ListingStatus.ACTIVE, paused_by=None, updated_at=ctx.now))


def rank_unseen(ctx: TxContext) -> bool:
    """Rank a batch of listings last whose sellers made no call for too long.

    Returns False if none was due.
    """
    due = ctx.tx.all(seen_until_now, now=ctx.now, limit=INDEXED_AT_ONCE)
    for listing_id in sorted(due):
        row = ctx.tx.need(ListingRow, listing_id)
        last_seen = ctx.tx.need(AgentRow, row.seller_id).last_seen_at
        until = seen_until(row, max(last_seen or row.updated_at, row.updated_at))
        move_seen(ctx.tx, listing_id, until if until > ctx.now else None)
    return bool(due)


def rank_seen(ctx: TxContext, sellers: Iterable[str]) -> None:
    """Rank the listings of sellers that made a call among the others again."""
    for listing_id in ctx.tx.all(unseen_of, sellers=sorted(set(sellers))):
        move_seen(ctx.tx, listing_id, ctx.now + LEAST_ABSENCE)  # the time that counts is computed when this one ends
