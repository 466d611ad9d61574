"""Ordering: validates an order and makes its job; all operations that place an order use this."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import orjson
from pydantic import Field

from storage.agents import buyer_of_order, locked_buyer_of_order, seller_of_order, wallets_both_held
from storage.tables import AgentRow, JobRow, ListingRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, Env, JobStatus, ListingStatus, PricingModel, ThreadKind, Timing
from tools.chain.chain_reads import NewestBlock, newest_block
from tools.engine.arguments import Arguments, OneLine
from tools.engine.caches import SaleTerms
from tools.engine.context import ReadContext, TxContext
from tools.engine.documents import Document, StaleInput, canonical_document, named, schema_error, text_of, violations
from tools.engine.errors import (
    InputSchemaMismatch,
    InvalidRequest,
    NotFound,
    PayloadTooLarge,
    SchemaTooExpensive,
    StorageFull,
)
from tools.engine.storage_quotas import take_order
from tools.jobs.daily_counts import count_job_change
from tools.jobs.errors import FirstPartySelfDealing, JobLimit, ListingUnavailable, PriceAboveMax, SellerBusy
from tools.jobs.facts import JobFacts
from tools.jobs.lifecycle import JobMove, opening
from tools.jobs.logic import in_seconds, record_event, with_waiting_columns
from tools.jobs.open_job_limits import judge_place, take_place
from tools.jobs.snapshot import JobSnapshot
from tools.jobs.stored_texts import INPUT, keep_text
from tools.kernel.canonical_json import sha256_hex
from tools.kernel.errors import ErrorCollector
from tools.kernel.ids import Prefix
from tools.kernel.money import MAX_PRICE, display
from tools.kernel.records import Json, stamp_or_none
from tools.listings.logic import cache_name
from tools.listings.validation import ordered_units
from tools.messages.logic import new_thread
from tools.screening.errors import ContentRejected
from tools.screening.logic import private_json_beside, private_text

Warnings = list[dict[str, str]]
Check = Callable[[], object]
REFERENCE = "^[!-~]{1,64}$"  # visible ASCII


class Order(Arguments):
    """An order of a listing."""

    listing_id: str = Field(max_length=64, description="lst_…, from search_listings")
    input: dict[str, Any] = Field(
        description="what to work on; must satisfy the listing's input_schema; at most 512 KB"
    )
    units: int = Field(1, ge=1, le=1_000_000, description="1, unless the listing is priced per unit")
    title: OneLine | None = Field(None, min_length=1, max_length=120, description="default: the listing's title")
    max_revisions: int = Field(2, ge=0, le=5, description="how often you may ask for changes")
    reference: str | None = Field(
        None,
        pattern=REFERENCE,
        description="your name for this order: sent again, it answers the same job",
    )

    max_price: int | None = Field(
        None,
        ge=0,
        le=MAX_PRICE,
        description="the most you pay in all, minor units; a quote above it is refused",
    )

    def hash_with(self, given: Document) -> str:
        """Return the hash of what is ordered, with the input's own hash."""
        beside = {"input", "reference", *self.unstored}
        said = self.model_dump(mode="json", exclude=beside, exclude_defaults=True) | {"input": given.hash}
        return sha256_hex(orjson.dumps(said, option=orjson.OPT_SORT_KEYS))


@dataclass(frozen=True, slots=True)
class JudgedOrder:
    """An order's input, checked against the schema that the listing had at the time."""

    input: Document
    input_schema: str | None
    warnings: list[str]
    newest: NewestBlock  # the newest block when the order was made, unless it was for free
    free: bool


async def judge_order(read_ctx: ReadContext, order: Order) -> JudgedOrder:
    terms = await _terms_of(read_ctx, order.listing_id)
    faults, warned = ErrorCollector(), list[str]()
    with faults.catch():
        private_text(order.title, "title")
    with faults.catch():
        made = await canonical_document(order.input, "input")
        with faults.catch():
            if found := await violations(read_ctx, terms.schema_text, order.input, made.size):
                raise schema_error(InputSchemaMismatch, named("input", found))
        warned = await private_json_beside(order.input, "input", made.size)
    faults.raise_all()
    free = terms.price == 0
    newest = NewestBlock() if free else await newest_block(read_ctx)
    return JudgedOrder(made, terms.input_schema, warned, newest, free)


ORDER_ERRORS = (
    NotFound,
    ListingUnavailable,
    InputSchemaMismatch,
    SchemaTooExpensive,
    PayloadTooLarge,
    ContentRejected,
    SellerBusy,
    JobLimit,
    FirstPartySelfDealing,
    StorageFull,
)


class BuyerOfOrder(NamedTuple):
    """The facts about a buyer that an order depends on."""

    id: str
    handle: str
    first_party: bool


class SellerOfOrder(NamedTuple):
    """The facts about a seller that an order depends on."""

    id: str
    handle: str
    status: AgentStatus
    first_party: bool
    has_wallet_of_buyer: bool  # now, or at any time before
    buyer_has_wallet: bool


class Ordered(NamedTuple):
    """The job of an order, with warnings for its buyer.

    `named` are the handles of its parties by id, if they were read for it.
    """

    seen: JobSnapshot
    warned: Warnings
    new: bool
    named: Mapping[str, str] | None = None


def place_order(ctx: TxContext, order: Order, judged: JudgedOrder) -> Ordered:
    """Write the job of an order; return it with the warnings for its buyer.

    Raises StaleInput if the listing's input schema changed after the input was checked, or its price was or became 0.
    """
    listing = _listing(ctx.tx, order, ctx.env, lock=True)  # so that one order at a time counts its open jobs
    _check_owner(ctx, listing)
    _check_sale(listing)
    units = affordable_units(listing, order)
    if listing.input_schema != judged.input_schema or (listing.price == 0) is not judged.free:
        raise StaleInput
    buyer, seller = _parties(ctx, listing, lock=True)
    take_place(ctx, listing)
    draft = JobFacts(
        status=JobStatus.OPEN,
        timing=Timing(listing.payment),
        model=PricingModel(listing.pricing_model),
        price_minor=listing.price,
    )
    move = opening(draft, "order", ctx.now)
    letter = ctx.caller.request.letter
    row = new_job(
        ctx,
        move,
        judged.newest,
        **{name: getattr(listing, name) for name in _FROZEN},
        listing_id=listing.id,
        bounty_id=None,
        title=order.title or listing.title,
        units=units,
        price=None if listing.price is None else listing.price * units,
        max_revisions=order.max_revisions,
        max_price=order.max_price,
        first_party=seller.first_party or buyer.first_party,
        input=judged.input.hash,
        content_warnings=judged.warnings,
        accept_by=in_seconds(ctx, listing.accept_timeout_seconds),
        reference=order.reference,
        order_hash=None if order.reference is None else order.hash_with(judged.input),
        message_id=letter.message_id if letter else None,
        context_id=letter.context_id if letter else None,
    )
    seen = add_job(ctx, row, judged.input, {"accept_by": stamp_or_none(row.accept_by)})
    return Ordered(seen, _warnings(ctx, listing, seller), True, {one.id: one.handle for one in (buyer, seller)})


_FROZEN = (  # the listing's terms that the job keeps, so that later changes do not apply
    "seller_id", "category", "pricing_model", "payment", "turnaround_seconds", "accept_timeout_seconds",
    "input_schema", "output_schema", "acceptance",
)  # fmt: skip


def new_job(ctx: TxContext, move: JobMove, newest: NewestBlock, **terms: Any) -> JobRow:
    """Make the row of a job that the caller buys on these terms; it is not stored."""
    return JobRow(
        id=ctx.new_id(Prefix.JOB),
        env=ctx.env,
        buyer_id=ctx.agent,
        thread_id=ctx.new_id(Prefix.THREAD),
        status=move.target.value,
        panel_seed=ctx.world.dice.random_bytes(32),
        head_at_order=newest.number,
        block_time_at_order=newest.time,
        created_at=ctx.now,
        updated_at=ctx.now,
        **terms,
    )


def add_job(ctx: TxContext, row: JobRow, given: Document, told: dict[str, Json]) -> JobSnapshot:
    """Store a new job with its thread and its input, and notify both parties."""
    seen = JobSnapshot(ctx.tx.add(with_waiting_columns(row, ctx.now)))
    count_job_change(ctx.tx, None, seen)
    new_thread(ctx, ThreadKind.JOB, (row.buyer_id, row.seller_id), thread_id=row.thread_id, job_id=row.id)
    keep_text(ctx.tx, row.id, INPUT, given)
    take_order(ctx, given.size)
    record_event(ctx, seen, "job.created", ctx.agent, told)
    return seen


def hurdles(ctx: TxContext, order: Order) -> Iterator[Check]:
    """Yield the checks of an order that do not need its input validated."""
    listing = _listing(ctx.tx, order, ctx.env)
    yield partial(_check_owner, ctx, listing)
    yield partial(_check_sale, listing)
    yield partial(affordable_units, listing, order)
    if listing.seller_id != ctx.agent:
        yield partial(_parties, ctx, listing)
    yield partial(judge_place, ctx, listing)


async def _terms_of(read_ctx: ReadContext, listing_id: str) -> SaleTerms:
    """Return a listing's terms, which may be stale: the unit of work reads the listing again."""
    read = lambda: read_ctx.store.read(lambda tx: _read_terms(tx, listing_id))  # noqa: E731 - reads as what it is
    terms = await read_ctx.services.caches.terms.fetch(cache_name(listing_id), read)
    if terms is None or terms.env is not read_ctx.env:
        raise _no_listing()
    return terms


def _read_terms(tx: Tx, listing_id: str) -> SaleTerms | None:
    row = tx.get(ListingRow, listing_id)
    if row is None:
        return None
    return SaleTerms(Env(row.env), row.price, row.input_schema, text_of(tx, row.input_schema))


def _listing(tx: Tx, order: Order, env: Env, *, lock: bool = False) -> ListingRow:
    listing = tx.get(ListingRow, order.listing_id, lock=lock)
    if listing is None or listing.env != env:
        raise _no_listing()
    return listing


def _no_listing() -> NotFound:
    return NotFound("there is no such listing in this environment", param="listing_id")


def _check_owner(ctx: TxContext, listing: ListingRow) -> None:
    if listing.seller_id == ctx.agent:
        raise InvalidRequest("this listing is your own", param="listing_id", hint="Order from another agent.")


def _check_sale(listing: ListingRow) -> None:
    if listing.status is not ListingStatus.ACTIVE:
        raise ListingUnavailable(f"this listing is {listing.status}", status=str(listing.status))


def units_in(listing: ListingRow, order: Order) -> int:
    """Return the units of an order; raise InvalidRequest if they do not fit the listing."""
    if order.units != 1 and listing.pricing_model != "per_unit":
        raise InvalidRequest("units is 1 unless the listing is priced per unit", param="units")
    given = order.units if "units" in order.model_fields_set else None
    return ordered_units(listing, given, order.input)


def affordable_units(listing: ListingRow, order: Order) -> int:
    """Return the units of an order; raise PriceAboveMax if they cost more than the buyer allows."""
    units = units_in(listing, order)
    check_max_price((listing.price or 0) * units, order.max_price)
    return units


def check_max_price(price: int, most: int | None) -> None:
    """Raise PriceAboveMax if a price is above the buyer's max_price."""
    if most is not None and price > most:
        raise PriceAboveMax(
            f"the price is {price}, your max_price {most}",
            param="max_price",
            price=price,
            price_display=display(price),
            max_price=most,
        )


def _parties(ctx: TxContext, listing: ListingRow, *, lock: bool = False) -> tuple[BuyerOfOrder, SellerOfOrder]:
    """Return the buyer and the active seller, if they may trade with each other.

    `lock` locks the buyer.
    """
    asked = {"agent_id": ctx.agent, "other_id": listing.seller_id, "env": ctx.env}
    buyer = BuyerOfOrder(*ctx.tx.all(locked_buyer_of_order if lock else buyer_of_order, agent_id=ctx.agent)[0])
    seller = SellerOfOrder(*ctx.tx.all(seller_of_order, **asked)[0])
    if seller.status is not AgentStatus.ACTIVE:
        raise ListingUnavailable("the seller is not active")
    _refuse_pair(ctx.env, "listing_id", same_wallet=seller.has_wallet_of_buyer, own=_both_own(buyer, seller))
    return buyer, seller


def _warnings(ctx: TxContext, listing: ListingRow, seller: SellerOfOrder) -> Warnings:
    """Return warnings that the buyer should read before the job goes on."""
    found = []
    if listing.content_warnings:
        found.append({"code": "content_warnings", "message": "The listing's text looks like an attack on agents."})
    if listing.price and not seller.buyer_has_wallet:
        found.append({"code": "no_wallet_to_pay_from", "message": "Bind a wallet before payment is due."})
    if listing.price != 0 and ctx.env not in ctx.world.chains:
        found.append({"code": "no_chain", "message": f"Nothing can be paid in {ctx.env} here: no chain is configured."})
    return found


def check_pair(ctx: TxContext, buyer: AgentRow, seller: AgentRow, param: str) -> None:
    """Refuse a trade between agents of one wallet or, on live, between two of the operator.

    Former wallets count too. Raises InvalidRequest or FirstPartySelfDealing.
    """
    same_wallet = ctx.tx.one(wallets_both_held, agent_id=buyer.id, other_id=seller.id) is not None
    _refuse_pair(ctx.env, param, same_wallet=same_wallet, own=_both_own(buyer, seller))


def _both_own(buyer: AgentRow | BuyerOfOrder, seller: AgentRow | SellerOfOrder) -> bool:
    return buyer.first_party and seller.first_party


def _refuse_pair(env: Env, param: str, *, same_wallet: bool, own: bool) -> None:
    if same_wallet:
        raise InvalidRequest("buyer and seller are, or were, bound to the same wallet", param=param)
    if env is Env.LIVE and own:
        raise FirstPartySelfDealing("two agents of the operator do not trade on live")
