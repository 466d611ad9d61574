"""Queries of listings."""

from functools import cache

from sqlalchemy import bindparam, delete, func, literal, or_, select

from storage.json_in import in_json_list
from storage.query import Query
from storage.tables import JobRow, ListingRow, ListingTermsRow

kept_listings_of = Query(
    select(func.count())
    .select_from(ListingRow.__table__)
    .where(
        ListingRow.seller_id == bindparam("seller_id"),
        ListingRow.env == bindparam("env"),
        or_(ListingRow.status == literal("active"), ListingRow.status == literal("paused")),
    )
)
active_listings_of = Query(
    select(func.count())
    .select_from(ListingRow.__table__)
    .where(
        ListingRow.seller_id == bindparam("seller_id"),
        ListingRow.env == bindparam("env"),
        ListingRow.status == literal("active"),
    )
)

unfinished_job_of: Query[str] = Query(
    select(JobRow.id)
    .where(JobRow.listing_id == bindparam("listing_id"), in_json_list(JobRow.status, "statuses"))
    .limit(1)
)
promise_at = Query(
    select(ListingTermsRow)
    .where(
        ListingTermsRow.listing_id == bindparam("listing_id"),
        ListingTermsRow.until > bindparam("at", type_=ListingTermsRow.until.type),
    )
    .order_by(ListingTermsRow.listing_version)
    .limit(1)
)
forget_promises: Query[str] = Query(
    delete(ListingTermsRow.__table__)
    .where(ListingTermsRow.listing_id == bindparam("listing_id"))
    .returning(ListingTermsRow.__table__.c.promised)
)


@cache
def listings_of_seller(filtered: bool) -> Query[ListingRow]:
    """Build the query of a page of a seller's own listings, newest first.

    With `filtered`, only those of one status.
    """
    conditions = [
        ListingRow.seller_id == bindparam("seller_id"),
        ListingRow.env == bindparam("env"),
        ListingRow.id < bindparam("before"),
    ]
    if filtered:
        conditions.append(ListingRow.status == bindparam("status"))
    return Query(select(ListingRow).where(*conditions).order_by(ListingRow.id.desc()).limit(bindparam("limit")))
