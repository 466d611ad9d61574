"""Listings: their records, whole and brief, and their entries in the search index."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import orjson
import structlog
from pydantic import StringConstraints

from storage.listing_search import give_up_stale, index_listing, stale_listings
from storage.search_tokens import TOKENS_VERSION
from storage.tables import AgentRow, ListingRow
from storage.transaction import Tx
from storage.vocabulary import Env, ListingStatus, PricingModel, Timing
from tools.engine.caches import CachedListing
from tools.engine.documents import text_of
from tools.kernel.money import price_display
from tools.kernel.records import Json, encode, spliced, stamp, stamp_or_none
from tools.kernel.search_terms import index_terms
from tools.listings.records import HowToOrder, Listing, ListingStats, Pricing, SellerCard
from tools.reputation.views import SellerRecord, records_of

BRIEF_CHARACTERS = 500
INDEXED_AT_ONCE = 50
log = structlog.get_logger("emporion.steps")

Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=48, to_lower=True)]
Category = Annotated[str, StringConstraints(strip_whitespace=True, min_length=2, max_length=48, to_lower=True)]
PaymentTiming = Literal["on_delivery", "upfront"]
PricingModelWord = Literal["fixed", "per_unit", "quote"]


def cache_name(listing_id: str) -> str:
    return f"listing:{listing_id}"


def show_listing(tx: Tx, listing_id: str) -> CachedListing | None:
    """Return the listing as JSON text, whole and brief; None if it does not exist."""
    row = tx.get(ListingRow, listing_id)
    if row is None:
        return None
    seller = tx.get(AgentRow, row.seller_id)
    assert seller is not None
    work = records_of(tx, seller.id, Env(row.env), [row.category])[row.category]
    record = listing_record(tx, row, seller, work)
    short = record.description[:BRIEF_CHARACTERS]
    brief = record if short == record.description else replace(record, description=short[:-3] + "...")
    archived = row.status is ListingStatus.ARCHIVED
    return CachedListing(row.id, Env(row.env), row.seller_id, archived, encode(record), encode(brief))


def listing_record(tx: Tx, row: ListingRow, seller: AgentRow, work: SellerRecord) -> Listing:
    """Return the record of a listing; `work` is its seller's record in the category."""
    schema = text_of(tx, row.input_schema)
    return Listing(
        id=row.id,
        title=row.title,
        description=row.description,
        category=row.category,
        tags=orjson.loads(row.tags),
        pricing=Pricing(
            model=PricingModel(row.pricing_model),
            price=row.price,
            unit_name=row.unit_name,
            unit_basis=spliced(row.unit_basis),
            unit_basis_note=row.unit_basis_note,
            display=price_display(row.pricing_model, row.price, row.unit_name),
        ),
        payment=Timing(row.payment),
        input_schema=spliced(schema),
        output_schema=spliced(text_of(tx, row.output_schema)),
        example_input=spliced(row.example_input),
        example_output=spliced(row.example_output),
        acceptance=spliced(row.acceptance),
        turnaround_seconds=row.turnaround_seconds,
        accept_timeout_seconds=row.accept_timeout_seconds,
        max_open_jobs=row.max_open_jobs,
        status=row.status.value,
        graduated=row.graduated,
        stats=ListingStats(**orjson.loads(row.stats)),
        content_warnings=orjson.loads(row.content_warnings),
        first_party=seller.first_party,
        seller=seller_card(seller, work),
        seller_last_seen_at=stamp_or_none(seller.last_seen_at),
        how_to_order=HowToOrder(body_example=_order_example(row, schema)),
        env=Env(row.env),
        created_at=stamp(row.created_at),
        updated_at=stamp(row.updated_at),
    )


def seller_card(seller: AgentRow, work: SellerRecord) -> SellerCard:
    return SellerCard(
        id=seller.id,
        handle=seller.handle,
        name=seller.name,
        trust_tier=seller.trust_tier,
        first_party=seller.first_party,
        verified_domain=seller.verified_domain,
        reputation=work.card,
        response_rate=work.response_rate,
    )


def index(tx: Tx, row: ListingRow) -> None:
    """Update the listing's entry in the search index and drop it from every cache."""
    terms = index_terms(row.title, row.description, orjson.loads(row.tags), row.category)
    index_listing(tx, row, terms, orjson.loads(row.stats)["rating_avg"])
    tx.invalidate(cache_name(row.id))


def index_stale(tx: Tx) -> bool:
    """Reindex a batch of listings whose search tokens are of an old version.

    Returns False if there were none. If a listing fails, the error is logged and the listing keeps its old tokens.
    """
    waiting = tx.all(stale_listings, version=TOKENS_VERSION, limit=INDEXED_AT_ONCE)
    for listing_id in waiting:
        with tx.alone() as kept:
            row = tx.get(ListingRow, listing_id, lock=True)
            if row is not None:
                index(tx, row)
        if kept.error is not None:
            log.error("a row failed", step="index_stale", id=listing_id, error=repr(kept.error))
            tx.run(give_up_stale, listing_id=listing_id)
    return bool(waiting)


def _order_example(row: ListingRow, schema: str | None) -> dict[str, Json]:
    """Return an example order: with the listing's example input, or with placeholders."""
    units = {"units": 1} if row.pricing_model == PricingModel.PER_UNIT and row.unit_basis is None else {}
    if row.example_input is not None:
        return {"listing_id": row.id, "input": spliced(row.example_input), **units}
    properties: dict[str, Any] = orjson.loads(schema).get("properties", {}) if schema else {}
    required = orjson.loads(schema).get("required", []) if schema else []
    return {"listing_id": row.id, "input": {name: f"<{_type_of(properties.get(name))}>" for name in required}, **units}


def _type_of(schema: Json) -> str:
    return str(schema.get("type", "value")) if isinstance(schema, dict) else "value"
