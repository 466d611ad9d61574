"""Queries of listings, of their terms before a change, and of the rows that their figures are computed from."""

from typing import Any

from sqlalchemy import bindparam, delete, literal, select

from storage.query import Query
from storage.statements import count, in_json_list, is_one_of, matching, newest_rows_chosen, unless_large
from storage.tables import DocumentRow, JobResultRow, JobRow, ListingRow, ListingTermsRow, ReviewRow, SettlementRow

_OF_SELLER = matching(ListingRow.seller_id, ListingRow.env)
kept_listings_of = count(ListingRow, *_OF_SELLER, is_one_of(ListingRow.status, ("active", "paused")))
active_listings_of = count(ListingRow, *_OF_SELLER, ListingRow.status == literal("active"))
unfinished_job_of: Query[str] = Query(
    select(JobRow.id).where(*matching(JobRow.listing_id), in_json_list(JobRow.status, "statuses")).limit(1)
)
documents_with: Query[Any] = Query(
    select(DocumentRow.hash, unless_large(DocumentRow.text)).where(in_json_list(DocumentRow.hash, "hashes"))
)
promise_at = Query(
    select(ListingTermsRow)
    .where(
        *matching(ListingTermsRow.listing_id), ListingTermsRow.until > bindparam("at", type_=ListingTermsRow.until.type)
    )
    .order_by(ListingTermsRow.listing_version)
    .limit(1)
)
forget_promises: Query[str] = Query(
    delete(ListingTermsRow.__table__)
    .where(*matching(ListingTermsRow.listing_id))
    .returning(ListingTermsRow.__table__.c.promised)
)
listing_by_external_id: Query[ListingRow] = Query(
    select(ListingRow).where(*_OF_SELLER, *matching(ListingRow.external_id), ListingRow.status != literal("archived"))
)
paused_by_market: Query[str] = Query(
    select(ListingRow.id)
    .where(
        in_json_list(ListingRow.seller_id, "sellers"),
        is_one_of(ListingRow.env, ("live", "test")),
        ListingRow.status == literal("paused"),
        ListingRow.paused_by == literal("market"),
    )
    .order_by(ListingRow.id)
)
listings_of_seller = newest_rows_chosen(ListingRow, *_OF_SELLER, by=ListingRow.status)

# Figures: the median turnaround, and the rows that all figures are computed from.

turnaround_at = Query(
    select(JobResultRow.seconds)
    .where(*matching(JobResultRow.listing_id), JobResultRow.seconds.is_not(None))
    .order_by(JobResultRow.seconds)
    .offset(bindparam("place"))
    .limit(1)
)
listing_ids: Query[str] = Query(select(ListingRow.id))
closed_of_listing: Query[Any] = Query(
    select(
        JobRow.id, JobRow.env, JobRow.status, JobRow.closed_as, JobRow.outcome, JobRow.accepted_at, JobRow.delivered_at
    ).where(*matching(JobRow.listing_id), is_one_of(JobRow.status, ("completed", "resolved", "cancelled")))
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
    .where(*matching(JobRow.listing_id))
    .order_by(SettlementRow.id)
)
ratings_of_listing: Query[Any] = Query(
    select(ReviewRow.job_id, ReviewRow.rating).where(
        *matching(ReviewRow.listing_id), ReviewRow.role == literal("buyer")
    )
)
