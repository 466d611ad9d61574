"""Queries of agents that left, and of their open jobs and listings, in batches."""

from functools import cache

from sqlalchemy import bindparam, delete, literal, select

from storage.query import Query
from storage.tables import DepartureRow, JobRow, ListingRow

due_departures: Query[str] = Query(
    select(DepartureRow.agent_id)
    .where(DepartureRow.due_at <= bindparam("now"))
    .order_by(DepartureRow.due_at, DepartureRow.agent_id)
    .limit(bindparam("limit"))
)
forget_departure: Query[None] = Query(
    delete(DepartureRow.__table__).where(DepartureRow.agent_id == bindparam("agent_id"))
)


@cache
def jobs_at(role: str, env: str, status: str) -> Query[JobRow]:
    """Build the query of an agent's jobs in one role, environment and status, by id.

    Jobs that another unit of work has locked are skipped.
    """
    party = {"buyer": JobRow.buyer_id, "seller": JobRow.seller_id}[role]
    return Query(
        select(JobRow)
        .where(
            party == bindparam("agent_id"),
            JobRow.env == literal(env),
            JobRow.status == literal(status),
            JobRow.id > bindparam("after"),
        )
        .order_by(JobRow.id)
        .limit(bindparam("limit"))
        .with_for_update(skip_locked=True)
    )


@cache
def listings_at(env: str, status: str) -> Query[ListingRow]:
    """Build the query of an agent's listings in one environment and status, by id.

    Listings that another unit of work has locked are skipped.
    """
    return Query(
        select(ListingRow)
        .where(
            ListingRow.seller_id == bindparam("agent_id"),
            ListingRow.env == literal(env),
            ListingRow.status == literal(status),
            ListingRow.id > bindparam("after"),
        )
        .order_by(ListingRow.id)
        .limit(bindparam("limit"))
        .with_for_update(skip_locked=True)
    )
