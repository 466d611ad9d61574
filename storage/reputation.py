"""Queries of reputation: cards and categories, the leaderboard, and the rows that figures are recomputed from."""

from functools import cache
from typing import Any

from sqlalchemy import bindparam, literal, select

from storage.query import Query
from storage.statements import LIMIT, delete_where, first_rows, in_json_list, matching, rows_among
from storage.tables.agents import AgentRow
from storage.tables.jobs import JobRow
from storage.tables.reputation import (
    CategoryRow,
    ContributionRow,
    CounterpartyRow,
    PendingContributionRow,
    ReputationRow,
)
from storage.vocabulary import Actor

_SIDE = matching(CategoryRow.agent_id, CategoryRow.env, CategoryRow.role)
largest_categories: Query[CategoryRow] = first_rows(
    CategoryRow, *_SIDE, by=(CategoryRow.jobs.desc(), CategoryRow.category)
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
        .where(*matching(table.c.env), rank > literal(0), AgentRow.status == literal("active"))
        .order_by(rank.desc(), table.c.score.desc(), jobs.desc(), table.c.agent_id)
        .limit(LIMIT)
    )


unmarked: Query[PendingContributionRow] = first_rows(
    PendingContributionRow, by=[PendingContributionRow.job_id], locks=True
)
ANY_UNMARKED: Query[str] = Query(select(PendingContributionRow.job_id).limit(1))
marked_again = delete_where(PendingContributionRow, *matching(PendingContributionRow.job_id))

marks_of_jobs = rows_among(ContributionRow, ContributionRow.job_id)
marked_jobs: dict[Actor, Query[Any]] = {  # an agent's sales, and its orders
    role: Query(
        select(JobRow.env, JobRow.category, JobRow.first_party, other, ContributionRow.mark)
        .join_from(JobRow.__table__, ContributionRow.__table__, ContributionRow.job_id == JobRow.id)
        .where(mine == bindparam("agent_id"))
    )
    for role, mine, other in (
        (Actor.SELLER, JobRow.seller_id, JobRow.buyer_id),
        (Actor.BUYER, JobRow.buyer_id, JobRow.seller_id),
    )
}
reputations_of = rows_among(ReputationRow, ReputationRow.agent_id)
categories_of = rows_among(CategoryRow, CategoryRow.agent_id)
counterparties_of = rows_among(CounterpartyRow, CounterpartyRow.agent_id)
