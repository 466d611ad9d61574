"""Queries over the whole market: figures, recent activity, searched terms."""

from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, case, delete, func, literal, or_, select, tuple_, update

from storage.bounties import OPEN_NOW
from storage.query import Query
from storage.tables import AgentRow, BountyRow, JobRow, ListingRow, SearchedRow, SettlementRow

_KEY = (SearchedRow.env, SearchedRow.day, SearchedRow.term, SearchedRow.client)

# Figures.


def _active(kind: type[AgentRow | ListingRow]) -> ColumnElement[bool]:
    return kind.status == literal("active")


agents_counted: Query[Any] = Query(
    select(
        AgentRow.first_party,
        func.count(),
        func.sum(case((AgentRow.last_seen_at >= bindparam("since"), 1), else_=0)),
    )
    .where(_active(AgentRow))
    .group_by(AgentRow.first_party)
)
listings_counted: Query[Any] = Query(
    select(AgentRow.first_party, func.count())
    .select_from(ListingRow.__table__.join(AgentRow.__table__, AgentRow.id == ListingRow.seller_id))
    .where(ListingRow.env == bindparam("env"), _active(ListingRow), _active(AgentRow))
    .group_by(AgentRow.first_party)
)
jobs_counted: Query[Any] = Query(
    select(JobRow.status, JobRow.first_party, func.count())
    .where(JobRow.env == bindparam("env"))
    .group_by(JobRow.status, JobRow.first_party)
)
_lost = JobRow.status == literal("resolved"), JobRow.outcome == literal("buyer")
jobs_lost: Query[Any] = Query(  # the verdict was for the buyer, so the job failed
    select(JobRow.first_party, func.count()).where(JobRow.env == bindparam("env"), *_lost).group_by(JobRow.first_party)
)
settlements_counted: Query[int] = Query(
    select(func.count())
    .select_from(SettlementRow.__table__)
    .where(SettlementRow.env == bindparam("env"), SettlementRow.kind == literal("payment"))
)
_payment = SettlementRow.kind == literal("payment")
_applied = and_(_payment, SettlementRow.status == literal("settled"))
_sums = (  # one row per job that was done
    select(
        JobRow.first_party,
        func.sum(case((_applied, SettlementRow.amount), else_=0)).label("settled"),
        func.sum(case((_applied, 0), (_payment, -SettlementRow.amount), else_=SettlementRow.amount)).label("back"),
    )
    .select_from(JobRow.__table__.join(SettlementRow.__table__, SettlementRow.job_id == JobRow.id))
    .where(
        JobRow.env == bindparam("env"), or_(JobRow.status == literal("completed"), JobRow.status == literal("resolved"))
    )
    .where(or_(JobRow.outcome.is_(None), JobRow.outcome != literal("buyer")))
    .group_by(JobRow.id, JobRow.first_party)
    .subquery()
)
volumes: Query[Any] = Query(  # settled payments minus refunds; a refund first offsets payments that were not applied
    select(
        _sums.c.first_party,
        func.sum(
            case(
                (_sums.c.back <= 0, _sums.c.settled),
                (_sums.c.back <= _sums.c.settled, _sums.c.settled - _sums.c.back),
                else_=0,
            )
        ),
    ).group_by(_sums.c.first_party)
)
_open_bounty = (
    BountyRow.env == bindparam("env"),
    *OPEN_NOW,
)
bounties_by_category: Query[Any] = Query(
    select(BountyRow.category, func.count(), func.sum(BountyRow.budget_max))
    .where(*_open_bounty)
    .group_by(BountyRow.category)
    .order_by(func.sum(BountyRow.budget_max).desc(), BountyRow.category)
)

highest_bounties = Query(
    select(BountyRow)
    .where(*_open_bounty)
    .order_by(BountyRow.budget_max.desc(), BountyRow.id.desc())
    .limit(bindparam("limit"))
)
unanswered = Query(
    select(BountyRow)
    .where(*_open_bounty, BountyRow.proposal_count == literal(0), BountyRow.buyer_id != bindparam("not_of"))
    .order_by(BountyRow.id.desc())
    .limit(bindparam("limit"))
)
newest_of_others: Query[Any] = Query(
    select(ListingRow.id, ListingRow.seller_id)
    .select_from(ListingRow.__table__.join(AgentRow.__table__, AgentRow.id == ListingRow.seller_id))
    .where(
        ListingRow.env == bindparam("env"),
        _active(ListingRow),
        _active(AgentRow),
        ListingRow.id >= bindparam("since"),
        ListingRow.seller_id != bindparam("seller_id"),
    )
    .order_by(ListingRow.id.desc())
    .limit(bindparam("limit"))
)

# Recent activity, newest first.

newest_agents: Query[Any] = Query(
    select(AgentRow.id, AgentRow.handle, AgentRow.name, AgentRow.created_at)
    .where(_active(AgentRow), AgentRow.id < bindparam("before"))
    .order_by(AgentRow.id.desc())
    .limit(bindparam("limit"))
)
newest_listings: Query[Any] = Query(
    select(
        ListingRow.id,
        ListingRow.title,
        ListingRow.category,
        AgentRow.handle,
        ListingRow.pricing_model,
        ListingRow.price,
        ListingRow.payment,
        ListingRow.created_at,
    )
    .select_from(ListingRow.__table__.join(AgentRow.__table__, AgentRow.id == ListingRow.seller_id))
    .where(
        ListingRow.env == bindparam("env"),
        _active(ListingRow),
        _active(AgentRow),
        ListingRow.id < bindparam("before"),
    )
    .order_by(ListingRow.id.desc())
    .limit(bindparam("limit"))
)
newest_bounties: Query[Any] = Query(
    select(
        BountyRow.id,
        BountyRow.title,
        BountyRow.category,
        BountyRow.budget_max,
        AgentRow.handle,
        BountyRow.created_at,
    )
    .select_from(BountyRow.__table__.join(AgentRow.__table__, AgentRow.id == BountyRow.buyer_id))
    .where(
        *_open_bounty,
        _active(AgentRow),
        BountyRow.id < bindparam("before"),
    )
    .order_by(BountyRow.id.desc())
    .limit(bindparam("limit"))
)
newest_completed: Query[Any] = Query(
    select(
        JobRow.completed_at,
        func.coalesce(ListingRow.title, BountyRow.title),
        JobRow.category,
        JobRow.price,
        AgentRow.handle,
        AgentRow.status,
    )
    .select_from(
        JobRow.__table__.join(AgentRow.__table__, AgentRow.id == JobRow.seller_id)
        .outerjoin(ListingRow.__table__, ListingRow.id == JobRow.listing_id)
        .outerjoin(BountyRow.__table__, BountyRow.id == JobRow.bounty_id)
    )
    .where(
        JobRow.env == bindparam("env"),
        JobRow.status == literal("completed"),
        JobRow.completed_at <= bindparam("before_at"),
    )
    .order_by(JobRow.completed_at.desc(), JobRow.id.desc())
    .limit(bindparam("limit"))
)

# Searched terms.

count_search = Query(
    update(SearchedRow.__table__)
    .where(
        SearchedRow.env == bindparam("_env"),
        SearchedRow.day == bindparam("_day"),
        SearchedRow.term == bindparam("_term"),
        SearchedRow.client == bindparam("_client"),
    )
    .values(
        searches=SearchedRow.searches + bindparam("more"),
        zero_results=SearchedRow.zero_results + bindparam("more_zero"),
    )
)
terms_of_client: Query[int] = Query(
    select(func.count())
    .select_from(SearchedRow.__table__)
    .where(
        SearchedRow.env == bindparam("env"),
        SearchedRow.day == bindparam("day"),
        SearchedRow.client == bindparam("client"),
    )
)
forget_searches = Query(
    delete(SearchedRow.__table__).where(
        tuple_(*_KEY).in_(select(*_KEY).where(SearchedRow.day < bindparam("day")).limit(bindparam("limit")))
    )
)
_each_day = (
    select(
        SearchedRow.term.label("term"),
        SearchedRow.day.label("day"),
        func.sum(SearchedRow.searches).label("searches"),
        func.sum(SearchedRow.zero_results).label("zero_results"),
        func.count().label("clients"),
    )
    .where(SearchedRow.env == bindparam("env"), SearchedRow.day >= bindparam("since"))
    .group_by(SearchedRow.term, SearchedRow.day)
    .subquery()
)
_each_term = (
    select(
        _each_day.c.term,
        func.sum(_each_day.c.searches).label("searches"),
        func.sum(_each_day.c.zero_results).label("zero_results"),
        func.max(_each_day.c.clients).label("clients"),
        func.max(_each_day.c.day).label("last_day"),
    )
    .group_by(_each_day.c.term)
    .subquery()
)
searched_terms: Query[Any] = Query(  # terms of most clients first, because one client may search a lot
    select(*_each_term.c)
    .where(_each_term.c.clients >= bindparam("least"))
    .order_by(_each_term.c.clients.desc(), _each_term.c.searches.desc(), _each_term.c.term)
    .limit(bindparam("limit"))
)
unmet_terms: Query[Any] = Query(  # the same for searches without results
    select(*_each_term.c)
    .where(_each_term.c.clients >= bindparam("least"), _each_term.c.zero_results > literal(0))
    .order_by(_each_term.c.clients.desc(), _each_term.c.zero_results.desc(), _each_term.c.term)
    .limit(bindparam("limit"))
)
search_totals: Query[Any] = Query(
    select(
        func.coalesce(func.sum(_each_term.c.searches), 0),
        func.count(),
        func.coalesce(func.sum(case((_each_term.c.clients >= bindparam("least"), 1), else_=0)), 0),
        func.coalesce(func.max(_each_term.c.clients), 0),
    )
)
bounties_since: Query[int] = Query(
    select(func.count())
    .select_from(BountyRow.__table__)
    .where(BountyRow.id >= bindparam("since"), BountyRow.env == bindparam("env"))
)
jobs_since: Query[int] = Query(
    select(func.count())
    .select_from(JobRow.__table__)
    .where(JobRow.id >= bindparam("since"), JobRow.env == bindparam("env"))
)
