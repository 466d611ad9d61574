"""Queries over the whole market: figures, recent activity, searched terms."""

from typing import Any

from sqlalchemy import ColumnElement, bindparam, case, func, literal, literal_column, select, tuple_, update

from storage.bounties import OPEN_NOW
from storage.query import Query
from storage.statements import LIMIT, before_id, count, delete_where, first_rows, matching
from storage.tables import AgentRow, BountyRow, JobRow, ListingRow, SearchedRow

_KEY = (SearchedRow.env, SearchedRow.day, SearchedRow.term, SearchedRow.client)

# Figures.


def _active(kind: type[AgentRow | ListingRow]) -> ColumnElement[bool]:
    return kind.status == literal("active")


_on_sale = *matching(ListingRow.env), _active(ListingRow), _active(AgentRow)
_SELLERS = ListingRow.__table__.join(AgentRow.__table__, AgentRow.id == ListingRow.seller_id)


agents_counted: Query[Any] = Query(
    select(
        AgentRow.first_party, func.count(), func.sum(case((AgentRow.last_seen_at >= bindparam("since"), 1), else_=0))
    )
    .where(_active(AgentRow))
    .group_by(AgentRow.first_party)
)
_seller_is_own = (
    select(AgentRow.first_party).where(AgentRow.id == ListingRow.seller_id, _active(AgentRow)).scalar_subquery()
)
_sold = select(_seller_is_own.label("own")).where(*matching(ListingRow.env), _active(ListingRow)).subquery()
listings_counted: Query[Any] = Query(  # without a join, which SQLite would begin with all agents
    select(_sold.c.own, func.count()).where(_sold.c.own.is_not(None)).group_by(_sold.c.own)
)
_open_bounty = *matching(BountyRow.env), *OPEN_NOW
bounties_by_category: Query[Any] = Query(
    select(BountyRow.category, func.count(), func.sum(BountyRow.budget_max))
    .where(*_open_bounty)
    .group_by(BountyRow.category)
    .order_by(func.sum(BountyRow.budget_max).desc(), BountyRow.category)
)

highest_bounties: Query[BountyRow] = first_rows(
    BountyRow, *_open_bounty, by=(BountyRow.budget_max.desc(), BountyRow.id.desc())
)
_unanswered = *_open_bounty, BountyRow.proposal_count == literal(0), BountyRow.buyer_id != bindparam("not_of")
unanswered: Query[BountyRow] = first_rows(BountyRow, *_unanswered, by=[BountyRow.id.desc()])
newest_of_others: Query[Any] = Query(
    select(ListingRow.id, ListingRow.seller_id)
    .select_from(_SELLERS)
    .where(*_on_sale, ListingRow.id >= bindparam("since"), ListingRow.seller_id != bindparam("seller_id"))
    .order_by(ListingRow.id.desc())
    .limit(LIMIT)
)

# Recent activity, newest first.

_AGENTS = select(AgentRow.id, AgentRow.handle, AgentRow.name, AgentRow.created_at).where(_active(AgentRow))
_LISTINGS = (
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
    .select_from(_SELLERS)
    .where(*_on_sale)
)
_BOUNTIES = (
    select(
        BountyRow.id, BountyRow.title, BountyRow.category, BountyRow.budget_max, AgentRow.handle, BountyRow.created_at
    )
    .select_from(BountyRow.__table__.join(AgentRow.__table__, AgentRow.id == BountyRow.buyer_id))
    .where(*_open_bounty, _active(AgentRow))
)
_COMPLETED: ColumnElement[str] = literal_column("'completed'")  # a constant, as in the partial index
newest_agents: Query[Any] = Query(before_id(_AGENTS, AgentRow.id))
newest_listings: Query[Any] = Query(before_id(_LISTINGS, ListingRow.id))
newest_bounties: Query[Any] = Query(before_id(_BOUNTIES, BountyRow.id))
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
    .where(*matching(JobRow.env), JobRow.status == _COMPLETED, JobRow.completed_at <= bindparam("before_at"))
    .order_by(JobRow.completed_at.desc(), JobRow.id.desc())
    .limit(LIMIT)
)

# Searched terms.

count_search = Query(
    update(SearchedRow.__table__)
    .where(*(column == bindparam(f"_{column.key}") for column in _KEY))
    .values(
        searches=SearchedRow.searches + bindparam("more"),
        zero_results=SearchedRow.zero_results + bindparam("more_zero"),
    )
)
terms_of_client = count(SearchedRow, *matching(SearchedRow.env, SearchedRow.day, SearchedRow.client))
_old_searches = select(*_KEY).where(SearchedRow.day < bindparam("day")).limit(LIMIT)
forget_searches = delete_where(SearchedRow, tuple_(*_KEY).in_(_old_searches))
_each_day = (
    select(
        SearchedRow.term.label("term"),
        SearchedRow.day.label("day"),
        func.sum(SearchedRow.searches).label("searches"),
        func.sum(SearchedRow.zero_results).label("zero_results"),
        func.count().label("clients"),
    )
    .where(*matching(SearchedRow.env), SearchedRow.day >= bindparam("since"))
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


def _terms(most: Any, *conditions: ColumnElement[bool]) -> Query[Any]:
    """Build the query of terms that enough clients searched.

    The terms of most clients are first, because one client may search a lot.
    """
    order = _each_term.c.clients.desc(), most.desc(), _each_term.c.term
    asked = _each_term.c.clients >= bindparam("least")
    return Query(select(*_each_term.c).where(asked, *conditions).order_by(*order).limit(LIMIT))


searched_terms = _terms(_each_term.c.searches)
unmet_terms = _terms(_each_term.c.zero_results, _each_term.c.zero_results > literal(0))
search_totals: Query[Any] = Query(
    select(
        func.coalesce(func.sum(_each_term.c.searches), 0),
        func.count(),
        func.coalesce(func.sum(case((_each_term.c.clients >= bindparam("least"), 1), else_=0)), 0),
        func.coalesce(func.max(_each_term.c.clients), 0),
    )
)
bounties_since = count(BountyRow, BountyRow.id >= bindparam("since"), *matching(BountyRow.env))
