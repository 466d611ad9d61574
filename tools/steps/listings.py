"""Listings as others need them: shown, indexed for search, and their figures kept true."""

from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

import orjson
from pydantic import StringConstraints

from storage.jobs import finished_of_listing, ratings_of_listing, transfers_of_listing
from storage.listings import figures_of_listings
from storage.search import index_listing
from storage.tables import AgentRow, ListingRow, ListingStatus
from storage.unit import Tx
from tools.context import Context
from tools.ports import Env
from tools.records.base import Json, encode, spliced, stamp
from tools.records.listings import HowToOrder, Listing, ListingStats, Pricing, SellerCard
from tools.rules.jobfacts import PricingModel, Timing
from tools.rules.money import price_display
from tools.rules.stats import FinishedJob, Transfer, figures
from tools.rules.words import index_terms
from tools.shelf import Shown
from tools.steps.documents import text_of

BRIEF_CHARACTERS = 500
MOST_PRICE = 10**12

Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=48, to_lower=True)]
Category = Annotated[str, StringConstraints(strip_whitespace=True, min_length=2, max_length=48, to_lower=True)]
PaymentTiming = Literal["on_delivery", "upfront"]
PricingModelWord = Literal["fixed", "per_unit", "quote"]


def cache_name(listing_id: str) -> str:
    return f"listing:{listing_id}"


def show_listing(tx: Tx, listing_id: str) -> Shown | None:
    """The listing as JSON text, whole and as lists show it; None where there is none."""
    row = tx.get(ListingRow, listing_id)
    if row is None:
        return None
    seller = tx.get(AgentRow, row.seller_id)
    assert seller is not None
    record = listing_record(tx, row, seller)
    short = record.description[:BRIEF_CHARACTERS]
    brief = record if short == record.description else replace(record, description=short[:-3] + "...")
    archived = row.status is ListingStatus.ARCHIVED
    return Shown(row.id, Env(row.env), row.seller_id, archived, encode(record), encode(brief))


def listing_record(tx: Tx, row: ListingRow, seller: AgentRow) -> Listing:
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
            display=price_display(row.pricing_model, row.price, row.unit_name),
        ),
        payment=Timing(row.payment),
        input_schema=spliced(schema),
        output_schema=spliced(text_of(tx, row.output_schema)),
        example_input=spliced(row.example_input),
        example_output=spliced(row.example_output),
        turnaround_seconds=row.turnaround_seconds,
        accept_timeout_seconds=row.accept_timeout_seconds,
        max_open_jobs=row.max_open_jobs,
        status=row.status.value,
        graduated=row.graduated,
        stats=ListingStats(**orjson.loads(row.stats)),
        content_warnings=orjson.loads(row.content_warnings),
        first_party=row.first_party,
        seller=seller_card(seller),
        how_to_order=HowToOrder(body_example=_order_example(row, schema)),
        env=Env(row.env),
        created_at=stamp(row.created_at),
        updated_at=stamp(row.updated_at),
    )


def seller_card(seller: AgentRow) -> SellerCard:
    return SellerCard(
        id=seller.id,
        handle=seller.handle,
        name=seller.name,
        trust_tier=seller.trust_tier,
        first_party=seller.first_party,
        verified_domain=seller.verified_domain,
        reputation=None,
    )


def index(tx: Tx, row: ListingRow) -> None:
    """Make search show the listing as it now stands, and every cache forget what it was."""
    terms = index_terms(row.title, row.description, orjson.loads(row.tags), row.category)
    index_listing(tx, row, terms, orjson.loads(row.stats)["rating_avg"])
    tx.forget(cache_name(row.id))


def recount(ctx: Context, listing_id: str | None) -> None:
    """Recompute a listing's figures from its jobs, settlements and reviews, in this unit of work."""
    if listing_id is None:
        return
    row = ctx.tx.get(ListingRow, listing_id, lock=True)
    assert row is not None
    stats, graduated = recomputed(ctx.tx, listing_id)
    text = orjson.dumps(asdict(stats)).decode()
    if (text, graduated) != (row.stats, row.graduated):
        index(ctx.tx, ctx.tx.change(row, stats=text, graduated=graduated))


def recomputed(tx: Tx, listing_id: str) -> tuple[ListingStats, bool]:
    """Listing.stats and graduated, from rows."""
    jobs = [FinishedJob(*row) for row in tx.all(finished_of_listing, listing_id=listing_id)]
    transfers = [Transfer(*row) for row in tx.all(transfers_of_listing, listing_id=listing_id)]
    count, mean = tx.one(ratings_of_listing, listing_id=listing_id) or (0, None)
    rating = None if mean is None else round(float(mean), 2)
    found = figures(jobs, transfers, rating)
    stats = ListingStats(
        jobs_completed=found.jobs_completed,
        jobs_failed=found.jobs_failed,
        distinct_buyers=found.distinct_buyers,
        rating_avg=rating,
        rating_count=count,
        median_turnaround_seconds=found.median_turnaround_seconds,
        volume_usdc=found.volume_minor,
        jobs_paid=found.jobs_paid,
    )
    return stats, found.graduated


def _order_example(row: ListingRow, schema: str | None) -> dict[str, Json]:
    """An order that can be sent as it stands where the listing has an example; placeholders where not."""
    if row.example_input is not None:
        return {"listing_id": row.id, "input": spliced(row.example_input)}
    properties: dict[str, Any] = orjson.loads(schema).get("properties", {}) if schema else {}
    required = orjson.loads(schema).get("required", []) if schema else []
    return {"listing_id": row.id, "input": {name: f"<{_type_of(properties.get(name))}>" for name in required}}


def _type_of(schema: Json) -> str:
    return str(schema.get("type", "value")) if isinstance(schema, dict) else "value"


def drifted_listings(tx: Tx) -> list[str]:
    """The ids of listings whose stored figures differ from what their rows come to. Reads everything."""
    drifted = []
    for listing_id, stored, graduated in tx.all(figures_of_listings):
        stats, proven = recomputed(tx, listing_id)
        if (orjson.dumps(asdict(stats)).decode(), proven) != (stored, graduated):
            drifted.append(listing_id)
    return drifted
