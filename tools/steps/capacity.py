"""Places: how many unfinished jobs a listing and a buyer may hold, judged by the clock whether or not a sweep has run."""

from storage.jobs import lapsed_places, places_taken, places_taken_by, seen_lapsed, unfinished_of
from storage.query import Query
from storage.tables import AgentRow, JobRow, ListingRow
from tools.context import Context
from tools.errors import JobLimit, SellerBusy
from tools.rules.counted import counted
from tools.steps.jobs import run_clock, see

MOST_LAPSED = 200  # moved on for one order; the sweep takes the rest
NO_LISTING = ""


def take_place(ctx: Context, listing: ListingRow) -> None:
    """Refuse an order for which the listing, or its buyer, has no place; what holds one beyond its time gives it up first."""
    _take_turn(ctx)
    try:
        _judge(ctx, listing)
    except (SellerBusy, JobLimit):
        if not _move_on(ctx, listing.id):
            raise
        _judge(ctx, listing)


def judge_place(ctx: Context, listing: ListingRow) -> None:
    """The same refusal, where nothing holds a place beyond its time: then only trying tells."""
    if not _lapsed(ctx, seen_lapsed, listing.id):
        _judge(ctx, listing)


def take_job(ctx: Context) -> None:
    """Refuse a job without a listing for which its buyer, the caller, has no place."""
    _take_turn(ctx)
    try:
        _judge_buyer(ctx)
    except JobLimit:
        if not _move_on(ctx, NO_LISTING):
            raise
        _judge_buyer(ctx)


def _take_turn(ctx: Context) -> None:
    """A buyer's jobs are counted one order at a time."""
    ctx.tx.get(AgentRow, ctx.agent, lock=True)


def _judge(ctx: Context, listing: ListingRow) -> None:
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
    _judge_buyer(ctx)


def _judge_buyer(ctx: Context) -> None:
    unfinished, most = ctx.tx.one(unfinished_of, buyer_id=ctx.agent, env=ctx.env) or 0, ctx.house.limits.unfinished_jobs
    if unfinished >= most:
        raise JobLimit(f"you have {unfinished} unfinished jobs, at most {most} are allowed", limit=most)


def _move_on(ctx: Context, listing_id: str) -> int:
    """Write the clock's moves that are due on the jobs that hold these places; how many there were."""
    rows = _lapsed(ctx, lapsed_places, listing_id)
    return sum(run_clock(ctx, see(ctx.tx, row)).row is not row for row in rows)


def _lapsed(ctx: Context, query: Query[JobRow], listing_id: str) -> list[JobRow]:
    return ctx.tx.all(query, listing_id=listing_id, buyer_id=ctx.agent, env=ctx.env, until=ctx.now, limit=MOST_LAPSED)
