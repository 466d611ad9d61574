"""Queries of jobs: whose they are, whom they wait for, which are due."""

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, bindparam, delete, func, literal, or_, select

from storage.among import among
from storage.query import Query
from storage.tables import AgentRow, JobEventRow, JobRow, OpenRefundRow, ReviewRow, SettlementRow

reviews_of_job = Query(select(ReviewRow).where(ReviewRow.job_id == bindparam("job_id")))
reviews_of_jobs = Query(select(ReviewRow).where(among(ReviewRow.job_id, "job_ids")))
settlements_of_job = Query(
    select(SettlementRow).where(SettlementRow.job_id == bindparam("job_id")).order_by(SettlementRow.id)
)
settlements_of_jobs = Query(
    select(SettlementRow).where(among(SettlementRow.job_id, "job_ids")).order_by(SettlementRow.id)
)
settlement_by_hash = Query(
    select(SettlementRow).where(
        SettlementRow.network == bindparam("network"), SettlementRow.tx_hash == bindparam("tx_hash")
    )
)
handles_of: Query[Any] = Query(select(AgentRow.id, AgentRow.handle).where(among(AgentRow.id, "ids")))
audit_of = Query(select(JobEventRow).where(JobEventRow.job_id == bindparam("job_id")).order_by(JobEventRow.id))
waiting_for = Query(
    select(JobRow)
    .where(JobRow.waits_for == bindparam("agent_id"), JobRow.env == bindparam("env"))
    .order_by(JobRow.act_by, JobRow.id)
    .limit(bindparam("limit"))
)
owing_refunds = Query(
    select(JobRow)
    .join_from(OpenRefundRow.__table__, JobRow.__table__, JobRow.id == OpenRefundRow.job_id)
    .where(OpenRefundRow.seller_id == bindparam("seller_id"), OpenRefundRow.env == bindparam("env"))
    .order_by(OpenRefundRow.job_id)
    .limit(bindparam("limit"))
)
close_refund = Query(delete(OpenRefundRow.__table__).where(OpenRefundRow.job_id == bindparam("job_id")))
due_notices = Query(
    select(JobRow)
    .where(
        JobRow.notice_at >= bindparam("since"),
        JobRow.notice_at <= bindparam("until"),
        or_(JobRow.notice_at > bindparam("since"), JobRow.id > bindparam("after")),
    )
    .order_by(JobRow.notice_at, JobRow.id)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)

FILLING = ("open", "quote_requested", "quoted", "awaiting_payment", "in_progress")
UNFINISHED = (*FILLING, "delivered", "disputed")


def _in(column: Any, words: tuple[str, ...]) -> ColumnElement[bool]:
    """`column` is one of these constants; `in_` would make another statement for every length."""
    return or_(*(column == literal(word) for word in words))


_OCCUPYING = JobRow.listing_id == bindparam("listing_id"), _in(JobRow.status, FILLING)
places_taken = Query(select(func.count()).select_from(JobRow.__table__).where(*_OCCUPYING))
places_taken_by = Query(
    select(func.count()).select_from(JobRow.__table__).where(*_OCCUPYING, JobRow.buyer_id == bindparam("buyer_id"))
)
unfinished_of = Query(
    select(func.count())
    .select_from(JobRow.__table__)
    .where(JobRow.buyer_id == bindparam("buyer_id"), JobRow.env == bindparam("env"), _in(JobRow.status, UNFINISHED))
)


@cache
def jobs_of(role: str, filtered: bool) -> Query[JobRow]:
    """A page of the caller's jobs, newest first. `role`: buyer, seller or both."""
    mine = {
        "buyer": JobRow.buyer_id == bindparam("agent_id"),
        "seller": JobRow.seller_id == bindparam("agent_id"),
        "both": (JobRow.buyer_id == bindparam("agent_id")) | (JobRow.seller_id == bindparam("agent_id")),
    }[role]
    conditions = [mine, JobRow.env == bindparam("env"), JobRow.id < bindparam("before")]
    if filtered:
        conditions.append(JobRow.status == bindparam("status"))
    return Query(select(JobRow).where(*conditions).order_by(JobRow.id.desc()).limit(bindparam("limit")))


@cache
def due_jobs(status: str, deadline: str) -> Query[JobRow]:
    """Jobs of a status whose deadline has passed, by id; locked, those another worker holds are skipped."""
    column = JobRow.__table__.c[deadline]
    return Query(
        select(JobRow)
        .where(JobRow.status == literal(status), column <= bindparam("until"), JobRow.id > bindparam("after"))
        .order_by(JobRow.id)
        .limit(bindparam("limit"))
        .with_for_update(skip_locked=True)
    )
