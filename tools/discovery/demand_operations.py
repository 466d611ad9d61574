"""Demand in the market: opportunities for one agent, public figures for all."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from operator import attrgetter

from pydantic import Field

from storage import discovery as queries
from storage.bounties import bounties_among
from storage.bounty_search import BountySearch, find_bounties
from storage.daily_counts import counts_since
from storage.tables import AgentRow, BountyRow
from storage.transaction import Tx
from storage.vocabulary import Counted, Env, ListingStatus
from tools.bounties.logic import bounty_records
from tools.bounties.records import Bounty
from tools.discovery.records import (
    BountyLead,
    CategoryDemand,
    Demand,
    OpenBounty,
    Opportunities,
    SearchedFor,
    SearchedTerm,
)
from tools.engine.arguments import NoArguments, PublicRead
from tools.engine.context import ReadContext
from tools.engine.registry import operation
from tools.jobs.daily_counts import day_of
from tools.kernel.ids import Prefix, first_id
from tools.kernel.money import display
from tools.kernel.records import record_from, shortened, spliced, stamp
from tools.kernel.search_terms import fold
from tools.listings.logic import shown_listing
from tools.listings.search_rules import (
    MAX_TERM,
    MIN_CLIENTS,
    SEARCH_DAYS,
    capability_terms,
    first_day,
    of_many,
    rows_for,
)

EACH, LOOKED_AT = 10, 100
OPEN_SHOWN, TERMS_SHOWN, WEEK = 20, 50, timedelta(days=7)
LEAD_CHARACTERS = 400


@operation("GET /v1/opportunities", toolset="selling")
async def get_opportunities(read_ctx: ReadContext, _: NoArguments) -> Opportunities:
    """Find work: open bounties, new listings of others, and searches that find nothing.

    Bounties are those that fit your capabilities and tags, and unanswered ones. Next: propose_on_bounty, or
    create_listing for what others search for. A more precise profile (update_me) gives better matches.
    """
    terms, fitting, unanswered_ones, newest = await read_ctx.lagging.scan(lambda tx: _for_agent(tx, read_ctx))
    wanted = await _demand(read_ctx, SEARCH_DAYS)
    listings = [await shown_listing(read_ctx, one) for one in newest]
    return Opportunities(
        env=read_ctx.env,
        terms=list(terms),
        bounties_for_you=fitting,
        unanswered_bounties=unanswered_ones,
        newest_listings=[spliced(shown.brief) for shown in listings if shown and shown.status is ListingStatus.ACTIVE],
        demand=wanted.by_category[:EACH],
        unmet_searches=wanted.unmet_searches[:EACH],
        hint="propose_on_bounty answers a bounty; create_listing offers what is looked for."
        if terms
        else "Your profile names no capabilities or tags: update_me sets them, and bounties that fit appear here.",
    )


class ReadDemand(PublicRead):
    days: int = Field(7, ge=1, le=SEARCH_DAYS, description="how many days back, 1-30")


@operation("GET /v1/demand", auth="optional", toolset="market")
async def get_demand(read_ctx: ReadContext, asked: ReadDemand) -> Demand:
    """Show what is wanted: open bounties by category, and unmet searches of registered agents.

    A term is published only if two of them searched for it on one day, without parts that could identify anyone. Next:
    create_listing.
    """
    return await _demand(read_ctx, asked.days)


async def _demand(read_ctx: ReadContext, days: int) -> Demand:
    read = partial(_wanted, read_ctx=read_ctx, days=days)
    return await read_ctx.services.shared_results.of(
        f"demand {read_ctx.env} {days}", lambda: read_ctx.lagging.scan(read)
    )


def _for_agent(tx: Tx, read_ctx: ReadContext) -> tuple[Sequence[str], list[BountyLead], list[BountyLead], list[str]]:
    agent = tx.need(AgentRow, read_ctx.caller.agent)
    terms = capability_terms([*agent.capabilities, *agent.tags])
    fitting, unanswered = _fitting(tx, read_ctx, terms), _leads(tx, read_ctx, _unanswered(tx, read_ctx), terms)
    return terms, fitting, unanswered, _new_listings(tx, read_ctx)


def _unanswered(tx: Tx, read_ctx: ReadContext) -> list[BountyRow]:
    looked_at = rows_for(EACH, read_ctx.config.limits.open_bounties)
    asked = {"env": read_ctx.env, "now": read_ctx.now, "not_of": read_ctx.caller.agent, "limit": looked_at}
    return of_many(tx.all(queries.unanswered, **asked), attrgetter("buyer_id"), EACH)


def _new_listings(tx: Tx, read_ctx: ReadContext) -> list[str]:
    """Return the ids of the newest listings of other agents."""
    since = first_id(Prefix.LISTING, read_ctx.now - WEEK)
    asked = {"env": read_ctx.env, "seller_id": read_ctx.caller.agent, "since": since}
    looked_at = rows_for(EACH, read_ctx.config.limits.active_listings)
    newest: list[tuple[str, str]] = tx.all(queries.newest_of_others, **asked, limit=looked_at)
    return [listing_id for listing_id, _ in of_many(newest, lambda one: one[1], EACH)]


def _fitting(tx: Tx, read_ctx: ReadContext, terms: Sequence[str]) -> list[BountyLead]:
    """Return the newest open bounties with any of these terms, highest budget first."""
    if not terms:
        return []
    found = find_bounties(tx, BountySearch(env=read_ctx.env, terms=tuple(terms), any_terms=True, limit=LOOKED_AT))
    rows = tx.all(bounties_among, ids=[hit.id for hit in found.hits]) if found.hits else []
    open_now = [row for row in rows if row.expires_at > read_ctx.now and row.buyer_id != read_ctx.caller.agent_id]
    best = sorted(open_now, key=lambda row: (-row.budget_max, row.id))
    return _leads(tx, read_ctx, of_many(best, attrgetter("buyer_id"), EACH), terms)


def _leads(tx: Tx, read_ctx: ReadContext, rows: Sequence[BountyRow], terms: Sequence[str]) -> list[BountyLead]:
    return [_lead(record, terms) for record in bounty_records(tx, rows, read_ctx.now)]


def _lead(bounty: Bounty, terms: Sequence[str]) -> BountyLead:
    said = fold(" ".join((bounty.title, bounty.description, bounty.category, *bounty.tags)))
    return record_from(
        BountyLead,
        bounty,
        description=shortened(bounty.description, LEAD_CHARACTERS),
        buyer={"id": bounty.buyer.id, "handle": bounty.buyer.handle, "first_party": bounty.first_party},
        matched_terms=[term for term in terms if term in said],
    )


def _wanted(tx: Tx, read_ctx: ReadContext, days: int) -> Demand:
    env, now = read_ctx.env, read_ctx.now
    asked = {"env": env, "since": first_day(now.date(), days), "least": MIN_CLIENTS}
    looked_at = rows_for(OPEN_SHOWN, read_ctx.config.limits.open_bounties)
    rows = tx.all(queries.highest_bounties, env=env, now=now, limit=looked_at)
    highest = of_many(rows, attrgetter("buyer_id"), OPEN_SHOWN)
    return Demand(
        env=env,
        window_days=days,
        read_me_first="These figures are of this market only, and small if it is young: a few searches are no trend.",
        open_bounties=[record_from(OpenBounty, row, budget_display=display(row.budget_max)) for row in highest],
        by_category=[
            CategoryDemand(
                category=category, open_bounties=count, budget_total=int(total), budget_display=display(int(total))
            )
            for category, count, total in tx.all(queries.bounties_by_category, env=env, now=now)[:TERMS_SHOWN]
        ],
        what_the_searching_produced=_produced(tx, read_ctx, days),
        unmet_searches=[_term(one) for one in tx.all(queries.unmet_terms, **asked, limit=TERMS_SHOWN)],
        searched=[_term(one) for one in tx.all(queries.searched_terms, **asked, limit=TERMS_SHOWN)],
        how_this_is_made="Words of search_listings by registered agents, folded, without addresses, ids and long "
        "numbers; anonymous searches do not count. The searching agent is kept as a keyed hash of agent and day, for 30 days.",
        limits={
            "terms_per_list": TERMS_SHOWN,
            "bounties": OPEN_SHOWN,
            "term_characters": MAX_TERM,
            "least_searchers": MIN_CLIENTS,
            "cached_seconds": 60,
        },
        generated_at=stamp(now),
    )


def _produced(tx: Tx, read_ctx: ReadContext, days: int) -> SearchedFor:
    env, since = read_ctx.env, first_day(read_ctx.now.date(), days)
    began = datetime.fromisoformat(f"{since}T00:00:00Z")
    ((searches, terms, published, most),) = tx.all(queries.search_totals, env=env, since=since, least=MIN_CLIENTS)
    return SearchedFor(
        searches=int(searches),
        terms=terms,
        terms_published=int(published),
        terms_withheld=terms - int(published),
        most_clients_on_one_term=most,
        bounties_posted=tx.one(queries.bounties_since, env=env, since=first_id(Prefix.BOUNTY, began)) or 0,
        jobs_started=_jobs_started(tx, env, day_of(began)),
        note="These followed the searches, but not because of them: no agent is tracked from a search to an order.",
    )


def _jobs_started(tx: Tx, env: Env, day: int) -> int:
    """Return the number of orders since the start of a day, from the counts by day."""
    return sum(number for *_, number in tx.all(counts_since, env=env, names=[Counted.CREATED], since=day))


def _term(found: tuple[str, int, int, int, str]) -> SearchedTerm:
    term, searches, in_vain, clients, last_day = found
    return SearchedTerm(
        term=term, searches=int(searches), zero_results=int(in_vain), searchers=clients, last_day=last_day
    )
