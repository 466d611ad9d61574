"""Queries of agents that left: who they are, and what of theirs is still open, a batch at a time."""

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
    """Jobs of one environment and status an agent is buyer or seller of, by id; those another unit holds are skipped."""
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
    """An agent's listings of one environment and status, by id; those another unit holds are skipped."""
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
