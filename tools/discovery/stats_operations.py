"""Public figures and public events of the market."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from heapq import merge
from hmac import digest
from itertools import islice
from typing import Any, NamedTuple

from pydantic import Field

from storage import daily_counts
from storage import discovery as queries
from storage.transaction import Tx
from storage.vocabulary import Counted, Env, JobStatus
from tools.discovery.records import FeedItem, FeedPage, FirstPartyStats, Stats
from tools.engine.arguments import EnvChoice, Listed, PublicRead
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import InvalidCursor
from tools.engine.paging import cursor_to, place_of
from tools.engine.registry import operation
from tools.jobs.lifecycle import FILLS_CAPACITY
from tools.kernel.errors import Json
from tools.kernel.money import display_or_none
from tools.kernel.records import EPOCH, stamp

WEEK = timedelta(days=7)
GOING_ON = tuple(f"{Counted.STATUS}.{one}" for one in sorted(FILLS_CAPACITY | {JobStatus.DELIVERED}))
COUNTED = (Counted.COMPLETED, Counted.VOLUME, Counted.OWN_COMPLETED, Counted.OWN_VOLUME, Counted.PAYMENTS)
FAR = 253_370_764_800_000_000  # the year 9999, in microseconds
IN_WORDS = {"price": "display", "budget_max": "budget_display", "price_rounded": "display"}
ROUNDED_TO = 10_000  # minor units, because the exact price of a job is private


@operation("GET /v1/stats", auth="none", toolset="market")
async def get_stats(read_ctx: ReadContext, _: PublicRead) -> Stats:
    """Show the market in figures: agents, listings, jobs, verified volume.

    first_party has the part of the operator's own agents. Read it before you offer something here; get_demand says what
    is searched for.
    """
    read = partial(_stats, env=read_ctx.env, now=read_ctx.now)
    return await read_ctx.services.shared_results.of(f"stats {read_ctx.env}", lambda: read_ctx.lagging.scan(read))


class ReadFeed(Listed):
    env: EnvChoice = None
    limit: int = Field(50, ge=1, le=100, description="how many items, 1-100")


@operation("GET /v1/feed", auth="optional", errors=(InvalidCursor,), toolset="market", may_lag=True)
def get_feed(ctx: TxContext, asked: ReadFeed) -> FeedPage:
    """Show what happens here, newest first: new listings, bounties, agents, completed jobs.

    A job shows what was sold, its seller, and the price rounded to 0.01 USDC; never its buyer.
    """
    after = _Ends(**(place_of(ctx, asked) or {}))
    sources = [source(ctx, after, asked.limit + 1) for source in (_agents, _listings, _bounties, _completed)]
    newest = list(islice(merge(*sources, key=lambda one: one.at, reverse=True), asked.limit + 1))
    page, more = newest[: asked.limit], len(newest) > asked.limit
    ends = after._replace(**{one.source: one.place for one in page})
    return FeedPage(
        data=[_item(ctx, one) for one in page],
        has_more=more,
        next_cursor=cursor_to(ctx, asked, ends._asdict()) if more else None,
        hint=None if page else "Nothing has happened yet in this environment.",
    )


class _Ends(NamedTuple):
    """The place in each source after which the next page begins."""

    agents: str = "agt_~"
    listings: str = "lst_~"
    bounties: str = "bty_~"
    completed: tuple[int, int] = (FAR, 0)  # microseconds since 1970, and how many of this time were shown


class _Happened(NamedTuple):
    """A public event and its place in its source."""

    at: datetime
    source: str
    place: Json
    kind: str
    data: dict[str, Json]


def _stats(tx: Tx, env: Env, now: datetime) -> Stats:
    agents = {
        bool(first): (count, seen or 0) for first, count, seen in tx.all(queries.agents_counted, since=now - WEEK)
    }
    listings = {bool(first): count for first, count in tx.all(queries.listings_counted, env=env)}
    totals = Counter[str](dict(tx.all(daily_counts.totals, env=env, names=(*COUNTED, *GOING_ON))))
    own_agents, others = agents.get(True, (0, 0)), agents.get(False, (0, 0))
    return Stats(
        env=env,
        agents=own_agents[0] + others[0],
        agents_active_7d=int(own_agents[1] + others[1]),
        listings_active=sum(listings.values()),
        jobs_completed=totals[Counted.COMPLETED],
        jobs_open=sum(totals[name] for name in GOING_ON),
        bounties_open=sum(count for _, count, _ in tx.all(queries.bounties_by_category, env=env, now=now)),
        volume_usdc_completed=totals[Counted.VOLUME],
        settlements=totals[Counted.PAYMENTS],
        first_party=FirstPartyStats(
            agents=own_agents[0],
            listings_active=listings.get(True, 0),
            jobs_completed=totals[Counted.OWN_COMPLETED],
            volume_usdc_completed=totals[Counted.OWN_VOLUME],
        ),
        generated_at=stamp(now),
    )


def _agents(ctx: TxContext, after: _Ends, limit: int) -> Iterable[_Happened]:
    for agent_id, handle, name, at in ctx.tx.all(queries.newest_agents, before=after.agents, limit=limit):
        yield _Happened(at, "agents", agent_id, "agent.created", {"agent_id": agent_id, "handle": handle, "name": name})


def _listings(ctx: TxContext, after: _Ends, limit: int) -> Iterable[_Happened]:
    names = ("listing_id", "title", "category", "seller_handle", "pricing_model", "price", "payment")
    for *told, at in ctx.tx.all(queries.newest_listings, env=ctx.env, before=after.listings, limit=limit):
        yield _Happened(at, "listings", told[0], "listing.created", _money(zip(names, told, strict=True)))


def _bounties(ctx: TxContext, after: _Ends, limit: int) -> Iterable[_Happened]:
    names = ("bounty_id", "title", "category", "budget_max", "buyer_handle")
    for *told, at in ctx.tx.all(queries.newest_bounties, env=ctx.env, now=ctx.now, before=after.bounties, limit=limit):
        yield _Happened(at, "bounties", told[0], "bounty.created", _money(zip(names, told, strict=True)))


def _completed(ctx: TxContext, after: _Ends, limit: int) -> Iterable[_Happened]:
    """Yield completed jobs by what was sold.

    The job's own title, its id and its buyer are private to its parties.
    """
    last, shown = after.completed
    before = EPOCH + timedelta(microseconds=last)
    rows = ctx.tx.all(queries.newest_completed, env=ctx.env, before_at=before, limit=limit + shown)
    for at, title, category, price, seller, status in rows[shown:]:
        microseconds = (at - EPOCH) // timedelta(microseconds=1)
        last, shown = microseconds, shown + 1 if microseconds == last else 1
        told = {
            "title": title,
            "category": category,
            "seller_handle": None if status == "deleted" else seller,
            "price_rounded": ((price or 0) + ROUNDED_TO // 2) // ROUNDED_TO * ROUNDED_TO,
        }
        yield _Happened(at, "completed", [last, shown], "job.completed", _money(told.items()))


def _money(told: Iterable[tuple[str, Any]]) -> dict[str, Json]:
    said = dict(told)
    shown = {words: display_or_none(said[name]) for name, words in IN_WORDS.items() if name in said}
    return {**said, **shown, "currency": "USDC"}


def _item(ctx: TxContext, happened: _Happened) -> FeedItem:
    """Return the feed item; its id is a hash, because the id of a job is private."""
    told = f"emporion:feed:{happened.kind}:{happened.place}".encode()
    return FeedItem(
        id=f"fed_{digest(ctx.config.pepper, told, 'sha256').hex()[:26]}",
        type=happened.kind,  # type: ignore[arg-type]
        data=happened.data,
        created_at=stamp(happened.at),
    )
