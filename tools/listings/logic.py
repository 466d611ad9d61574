"""Listings: their records, their entries in the search index, and the texts that earlier orders were promised."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Annotated, Any, Literal

import orjson
import structlog
from pydantic import StringConstraints

from storage.listing_search import give_up_stale, index_listing, stale_listings
from storage.listings import forget_promises, promise_at, unfinished_job_of
from storage.search_tokens import TOKENS_VERSION
from storage.tables import AgentRow, JobRow, ListingRow, ListingTermsRow
from storage.transaction import Tx
from storage.vocabulary import FINAL, Env, JobStatus, PricingModel
from tools.engine.caches import CachedListing
from tools.engine.context import ReadContext
from tools.engine.documents import TextsAhead, texts_ahead
from tools.engine.errors import NotFound
from tools.kernel.money import price_display
from tools.kernel.records import Json, encode, etag, record_from, shortened, spliced, stamp_or_none
from tools.kernel.search_terms import index_terms
from tools.listings.records import HowToOrder, Listing, ListingStats, Pricing, SellerCard
from tools.reputation.views import SellerRecord, records_of

BRIEF_CHARACTERS = 500
INDEXED_AT_ONCE = 50
UNFINISHED = [status.value for status in JobStatus if status not in FINAL]
log = structlog.get_logger("emporion.steps")

Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=48, to_lower=True)]
Category = Annotated[str, StringConstraints(strip_whitespace=True, min_length=2, max_length=48, to_lower=True)]
PricingModelWord = Literal["fixed", "per_unit", "quote"]


def cache_name(listing_id: str) -> str:
    return f"listing:{listing_id}"


def show_listing(tx: Tx, listing_id: str) -> CachedListing | None:
    """Return the listing as JSON text, whole and brief; None if it does not exist."""
    row = tx.get(ListingRow, listing_id)
    if row is None:
        return None
    seller = tx.need(AgentRow, row.seller_id)
    work = records_of(tx, seller.id, Env(row.env), [row.category])[row.category]
    record = listing_record(row, seller, work, schemas_of(tx, [row]))
    brief = replace(record, description=shortened(record.description, BRIEF_CHARACTERS))
    body, short = encode(record), encode(brief)
    return CachedListing(row.id, Env(row.env), row.seller_id, row.status, body, short, etag(body + short))


async def shown_listing(read_ctx: ReadContext, listing_id: str) -> CachedListing | None:
    """Return the listing as JSON text; None if it does not exist."""
    read = lambda: read_ctx.store.read(lambda tx: show_listing(tx, listing_id))  # noqa: E731 - reads as what it is
    return await read_ctx.services.caches.listings.fetch(cache_name(listing_id), read)


def own_listing(tx: Tx, listing_id: str, agent_id: str | None, env: Env, *, lock: bool = False) -> ListingRow:
    """Return the listing if it is the agent's, in this environment; otherwise raise NotFound."""
    row = tx.get(ListingRow, listing_id, lock=lock)
    if row is None or row.seller_id != agent_id or row.env != env:
        raise NotFound("you have no such listing", param="listing_id")
    return row


def schemas_of(tx: Tx, rows: Sequence[ListingRow]) -> TextsAhead[str | None]:
    """Read the schemas of these listings in one statement."""
    return texts_ahead(tx, (hashed for row in rows for hashed in (row.input_schema, row.output_schema)))


def listing_record(row: ListingRow, seller: AgentRow, work: SellerRecord, schemas: TextsAhead[str | None]) -> Listing:
    """Return the record of a listing; `work` is its seller's record in the category."""
    schema = schemas.get(row.input_schema)
    return record_from(
        Listing,
        row,
        pricing=record_from(
            Pricing,
            row,
            model=PricingModel(row.pricing_model),
            unit_basis=spliced(row.unit_basis),
            display=price_display(row.pricing_model, row.price, row.unit_name),
        ),
        input_schema=spliced(schema),
        output_schema=spliced(schemas.get(row.output_schema)),
        example_input=spliced(row.example_input),
        example_output=spliced(row.example_output),
        acceptance=spliced(row.acceptance),
        stats=ListingStats(**orjson.loads(row.stats)),
        first_party=seller.first_party,
        seller=record_from(SellerCard, seller, reputation=work.card, response_rate=work.response_rate),
        seller_last_seen_at=stamp_or_none(seller.last_seen_at),
        how_to_order=HowToOrder(body_example=_order_example(row, schema)),
    )


def index(tx: Tx, row: ListingRow) -> None:
    """Update the listing's entry in the search index and drop it from every cache."""
    terms = index_terms(row.title, row.description, row.tags, row.category)
    index_listing(tx, row, terms, rating_shown(row))
    tx.invalidate(cache_name(row.id))


def rating_shown(row: ListingRow) -> float | None:
    """Return the average rating in the listing's figures."""
    rating: float | None = orjson.loads(row.stats)["rating_avg"]
    return rating


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """The texts of a listing. Schemas, price, deadlines and rules are copied into each job."""

    title: str
    description: str
    category: str
    tags: str  # JSON list
    unit_name: str | None
    example_input: str | None  # JSON
    example_output: str | None  # JSON
    changed_since: bool  # whether the listing changed after the order


WORDS = [one.name for one in fields(Promised) if one.name in ListingRow.__names__]


def keep_promise(tx: Tx, before: ListingRow, after: ListingRow, now: datetime) -> int:
    """Store the listing's old texts if they change while jobs are under way.

    Without jobs under way, the texts stored before are deleted instead. Returns the change of the stored bytes.
    """
    text = _text(before)
    if text == _text(after):
        return 0
    if tx.one(unfinished_job_of, listing_id=before.id, statuses=UNFINISHED) is None:
        return -sum(len(one.encode()) for one in tx.all(forget_promises, listing_id=before.id))
    tx.add(ListingTermsRow(listing_id=before.id, listing_version=before.version, promised=text, until=now))
    return len(text.encode())


def promised_to(tx: Tx, job: JobRow) -> Promised | None:
    """Return the listing's texts at the time of the job's order; None without a listing."""
    listing = tx.get(ListingRow, job.listing_id) if job.listing_id else None
    if listing is None:
        return None
    kept = tx.one(promise_at, listing_id=listing.id, at=job.created_at)
    text = kept.promised if kept else _text(listing)
    return Promised(**orjson.loads(text), changed_since=listing.updated_at > job.created_at)


def _text(row: ListingRow) -> str:
    words = {name: getattr(row, name) for name in WORDS}
    return orjson.dumps(words | {"tags": orjson.dumps(row.tags).decode()}).decode()
