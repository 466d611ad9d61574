"""Queries of a listing's figures: its median turnaround, and the rows that its figures are computed from."""

from typing import Any

from sqlalchemy import bindparam, literal, or_, select

from storage.query import Query
from storage.tables import JobResultRow, JobRow, ListingRow, ReviewRow, SettlementRow

turnaround_at = Query(
    select(JobResultRow.seconds)
    .where(JobResultRow.listing_id == bindparam("listing_id"), JobResultRow.seconds.is_not(None))
    .order_by(JobResultRow.seconds)
    .offset(bindparam("place"))
    .limit(1)
)
listing_ids: Query[str] = Query(select(ListingRow.id))
_CLOSED = or_(*(JobRow.status == literal(word) for word in ("completed", "resolved", "cancelled")))
closed_of_listing: Query[Any] = Query(
    select(
        JobRow.id,
        JobRow.env,
        JobRow.status,
        JobRow.closed_as,
        JobRow.outcome,
        JobRow.accepted_at,
        JobRow.delivered_at,
    ).where(JobRow.listing_id == bindparam("listing_id"), _CLOSED)
)
transfers_of_listing: Query[Any] = Query(
    select(
        SettlementRow.job_id,
        SettlementRow.kind,
        SettlementRow.status,
        SettlementRow.amount,
        SettlementRow.payer_address,
    )
    .select_from(JobRow.__table__.join(SettlementRow.__table__, SettlementRow.job_id == JobRow.id))
    .where(JobRow.listing_id == bindparam("listing_id"))
    .order_by(SettlementRow.id)
)
ratings_of_listing: Query[Any] = Query(
    select(ReviewRow.job_id, ReviewRow.rating).where(
        ReviewRow.listing_id == bindparam("listing_id"), ReviewRow.role == literal("buyer")
    )
)
