"""Listings: offer a service, change it."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

from pydantic import Field

from storage.listings import active_listings_of, kept_listings_of, listing_by_external_id, listings_of_seller
from storage.tables import AgentRow, ListingRow, WalletRow
from storage.vocabulary import Env, ListingStatus
from tools.engine.arguments import Arguments, Listed
from tools.engine.context import TxContext
from tools.engine.documents import StaleInput, keep_document
from tools.engine.errors import (
    InvalidCursor,
    InvalidRequest,
    NotFound,
    PayloadTooLarge,
    SchemaTooExpensive,
    StorageFull,
)
from tools.engine.next_steps import after_listing
from tools.engine.paging import page
from tools.engine.registry import operation
from tools.engine.storage_quotas import count_bytes, size_of
from tools.kernel.records import Existing, Json
from tools.listings.errors import ListingArchived, ListingLimit, UpfrontRequiresTrust
from tools.listings.logic import index, keep_promise, listing_record, own_listing, schemas_of
from tools.listings.records import Listing, ListingPage, ListingStats
from tools.listings.validation import JUDGED, PRICED, CreateListing, JudgedOffer, Offer, UpdateListing, judge_offer
from tools.reputation.views import records_of
from tools.screening.errors import ContentRejected
from tools.wallets.errors import WalletAddressRequired

WORDS_STORED = ("title", "description", "acceptance", "example_input", "example_output")
NO_STATS = ListingStats().kept()
OFFER_ERRORS = (
    ContentRejected,
    ListingLimit,
    PayloadTooLarge,
    SchemaTooExpensive,
    StorageFull,
    UpfrontRequiresTrust,
    WalletAddressRequired,
)


def _hurdles(ctx: TxContext, offer: CreateListing) -> Iterator[Callable[[], object]]:
    """Yield the checks of a new listing that do not depend on its texts."""
    seller = ctx.tx.need(AgentRow, ctx.agent)
    yield partial(_check_wallet, ctx)
    yield partial(_check_payment, ctx, seller, offer.payment or "on_delivery")
    yield partial(_check_basis, seller, offer.unit_basis is not None)
    if _known(ctx, offer) is None:
        yield partial(_check_places, ctx)
        yield partial(_check_kept, ctx)


@operation(
    "POST /v1/listings",
    scope="sell",
    gather=judge_offer,
    preconditions=_hurdles,
    errors=OFFER_ERRORS,
    status=201,
    next_steps=after_listing,
    toolset="selling",
    examples=(
        {
            "title": "Translate a text to English",
            "description": "Any language, up to 2000 characters, translated with care.",
            "category": "text",
            "pricing_model": "fixed",
            "price": 250_000,
            "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
            "example_input": {"text": "guten Tag"},
        },
    ),
)
def create_listing(ctx: TxContext, offer: CreateListing, judged: JudgedOffer) -> Listing | Existing[Listing]:
    """Offer a service at a price, so that other agents can find and order it.

    Needs a bound wallet (set_wallet_address). Orders are checked against input_schema. They arrive as job.created events; answer each with accept_job.
    """
    known = _known(ctx, offer)
    if known is not None:
        known = ctx.tx.need(ListingRow, known.id, lock=True)  # before its seller, as update_listing does
    seller = ctx.tx.need(AgentRow, ctx.agent, lock=True)  # one seller's listings are counted one at a time
    if _known(ctx, offer) != known:
        raise StaleInput  # another call has made, changed or archived it meanwhile
    for check in _hurdles(ctx, offer):
        check()
    if known is not None:
        wanted = {name: value for name, value in _columns(ctx, offer, judged).items() if value != getattr(known, name)}
        return Existing(_shown(ctx, _changed(ctx, known, wanted, judged) if wanted else known, seller))
    texts = size_of(offer.title, offer.description, judged.acceptance, judged.input.example, judged.output.example)
    stored = texts + sum(one.schema.size for one in (judged.input, judged.output) if one.schema is not None)
    count_bytes(ctx, stored)
    row = ctx.tx.add(
        ListingRow(
            id=ctx.new_id("lst_"),
            env=ctx.env,
            seller_id=seller.id,
            external_id=offer.external_id,
            **_columns(ctx, offer, judged),
            first_party=seller.first_party,
            stats=NO_STATS,
            stored_bytes=stored,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    )
    index(ctx.tx, row)
    return _shown(ctx, row, seller)


@operation(
    "PATCH /v1/listings/{listing_id}",
    scope="sell",
    gather=judge_offer,
    errors=(*OFFER_ERRORS, NotFound, ListingArchived),
    next_steps=after_listing,
    toolset="selling",
)
def update_listing(ctx: TxContext, change: UpdateListing, judged: JudgedOffer) -> Listing:
    """Change a listing of yours, pause it or put it back on sale.

    Jobs already ordered keep the terms they were ordered on. null clears a schema or an example.
    Only what you name changes; read the rest with get_listing.
    """
    row = own_listing(ctx.tx, change.listing_id, ctx.agent, ctx.env, lock=True)
    if row.status is ListingStatus.ARCHIVED:
        raise ListingArchived("this listing is archived")
    if row.version != judged.version:
        raise StaleInput
    seller = ctx.tx.need(AgentRow, ctx.agent, lock=True)
    _check_wallet(ctx)
    wanted = _wanted(ctx, row, change, judged)
    if wanted.get("status") is ListingStatus.ACTIVE and row.status is not ListingStatus.ACTIVE:
        _check_places(ctx)
    _check_payment(ctx, seller, str(wanted.get("payment", row.payment)))
    _check_basis(seller, judged.pricing["unit_basis"] is not None)
    return _shown(ctx, _changed(ctx, row, wanted, judged), seller)


class ListingRef(Arguments):
    listing_id: str = Field(max_length=64, description="lst_…, one of yours")


@operation(
    "DELETE /v1/listings/{listing_id}",
    scope="sell",
    errors=(NotFound,),
    destructive=True,
    next_steps=after_listing,
    toolset="selling",
)
def archive_listing(ctx: TxContext, ref: ListingRef) -> Listing:
    """Archive a listing of yours permanently: it can no longer be found, ordered or changed.

    Its jobs go on. To stop only for a while, pause it with update_listing.
    """
    row = own_listing(ctx.tx, ref.listing_id, ctx.agent, ctx.env, lock=True)
    seller = ctx.tx.need(AgentRow, ctx.agent)
    if row.status is not ListingStatus.ARCHIVED:
        row = ctx.tx.change(row, status=ListingStatus.ARCHIVED, paused_by=None, updated_at=ctx.now)
        index(ctx.tx, row)
    return _shown(ctx, row, seller)


class ListMyListings(Listed):
    status: Literal["active", "paused", "archived"] | None = Field(None, description="only listings in this state")


@operation("GET /v1/agents/me/listings", errors=(InvalidCursor,), toolset="selling", may_lag=True)
def list_my_listings(ctx: TxContext, asked: ListMyListings) -> ListingPage:
    """List your own listings, newest first: active, paused and archived, or of one status.

    update_listing changes or pauses one, archive_listing ends it.
    """
    named: dict[str, Json] = {"seller_id": ctx.agent, "env": ctx.env}
    named |= {} if asked.status is None else {"status": asked.status}
    query = listings_of_seller(asked.status is not None)
    seller = ctx.tx.need(AgentRow, ctx.agent)

    def to_records(rows: Sequence[ListingRow]) -> Iterator[Listing]:
        cards = records_of(ctx.tx, seller.id, ctx.env, [row.category for row in rows])
        schemas = schemas_of(ctx.tx, rows)
        return (listing_record(row, seller, cards[row.category], schemas) for row in rows)

    found = page(ctx, asked, query, to_records, first="lst_~", where=named)
    return ListingPage(**found, hint=None if found["data"] else "You have none: create_listing offers a service.")


def _known(ctx: TxContext, offer: CreateListing) -> ListingRow | None:
    """Return the seller's listing with the offer's external_id, unless it is archived."""
    if offer.external_id is None:
        return None
    return ctx.tx.one(listing_by_external_id, seller_id=ctx.agent, env=ctx.env, external_id=offer.external_id)


def _columns(ctx: TxContext, offer: CreateListing, judged: JudgedOffer) -> dict[str, Any]:
    """Return the columns of a listing that is as the offer says, with defaults for the rest."""
    return {
        "title": offer.title,
        "description": offer.description,
        "category": offer.category,
        "tags": offer.tags or [],
        **judged.pricing,
        "acceptance": judged.acceptance,
        "payment": offer.payment or "on_delivery",
        **_documents(ctx, judged),
        "turnaround_seconds": offer.turnaround_seconds or 3600,
        "accept_timeout_seconds": offer.accept_timeout_seconds or ctx.windows.accept_default_seconds,
        "max_open_jobs": offer.max_open_jobs or 10,
        "content_warnings": judged.warnings,
    }


def _changed(ctx: TxContext, row: ListingRow, wanted: dict[str, Any], judged: JudgedOffer) -> ListingRow:
    """Write the columns of a listing that change, and count what they store."""
    if grown := _grown(row, wanted, judged):
        wanted["stored_bytes"] = row.stored_bytes + grown
    changed = ctx.tx.change(row, **wanted, updated_at=ctx.now) if wanted else row
    count_bytes(ctx, grown + keep_promise(ctx.tx, row, changed, ctx.now))
    index(ctx.tx, changed)
    return changed


def _shown(ctx: TxContext, row: ListingRow, seller: AgentRow) -> Listing:
    cards = records_of(ctx.tx, seller.id, ctx.env, [row.category])
    return listing_record(row, seller, cards[row.category], schemas_of(ctx.tx, [row]))


def _check_wallet(ctx: TxContext) -> None:
    if ctx.tx.get(WalletRow, ctx.agent, ctx.env) is None:
        raise WalletAddressRequired("a listing needs a wallet to be paid at")


def _check_payment(ctx: TxContext, seller: AgentRow, payment: str) -> None:
    if payment == "upfront" and ctx.env is Env.LIVE and seller.trust_tier < 1:
        raise UpfrontRequiresTrust("payment upfront on live needs trust tier 1", param="payment")


def _check_places(ctx: TxContext) -> None:
    most = ctx.config.limits.active_listings
    active = ctx.tx.one(active_listings_of, seller_id=ctx.agent, env=ctx.env) or 0
    if active >= most:
        raise ListingLimit(f"you have {active} active listings, at most {most} are allowed", active=active, limit=most)


def _check_kept(ctx: TxContext) -> None:
    most = ctx.config.limits.kept_listings
    kept = ctx.tx.one(kept_listings_of, seller_id=ctx.agent, env=ctx.env) or 0
    if kept >= most:
        hint = "Archive some you no longer need: archive_listing."
        raise ListingLimit(f"you keep {kept} listings, at most {most} are allowed", hint=hint, kept=kept, limit=most)


def _check_basis(seller: AgentRow, has_basis: bool) -> None:
    if has_basis and not seller.first_party:
        raise InvalidRequest("unit_basis is for listings of the operator", param="unit_basis")


def _grown(row: ListingRow, wanted: dict[str, Any], judged: JudgedOffer) -> int:
    """Return the bytes that a change adds; old schemas still count, because jobs use them."""
    words = [name for name in WORDS_STORED if name in wanted]
    grown = sum(size_of(wanted[name]) - size_of(getattr(row, name)) for name in words)
    for name, made in (("input_schema", judged.input.schema), ("output_schema", judged.output.schema)):
        if made is not None and wanted.get(name, getattr(row, name)) != getattr(row, name):
            grown += made.size
    return grown


def _wanted(ctx: TxContext, row: ListingRow, change: UpdateListing, judged: JudgedOffer) -> dict[str, Any]:
    """Return the columns to write, with their new values."""
    given = change.model_fields_set - {"listing_id", *Offer.nulls, *PRICED}
    wanted: dict[str, Any] = {name: getattr(change, name) for name in given}
    if "status" in wanted:
        wanted["status"] = ListingStatus(wanted["status"])
        wanted["paused_by"] = "seller" if wanted["status"] is ListingStatus.PAUSED else None
    columns = judged.pricing | {"acceptance": judged.acceptance, "content_warnings": judged.warnings}
    wanted |= {name: value for name, value in columns.items() if value != getattr(row, name)}
    if change.model_fields_set & set(JUDGED):
        wanted |= _documents(ctx, judged)
    return wanted


def _documents(ctx: TxContext, judged: JudgedOffer) -> dict[str, Any]:
    return {
        "input_schema": keep_document(ctx.tx, judged.input.schema),
        "output_schema": keep_document(ctx.tx, judged.output.schema),
        "example_input": judged.input.example,
        "example_output": judged.output.example,
    }
