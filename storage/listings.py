"""Queries of listings."""

from sqlalchemy import bindparam, func, literal, select

from storage.query import Query
from storage.tables import ListingRow

active_listings_of = Query(
    select(func.count())
    .select_from(ListingRow.__table__)
    .where(
        ListingRow.seller_id == bindparam("seller_id"),
        ListingRow.env == bindparam("env"),
        ListingRow.status == literal("active"),
    )
)
