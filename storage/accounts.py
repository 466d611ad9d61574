"""Queries of an agent's export, page by page in a stable order, and of agents that left."""

from functools import cache

from sqlalchemy import bindparam, literal, select

from storage.query import Query
from storage.statements import LIMIT, delete_where, in_json_list, matching, newest_ids, newest_of, newest_rows, rows_at
from storage.tables import DepartureRow, JobRow, ListingRow, ProposalRow, ReportRow, ReviewRow, ThreadRow
from storage.vocabulary import ProposalStatus

threads_by_id: Query[ThreadRow] = newest_of(
    ThreadRow, [newest_ids(ThreadRow, side) for side in (ThreadRow.a, ThreadRow.b)]
)
proposals_by_id: Query[ProposalRow] = newest_of(
    ProposalRow,
    [
        newest_ids(ProposalRow, ProposalRow.seller_id, ProposalRow.status == literal(one.value))
        for one in ProposalStatus
    ],
)
proposals_by_seller: Query[ProposalRow] = Query(
    select(ProposalRow)
    .where(*matching(ProposalRow.bounty_id), ProposalRow.seller_id > bindparam("after"))
    .order_by(ProposalRow.seller_id)
    .limit(LIMIT)
)
reviews_written: Query[ReviewRow] = Query(
    select(ReviewRow)
    .where(in_json_list(ReviewRow.job_id, "job_ids"), ReviewRow.reviewer_id == bindparam("agent_id"))
    .order_by(ReviewRow.id.desc())
)
reports_of: Query[ReportRow] = newest_rows(ReportRow, *matching(ReportRow.agent_id, ReportRow.env))

# Agents that left, and their open jobs and listings, in batches.

due_departures: Query[str] = Query(
    select(DepartureRow.agent_id)
    .where(DepartureRow.due_at <= bindparam("now"))
    .order_by(DepartureRow.due_at, DepartureRow.agent_id)
    .limit(LIMIT)
)
forget_departure = delete_where(DepartureRow, *matching(DepartureRow.agent_id))


@cache
def jobs_at(role: str, env: str, status: str) -> Query[JobRow]:
    """Build the query of an agent's jobs in one role, environment and status, by id.

    Jobs that another unit of work has locked are skipped.
    """
    party = {"buyer": JobRow.buyer_id, "seller": JobRow.seller_id}[role]
    return Query(rows_at(JobRow, party, env, status).with_for_update(skip_locked=True))


@cache
def listings_at(env: str, status: str) -> Query[ListingRow]:
    """Build the query of an agent's listings in one environment and status, by id.

    Listings that another unit of work has locked are skipped.
    """
    return Query(rows_at(ListingRow, ListingRow.seller_id, env, status).with_for_update(skip_locked=True))
