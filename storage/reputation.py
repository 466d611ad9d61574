"""Queries of reputation: cards and categories, the leaderboard, and the rows that figures are recomputed from."""

from functools import cache

from sqlalchemy import bindparam, delete, literal, select

from storage.json_in import in_json_list
from storage.query import Query
from storage.tables import (
    AgentRow,
    CategoryRow,
    ContributionRow,
    CounterpartyRow,
    JobRow,
    PendingContributionRow,
    ReputationRow,
    ReviewRow,
)

_SIDE = (
    CategoryRow.agent_id == bindparam("agent_id"),
    CategoryRow.env == bindparam("env"),
    CategoryRow.role == bindparam("role"),
)
largest_categories = Query(
    select(CategoryRow).where(*_SIDE).order_by(CategoryRow.jobs.desc(), CategoryRow.category).limit(bindparam("limit"))
)
categories_among = Query(select(CategoryRow).where(*_SIDE, in_json_list(CategoryRow.category, "categories")))


@cache
def leaders(role: str) -> Query[ReputationRow]:
    """Build the query of the active agents that rank highest as seller or as buyer."""
    table = ReputationRow.__table__
    rank, jobs = table.c[f"{role}_rank"], table.c[f"{role}_jobs"]
    return Query(
        select(ReputationRow)
        .join_from(table, AgentRow.__table__, AgentRow.id == table.c.agent_id)
        .where(table.c.env == bindparam("env"), rank > literal(0), AgentRow.status == literal("active"))
        .order_by(rank.desc(), table.c.score.desc(), jobs.desc(), table.c.agent_id)
        .limit(bindparam("limit"))
    )


unmarked = Query(
    select(PendingContributionRow)
    .order_by(PendingContributionRow.job_id)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)
ANY_UNMARKED: Query[str] = Query(select(PendingContributionRow.job_id).limit(1))
marked_again = Query(
    delete(PendingContributionRow.__table__).where(PendingContributionRow.job_id == bindparam("job_id"))
)

marks_of_jobs = Query(select(ContributionRow).where(in_json_list(ContributionRow.job_id, "ids")))
jobs_of_buyers = Query(select(JobRow).where(in_json_list(JobRow.buyer_id, "ids")))
jobs_of_sellers = Query(select(JobRow).where(in_json_list(JobRow.seller_id, "ids")))
reviews_of = Query(select(ReviewRow).where(in_json_list(ReviewRow.job_id, "ids")))
reputations_of = Query(select(ReputationRow).where(in_json_list(ReputationRow.agent_id, "ids")))
categories_of = Query(select(CategoryRow).where(in_json_list(CategoryRow.agent_id, "ids")))
counterparties_of = Query(select(CounterpartyRow).where(in_json_list(CounterpartyRow.agent_id, "ids")))
agents_of = Query(select(AgentRow).where(in_json_list(AgentRow.id, "ids")))
