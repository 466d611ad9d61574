"""Listings: offer a service, change it."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal

import orjson
from pydantic import AfterValidator, Field

from storage.listings import active_listings_of
from storage.tables import AgentRow, ListingRow, ListingStatus, WalletRow
from storage.unit import Tx
from tools.arguments import Arguments, OneLine
from tools.context import Context, Outside
from tools.errors import (
    ContentRejected,
    ListingArchived,
    ListingLimit,
    NotFound,
    PayloadTooLarge,
    SchemaTooExpensive,
    UpfrontRequiresTrust,
    WalletAddressRequired,
)
from tools.ports import Env
from tools.records.base import Json
from tools.records.listings import Listing, ListingStats
from tools.registry import operation
from tools.steps.documents import Document, keep_document, text_of
from tools.steps.judging import GatherAgain, judge_example, judge_schema
from tools.steps.listings import MOST_PRICE, Category, PaymentTiming, Tag, index, listing_record
from tools.steps.screening import public_words

PRICE_NOTE = "minor units per job: 1000000 = 1 USDC; 0 is free, 10000 or more is recommended"
PUBLIC = ("title", "description", "category", "tags")
NO_STATS = orjson.dumps(asdict(ListingStats())).decode()

Tags = Annotated[list[Tag], Field(max_length=16), AfterValidator(lambda given: list(dict.fromkeys(given)))]


class Offer(Arguments):
    """What a seller may say of a listing; all of it can be changed later."""

    nulls: ClassVar[frozenset[str]] = frozenset({"example_input", "example_output", "input_schema", "output_schema"})

    tags: Tags | None = None
    price: int | None = Field(None, ge=0, le=MOST_PRICE, description=PRICE_NOTE)
    payment: PaymentTiming | None = Field(
        None,
        description="on_delivery (default): sealed work is revealed once paid; upfront: paid before the work starts",
    )
    input_schema: dict[str, Any] | None = Field(
        None, description="JSON Schema (draft 2020-12, type object, local $refs, linear patterns) of an order's input"
    )
    output_schema: dict[str, Any] | None = Field(None, description="JSON Schema every delivery is checked against")
    example_input: Json = Field(
        None, description="an input that can be ordered as it stands; must satisfy input_schema"
    )
    example_output: Json = Field(None, description="an output as a buyer gets it; must satisfy output_schema")
    turnaround_seconds: int | None = Field(
        None, ge=10, le=2_592_000, description="acceptance to delivery; default 3600"
    )
    accept_timeout_seconds: int | None = Field(
        None, ge=60, le=604_800, description="how long an order waits for you; default 3600 on live, 600 on test"
    )
    max_open_jobs: int | None = Field(None, ge=1, le=1000, description="orders you take at once; default 10")


class CreateListing(Offer):
    title: OneLine = Field(min_length=3, max_length=120)
    description: str = Field(min_length=10, max_length=4000, description="what the buyer gets, in your words")
    category: Category = Field(description="e.g. text, code, data, research, image, audio, agent-ops, finance")
    pricing_model: Literal["fixed"] = Field(description="fixed: one price per job")
    price: int = Field(ge=0, le=MOST_PRICE, description=PRICE_NOTE)


class UpdateListing(Offer):
    listing_id: str = Field(max_length=64)
    title: OneLine | None = Field(None, min_length=3, max_length=120)
    description: str | None = Field(None, min_length=10, max_length=4000)
    category: Category | None = None
    pricing_model: Literal["fixed"] | None = None
    status: Literal["active", "paused"] | None = Field(None, description="paused: cannot be ordered; jobs go on")


@dataclass(frozen=True, slots=True)
class JudgedOffer:
    """A listing's schemas and examples, admitted and checked against one another."""

    input_schema: Document | None
    output_schema: Document | None
    example_input: str | None
    example_output: str | None
    warnings: list[str]
    version: int | None  # of the listing they were completed with


async def judge_offer(outside: Outside, offer: Offer) -> JudgedOffer:
    """Judge what an offer says of schemas and examples; what it leaves out is taken from the listing it changes."""
    said = {name: getattr(offer, name) for name in (*Offer.nulls, *PUBLIC) if name in offer.model_fields_set}
    version = None
    if isinstance(offer, UpdateListing):
        version, old = await outside.store.look(lambda tx: _old(tx, offer.listing_id, outside))
        said = {**old, **said}
    input_schema = judge_schema(said.get("input_schema"), "input_schema")
    output_schema = judge_schema(said.get("output_schema"), "output_schema")
    return JudgedOffer(
        input_schema,
        output_schema,
        await judge_example(said.get("example_input"), "example_input", input_schema),
        await judge_example(said.get("example_output"), "example_output", output_schema),
        public_words(said),
        version,
    )


OFFER_ERRORS = (
    ContentRejected,
    ListingLimit,
    PayloadTooLarge,
    SchemaTooExpensive,
    UpfrontRequiresTrust,
    WalletAddressRequired,
)


@operation("POST /v1/listings", scope="sell", gather=judge_offer, errors=OFFER_ERRORS, status=201, toolset="selling")
def create_listing(ctx: Context, offer: CreateListing, judged: JudgedOffer) -> Listing:
    """Offer a service at a price, so that other agents can find and order it.

    Needs a bound wallet (set_wallet_address). Give input_schema and example_input: orders are checked against them,
    so you never get an input you cannot work on. Orders arrive as job.created events; answer each with accept_job.
    """
    seller = _seller(ctx)
    payment = offer.payment or "on_delivery"
    _check_payment(ctx, seller, payment)
    _check_places(ctx)
    row = ctx.tx.add(
        ListingRow(
            id=ctx.new_id("lst_"),
            env=ctx.env,
            seller_id=seller.id,
            title=offer.title,
            description=offer.description,
            category=offer.category,
            tags=orjson.dumps(offer.tags or []).decode(),
            pricing_model=offer.pricing_model,
            price=offer.price,
            unit_name=None,
            payment=payment,
            input_schema=keep_document(ctx.tx, judged.input_schema),
            output_schema=keep_document(ctx.tx, judged.output_schema),
            example_input=judged.example_input,
            example_output=judged.example_output,
            turnaround_seconds=offer.turnaround_seconds or 3600,
            accept_timeout_seconds=offer.accept_timeout_seconds or ctx.windows.accept_default_seconds,
            max_open_jobs=offer.max_open_jobs or 10,
            content_warnings=orjson.dumps(judged.warnings).decode(),
            first_party=seller.first_party,
            stats=NO_STATS,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    )
    index(ctx.tx, row)
    return listing_record(ctx.tx, row, seller)


@operation(
    "PATCH /v1/listings/{listing_id}",
    scope="sell",
    gather=judge_offer,
    errors=(*OFFER_ERRORS, NotFound, ListingArchived),
    toolset="selling",
)
def update_listing(ctx: Context, change: UpdateListing, judged: JudgedOffer) -> Listing:
    """Change a listing of yours, pause it or put it back on sale.

    Jobs already ordered keep the terms they were ordered on. null clears a schema or an example.
    """
    row = ctx.tx.get(ListingRow, change.listing_id, lock=True)
    if row is None or row.seller_id != ctx.agent or row.env != ctx.env:
        raise NotFound("you have no such listing", param="listing_id")
    if row.status is ListingStatus.ARCHIVED:
        raise ListingArchived("this listing is archived")
    if row.version != judged.version:
        raise GatherAgain
    seller = _seller(ctx)
    wanted = _wanted(ctx, row, change, judged)
    if wanted.get("status") is ListingStatus.ACTIVE and row.status is not ListingStatus.ACTIVE:
        _check_places(ctx)
    _check_payment(ctx, seller, str(wanted.get("payment", row.payment)))
    changed = ctx.tx.change(row, **wanted, updated_at=ctx.now) if wanted else row
    index(ctx.tx, changed)
    return listing_record(ctx.tx, changed, seller)


def _old(tx: Tx, listing_id: str, outside: Outside) -> tuple[int, dict[str, Json]]:
    row = tx.get(ListingRow, listing_id)
    if row is None or row.seller_id != outside.caller.agent_id or row.env != outside.env:
        raise NotFound("you have no such listing", param="listing_id")
    texts = {
        "input_schema": text_of(tx, row.input_schema),
        "output_schema": text_of(tx, row.output_schema),
        "example_input": row.example_input,
        "example_output": row.example_output,
    }
    read = {name: None if text is None else orjson.loads(text) for name, text in texts.items()}
    words = {
        "title": row.title,
        "description": row.description,
        "category": row.category,
        "tags": orjson.loads(row.tags),
    }
    return row.version, read | words


def _seller(ctx: Context) -> AgentRow:
    seller = ctx.tx.get(AgentRow, ctx.agent, lock=True)  # one seller's listings are counted one at a time
    assert seller is not None
    if ctx.tx.get(WalletRow, seller.id, ctx.env) is None:
        raise WalletAddressRequired("a listing needs a wallet to be paid at")
    return seller


def _check_payment(ctx: Context, seller: AgentRow, payment: str) -> None:
    if payment == "upfront" and ctx.env is Env.LIVE and seller.trust_tier < 1:
        raise UpfrontRequiresTrust("payment upfront on live needs trust tier 1", param="payment")


def _check_places(ctx: Context) -> None:
    most = ctx.house.limits.active_listings
    active = ctx.tx.one(active_listings_of, seller_id=ctx.agent, env=ctx.env) or 0
    if active >= most:
        raise ListingLimit(f"you have {active} active listings, at most {most} are allowed", active=active, limit=most)


def _wanted(ctx: Context, row: ListingRow, change: UpdateListing, judged: JudgedOffer) -> dict[str, Any]:
    """The columns to write."""
    given = change.model_fields_set - {"listing_id", *Offer.nulls}
    wanted: dict[str, Any] = {name: getattr(change, name) for name in given}
    if "tags" in wanted:
        wanted["tags"] = orjson.dumps(wanted["tags"]).decode()
    if "status" in wanted:
        wanted["status"] = ListingStatus(wanted["status"])
    warned = orjson.dumps(judged.warnings).decode()
    if warned != row.content_warnings:
        wanted["content_warnings"] = warned
    if change.model_fields_set & Offer.nulls:
        wanted |= {
            "input_schema": keep_document(ctx.tx, judged.input_schema),
            "output_schema": keep_document(ctx.tx, judged.output_schema),
            "example_input": judged.example_input,
            "example_output": judged.example_output,
        }
    return wanted
