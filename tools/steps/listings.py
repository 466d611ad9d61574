"""Listings as others need them: shown, and indexed for search."""

from dataclasses import replace
from typing import Annotated, Any, Literal

import orjson
from pydantic import StringConstraints

from storage.search import index_listing
from storage.tables import AgentRow, ListingRow, ListingStatus
from storage.unit import Tx
from tools.ports import Env
from tools.records.base import Json, encode, spliced, stamp
from tools.records.listings import HowToOrder, Listing, ListingStats, Pricing, ReputationCard, SellerCard
from tools.rules.jobfacts import PricingModel, Timing
from tools.rules.money import price_display
from tools.rules.words import index_terms
from tools.shelf import Shown
from tools.steps.documents import text_of
from tools.steps.standing import cards_of

BRIEF_CHARACTERS = 500

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
    card = cards_of(tx, seller.id, Env(row.env), [row.category])[row.category]
    record = listing_record(tx, row, seller, card)
    short = record.description[:BRIEF_CHARACTERS]
    brief = record if short == record.description else replace(record, description=short[:-3] + "...")
    archived = row.status is ListingStatus.ARCHIVED
    return Shown(row.id, Env(row.env), row.seller_id, archived, encode(record), encode(brief))


def listing_record(tx: Tx, row: ListingRow, seller: AgentRow, card: ReputationCard | None) -> Listing:
    """A listing; `card` is its seller's reputation."""
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
        seller=seller_card(seller, card),
        how_to_order=HowToOrder(body_example=_order_example(row, schema)),
        env=Env(row.env),
        created_at=stamp(row.created_at),
        updated_at=stamp(row.updated_at),
    )


def seller_card(seller: AgentRow, card: ReputationCard | None) -> SellerCard:
    return SellerCard(
        id=seller.id,
        handle=seller.handle,
        name=seller.name,
        trust_tier=seller.trust_tier,
        first_party=seller.first_party,
        verified_domain=seller.verified_domain,
        reputation=card,
    )


def index(tx: Tx, row: ListingRow) -> None:
    """Make search show the listing as it now stands, and every cache forget what it was."""
    terms = index_terms(row.title, row.description, orjson.loads(row.tags), row.category)
    index_listing(tx, row, terms, orjson.loads(row.stats)["rating_avg"])
    tx.forget(cache_name(row.id))


def _order_example(row: ListingRow, schema: str | None) -> dict[str, Json]:
    """An order that can be sent as it stands where the listing has an example; placeholders where not."""
    units = {"units": 1} if row.pricing_model == PricingModel.PER_UNIT and row.unit_basis is None else {}
    if row.example_input is not None:
        return {"listing_id": row.id, "input": spliced(row.example_input), **units}
    properties: dict[str, Any] = orjson.loads(schema).get("properties", {}) if schema else {}
    required = orjson.loads(schema).get("required", []) if schema else []
    return {"listing_id": row.id, "input": {name: f"<{_type_of(properties.get(name))}>" for name in required}, **units}


def _type_of(schema: Json) -> str:
    return str(schema.get("type", "value")) if isinstance(schema, dict) else "value"
