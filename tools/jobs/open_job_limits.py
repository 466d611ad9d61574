"""Limits on unfinished jobs per listing and per buyer; jobs past a deadline are moved on before an order is refused."""

from collections.abc import Callable

from storage.jobs import (
    KNOWN_FROM,
    is_known,
    lapsed_places,
    places_taken,
    places_taken_by_newcomers,
    seen_lapsed,
    unfinished_of,
)
from storage.query import Query
from storage.tables import AgentRow, JobRow, ListingRow
from tools.engine.context import TxContext
from tools.jobs.errors import JobLimit, SellerBusy
from tools.jobs.logic import move_if_due
from tools.kernel.money import DUST_MINOR
from tools.kernel.plurals import counted

MAX_LAPSED = 200  # jobs that one order moves on; a sweep moves the rest
NO_LISTING = ""
LIFTED = (
    f"A payment of 0.01 USDC or more to this seller, or to each of {KNOWN_FROM} others, lifts this; a refund undoes it."
)


def take_place(ctx: TxContext, listing: ListingRow) -> None:
    """Raise SellerBusy or JobLimit if the listing or the buyer is at its limit.

    Before it raises, jobs that are past a deadline are moved on, which may free a place. The caller has locked the
    listing and the buyer, so that concurrent orders are counted one at a time.
    """
    _take(ctx, listing.id, lambda: _judge(ctx, listing))


def judge_place(ctx: TxContext, listing: ListingRow) -> None:
    """Make the same check without writing; pass if jobs past a deadline may free a place."""
    if not _lapsed(ctx, seen_lapsed, listing.id):
        _judge(ctx, listing)


def take_job(ctx: TxContext) -> None:
    """Raise JobLimit if the caller cannot buy another job that has no listing."""
    ctx.tx.get(AgentRow, ctx.agent, lock=True)  # so that its concurrent orders are counted one at a time
    _take(ctx, NO_LISTING, lambda: _judge_buyer(ctx, ctx.tx.one(unfinished_of, buyer_id=ctx.agent, env=ctx.env) or 0))


def _take(ctx: TxContext, listing_id: str, judge: Callable[[], None]) -> None:
    """Judge the limit; if it is reached, move on the jobs past a deadline and judge it again."""
    try:
        judge()
    except (SellerBusy, JobLimit):
        lapsed = _lapsed(ctx, lapsed_places, listing_id)
        if not sum(move_if_due(ctx, row) for row in lapsed):
            raise
        judge()


def _judge(ctx: TxContext, listing: ListingRow) -> None:
    asked = {"listing_id": listing.id, "buyer_id": ctx.agent, "env": ctx.env}
    taken, held, unfinished = ctx.tx.one(places_taken, **asked) or (0, 0, 0)
    if taken >= listing.max_open_jobs:
        raise _busy(f"of this listing's {counted(listing.max_open_jobs, 'place')} none is free")
    share = (listing.max_open_jobs + 1) // 2
    if held >= share:
        raise _busy(f"you hold {counted(held, 'place')} of this listing; one buyer holds at most {share}")
    if listing.price != 0 and (held or taken >= share):  # otherwise a newcomer is within its limits too
        _judge_newcomer(ctx, listing, held, share)
    _judge_buyer(ctx, unfinished)


def _judge_newcomer(ctx: TxContext, listing: ListingRow, held: int, share: int) -> None:
    """Raise SellerBusy if a buyer that is new to this seller is over its limits.

    A buyer is known if it has paid this seller or KNOWN_FROM others, net of refunds. Otherwise it may hold one place of
    a priced listing, and all such buyers together half of the places.
    """
    if ctx.tx.one(is_known, buyer_id=ctx.agent, seller_id=listing.seller_id, env=ctx.env, least=DUST_MINOR) is not None:
        return
    if held:
        raise _busy(
            "until it has paid this seller a buyer holds one place of a priced listing",
            f"Finish or cancel your order of this listing first. {LIFTED}",
        )
    taken = ctx.tx.one(places_taken_by_newcomers, listing_id=listing.id, least=DUST_MINOR) or 0
    if taken >= share:
        raise _busy(
            f"the {counted(share, 'place')} for buyers that have never paid this seller are taken",
            f"Try again in a while. {LIFTED}",
        )


def _busy(why: str, hint: str | None = None) -> SellerBusy:
    return SellerBusy(why, hint=hint, retry_after_seconds=60)


def _judge_buyer(ctx: TxContext, unfinished: int) -> None:
    most = ctx.config.limits.unfinished_jobs
    if unfinished >= most:
        raise JobLimit(f"you have {unfinished} unfinished jobs, at most {most} are allowed", limit=most)


def _lapsed(ctx: TxContext, query: Query[JobRow], listing_id: str) -> list[JobRow]:
    return ctx.tx.all(query, listing_id=listing_id, buyer_id=ctx.agent, env=ctx.env, until=ctx.now, limit=MAX_LAPSED)
