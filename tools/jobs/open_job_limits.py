"""Limits on unfinished jobs per listing and per buyer; jobs past a deadline are moved on before an order is refused."""

from storage.jobs import (
    KNOWN_FROM,
    is_known,
    lapsed_places,
    places_taken,
    places_taken_by,
    places_taken_by_newcomers,
    seen_lapsed,
    unfinished_of,
)
from storage.query import Query
from storage.tables import AgentRow, JobRow, ListingRow
from tools.engine.context import TxContext
from tools.jobs.errors import JobLimit, SellerBusy
from tools.jobs.logic import run_clock
from tools.jobs.snapshot import load
from tools.kernel.money import DUST_MINOR
from tools.kernel.plurals import counted

MAX_LAPSED = 200  # jobs that one order moves on; a sweep moves the rest
NO_LISTING = ""
LIFTED = (
    f"A payment of 0.01 USDC or more to this seller, or to each of {KNOWN_FROM} others, lifts this; a refund undoes it."
)


def take_place(ctx: TxContext, listing: ListingRow) -> None:
    """Raise SellerBusy or JobLimit if the listing or the buyer is at its limit.

    Before it raises, jobs that are past a deadline are moved on, which may free a place.
    """
    _take_turn(ctx)
    try:
        _judge(ctx, listing)
    except (SellerBusy, JobLimit):
        if not _move_on(ctx, listing.id):
            raise
        _judge(ctx, listing)


def judge_place(ctx: TxContext, listing: ListingRow) -> None:
    """Make the same check without writing; pass if jobs past a deadline may free a place."""
    if not _lapsed(ctx, seen_lapsed, listing.id):
        _judge(ctx, listing)


def take_job(ctx: TxContext) -> None:
    """Raise JobLimit if the caller cannot buy another job that has no listing."""
    _take_turn(ctx)
    try:
        _judge_buyer(ctx)
    except JobLimit:
        if not _move_on(ctx, NO_LISTING):
            raise
        _judge_buyer(ctx)


def _take_turn(ctx: TxContext) -> None:
    """Lock the buyer, so that its concurrent orders are counted one at a time."""
    ctx.tx.get(AgentRow, ctx.agent, lock=True)


def _judge(ctx: TxContext, listing: ListingRow) -> None:
    taken = ctx.tx.one(places_taken, listing_id=listing.id) or 0
    if taken >= listing.max_open_jobs:
        raise SellerBusy(
            f"of this listing's {counted(listing.max_open_jobs, 'place')} none is free", retry_after_seconds=60
        )
    held = ctx.tx.one(places_taken_by, listing_id=listing.id, buyer_id=ctx.agent) or 0
    share = (listing.max_open_jobs + 1) // 2
    if held >= share:
        raise SellerBusy(
            f"you hold {counted(held, 'place')} of this listing; one buyer holds at most {share}",
            retry_after_seconds=60,
        )
    if listing.price != 0:
        _judge_newcomer(ctx, listing, held, share)
    _judge_buyer(ctx)


def _judge_newcomer(ctx: TxContext, listing: ListingRow, held: int, share: int) -> None:
    """Raise SellerBusy if a buyer that is new to this seller is over its limits.

    A buyer is known if it has paid this seller or KNOWN_FROM others, net of refunds. Otherwise it may hold one place of
    a priced listing, and all such buyers together half of the places.
    """
    if ctx.tx.one(is_known, buyer_id=ctx.agent, seller_id=listing.seller_id, env=ctx.env, least=DUST_MINOR) is not None:
        return
    if held:
        raise SellerBusy(
            "until it has paid this seller a buyer holds one place of a priced listing",
            hint=f"Finish or cancel your order of this listing first. {LIFTED}",
            retry_after_seconds=60,
        )
    taken = ctx.tx.one(places_taken_by_newcomers, listing_id=listing.id, least=DUST_MINOR) or 0
    if taken >= share:
        raise SellerBusy(
            f"the {counted(share, 'place')} for buyers that have never paid this seller are taken",
            hint=f"Try again in a while. {LIFTED}",
            retry_after_seconds=60,
        )


def _judge_buyer(ctx: TxContext) -> None:
    unfinished, most = (
        ctx.tx.one(unfinished_of, buyer_id=ctx.agent, env=ctx.env) or 0,
        ctx.config.limits.unfinished_jobs,
    )
    if unfinished >= most:
        raise JobLimit(f"you have {unfinished} unfinished jobs, at most {most} are allowed", limit=most)


def _move_on(ctx: TxContext, listing_id: str) -> int:
    """Make the clock's due moves on the jobs that hold these places; return how many were made."""
    rows = _lapsed(ctx, lapsed_places, listing_id)
    return sum(run_clock(ctx, load(ctx.tx, row)).row is not row for row in rows)


def _lapsed(ctx: TxContext, query: Query[JobRow], listing_id: str) -> list[JobRow]:
    return ctx.tx.all(query, listing_id=listing_id, buyer_id=ctx.agent, env=ctx.env, until=ctx.now, limit=MAX_LAPSED)
