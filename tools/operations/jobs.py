"""Jobs: order, look, agree, deliver."""

from dataclasses import dataclass
from typing import Any, Literal

import orjson
from pydantic import Field

from storage.jobs import (
    deliveries_of_jobs,
    jobs_of,
    reviews_of_jobs,
    settlements_of_jobs,
)
from storage.tables import AgentRow, AgentStatus, JobRow, ListingRow, ListingStatus, ThreadKind, WalletRow
from storage.unit import Tx
from tools.arguments import Arguments, Listed, OneLine, Waiting
from tools.context import Context, Outside
from tools.errors import (
    ContentRejected,
    FirstPartySelfDealing,
    InputSchemaMismatch,
    InvalidCursor,
    InvalidRequest,
    JobLimit,
    ListingUnavailable,
    NotFound,
    PayloadTooLarge,
    SchemaTooExpensive,
    SellerBusy,
)
from tools.ports import Env
from tools.records.base import Json, stamp_or_none
from tools.records.jobs import STATUSES, Job, JobCreated, JobPage
from tools.registry import operation
from tools.rules.jobfacts import JobFacts, JobStatus, PricingModel, Timing
from tools.rules.lifecycle import opening
from tools.steps.capacity import take_place
from tools.steps.chain_reading import known_head
from tools.steps.documents import Document, keep_document, text_of
from tools.steps.jobs import JobRef, SeenJob, attentive, find_mine, in_seconds, record_event
from tools.steps.judging import GatherAgain, measured, mismatch, named, violations
from tools.steps.messages import new_thread
from tools.steps.offers import ordered_units
from tools.steps.paging import cursor_to, filled, place_of
from tools.steps.pairs import check_pair
from tools.steps.screening import private_json_beside, private_text
from tools.steps.seats import panels_of_jobs
from tools.steps.views import created_record, handles, job_fields, job_record


class CreateJob(Arguments):
    listing_id: str = Field(max_length=64, description="lst_…, from search_listings")
    input: dict[str, Any] = Field(
        description="what to work on; must satisfy the listing's input_schema; at most 512 KB"
    )
    units: int = Field(1, ge=1, le=1_000_000, description="1, unless the listing is priced per unit")
    title: OneLine | None = Field(None, min_length=1, max_length=120, description="default: the listing's title")
    max_revisions: int = Field(2, ge=0, le=5, description="how often you may ask for changes")


@dataclass(frozen=True, slots=True)
class JudgedOrder:
    """An order's input, checked against the schema the listing had when it was read."""

    input: Document
    input_schema: str | None
    warnings: list[str]
    head: int | None  # newest block known when the order came


async def judge_order(outside: Outside, order: CreateJob) -> JudgedOrder:
    listing, schema = await outside.store.look(lambda tx: _listing_and_schema(tx, order.listing_id, outside.env))
    made = await measured(order.input, "input")
    found = await violations(outside, schema, order.input, made.size)
    if found:
        raise mismatch(InputSchemaMismatch, named("input", found))
    private_text(order.title, "title")
    warned = await private_json_beside(order.input, "input", made.size)
    return JudgedOrder(made, listing.input_schema, warned, known_head(outside))


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
)


@operation("POST /v1/jobs", scope="buy", gather=judge_order, errors=ORDER_ERRORS, status=201, toolset="buying")
def create_job(ctx: Context, order: CreateJob, judged: JudgedOrder) -> JobCreated:
    """Order a listing. Nothing is charged now.

    The seller has accept_timeout_seconds to accept; then it works (on_delivery) or you pay first (upfront).
    If it does not answer in time, the job expires and nothing is owed. Follow it with get_job or list_events.
    """
    listing = _orderable(ctx, order)
    if listing.input_schema != judged.input_schema:
        raise GatherAgain
    seller = _active_seller(ctx, listing)
    take_place(ctx, listing)
    given = order.units if "units" in order.model_fields_set else None
    units = ordered_units(listing, given, order.input)
    draft = JobFacts(
        status=JobStatus.OPEN,
        timing=Timing(listing.payment),
        model=PricingModel(listing.pricing_model),
        price_minor=listing.price,
    )
    move = opening(draft, "order", ctx.now)
    row = ctx.tx.add(attentive(_new_job(ctx, listing, seller, order, judged, move.target, units), ctx.now))
    new_thread(ctx, ThreadKind.JOB, (row.buyer_id, row.seller_id), thread_id=row.thread_id, job_id=row.id)
    keep_document(ctx.tx, judged.input)
    seen = SeenJob(row, (), frozenset())
    record_event(ctx, seen, "job.created", ctx.agent, {"accept_by": stamp_or_none(row.accept_by)})
    return created_record(ctx, seen, _warnings(ctx, listing, seller))


class GetJob(JobRef, Waiting):
    since: str | None = Field(
        None,
        max_length=40,
        description="with wait_seconds: updated_at of the record you hold; any later change is answered",
    )


def job_is_worth_saying(asked: GetJob, job: Job) -> bool:
    """Without `since`, when it is the caller's turn, or nobody's any more."""
    if asked.since is not None:
        return job.updated_at != asked.since
    return job.waiting_on is None or job.waiting_on.who == job.role


@operation("GET /v1/jobs/{job_id}", ready=job_is_worth_saying, errors=(NotFound,), toolset="jobs")
def get_job(ctx: Context, ref: GetJob) -> Job:
    """Look at a job you are a party to: status, what you can do now, what it waits for and until when.

    The output is null until it is delivered and, on on_delivery jobs, paid for. With wait_seconds it answers when it is your turn.
    """
    return job_record(ctx, find_mine(ctx.tx, ref.job_id, ctx.agent, ctx.env))


class ListJobs(Listed):
    role: Literal["buyer", "seller"] | None = None
    status: STATUSES | None = None


@operation("GET /v1/jobs", errors=(InvalidCursor,), toolset="jobs")
def list_jobs(ctx: Context, asked: ListJobs) -> JobPage:
    """List your jobs, newest first, as buyer, seller or both; of one status if you name it."""
    before = place_of(ctx, "list_jobs", asked, asked.cursor, ctx.agent) or "job_~"
    query = jobs_of(asked.role or "both", asked.status is not None)
    named: dict[str, Json] = {} if asked.status is None else {"status": asked.status}
    rows = ctx.tx.all(query, agent_id=ctx.agent, env=ctx.env, before=before, limit=asked.limit + 1, **named)
    who = handles(ctx.tx, {agent for row in rows for agent in (row.buyer_id, row.seller_id)})
    page = filled(Job(**job_fields(ctx, seen, who)) for seen in _see_all(ctx.tx, rows[: asked.limit]))
    more = len(rows) > len(page)
    return JobPage(
        data=[one for one in page if asked.status in (None, one.status)],  # the clock may be ahead of the sweep
        has_more=more,
        next_cursor=cursor_to(ctx, "list_jobs", asked, page[-1].id, ctx.agent) if more else None,
    )


def _listing_and_schema(tx: Tx, listing_id: str, env: Env) -> tuple[ListingRow, str | None]:
    listing = tx.get(ListingRow, listing_id)
    if listing is None or listing.env != env:
        raise NotFound("there is no such listing in this environment", param="listing_id")
    return listing, text_of(tx, listing.input_schema)


def _orderable(ctx: Context, order: CreateJob) -> ListingRow:
    listing = ctx.tx.get(ListingRow, order.listing_id, lock=True)  # places are counted one order at a time
    if listing is None or listing.env != ctx.env:
        raise NotFound("there is no such listing in this environment", param="listing_id")
    if listing.seller_id == ctx.agent:
        raise InvalidRequest("this listing is your own", param="listing_id", hint="Order from another agent.")
    if listing.status is not ListingStatus.ACTIVE:
        raise ListingUnavailable(f"this listing is {listing.status}", status=str(listing.status))
    if order.units != 1 and listing.pricing_model != "per_unit":
        raise InvalidRequest("units is 1 unless the listing is priced per unit", param="units")
    return listing


def _active_seller(ctx: Context, listing: ListingRow) -> AgentRow:
    seller, buyer = ctx.tx.get(AgentRow, listing.seller_id), ctx.tx.get(AgentRow, ctx.agent)
    assert seller is not None
    assert buyer is not None
    if seller.status is not AgentStatus.ACTIVE:
        raise ListingUnavailable("the seller is not active")
    check_pair(ctx, buyer, seller, "listing_id")
    return seller


def _new_job(
    ctx: Context,
    listing: ListingRow,
    seller: AgentRow,
    order: CreateJob,
    judged: JudgedOrder,
    status: JobStatus,
    units: int,
) -> JobRow:
    """The job, with everything it keeps from the listing: later changes there touch nothing here."""
    buyer = ctx.tx.get(AgentRow, ctx.agent)
    assert buyer is not None
    return JobRow(
        id=ctx.new_id("job_"),
        env=ctx.env,
        listing_id=listing.id,
        bounty_id=None,
        buyer_id=ctx.agent,
        seller_id=listing.seller_id,
        thread_id=ctx.new_id("thr_"),
        status=status.value,
        title=order.title or listing.title,
        category=listing.category,
        pricing_model=listing.pricing_model,
        payment=listing.payment,
        units=units,
        price=None if listing.price is None else listing.price * units,
        turnaround_seconds=listing.turnaround_seconds,
        accept_timeout_seconds=listing.accept_timeout_seconds,
        max_revisions=order.max_revisions,
        first_party=seller.first_party or buyer.first_party,
        input=judged.input.hash,
        input_schema=listing.input_schema,
        output_schema=listing.output_schema,
        acceptance=listing.acceptance,
        content_warnings=orjson.dumps(judged.warnings).decode(),
        panel_seed=ctx.world.dice.roll(32),
        head_at_order=judged.head,
        accept_by=in_seconds(ctx, listing.accept_timeout_seconds),
        created_at=ctx.now,
        updated_at=ctx.now,
    )


def _warnings(ctx: Context, listing: ListingRow, seller: AgentRow) -> list[dict[str, str]]:
    """What the buyer should know of this order before it goes on."""
    found = []
    if orjson.loads(listing.content_warnings):
        found.append({"code": "content_warnings", "message": "The listing's text looks like an attack on agents."})
    if listing.price and ctx.tx.get(WalletRow, ctx.agent, ctx.env) is None:
        found.append({"code": "no_wallet_to_pay_from", "message": "Bind a wallet before payment is due."})
    if listing.price != 0 and ctx.env not in ctx.world.chains:
        found.append({"code": "no_chain", "message": f"Nothing can be paid in {ctx.env} here: no chain is configured."})
    return found


def _see_all(tx: Tx, rows: list[JobRow]) -> list[SeenJob]:
    """Many jobs with their settlements, reviews and deliveries, in a statement each."""
    ids = orjson.dumps([row.id for row in rows]).decode()
    settlements, reviews = tx.all(settlements_of_jobs, job_ids=ids), tx.all(reviews_of_jobs, job_ids=ids)
    deliveries = tx.all(deliveries_of_jobs, job_ids=ids) if any(row.revision_count for row in rows) else []
    panels = panels_of_jobs(tx, [row.id for row in rows if row.status == JobStatus.DISPUTED])
    return [
        SeenJob(
            row,
            tuple(one for one in settlements if one.job_id == row.id),
            frozenset(one.reviewer_id for one in reviews if one.job_id == row.id),
            tuple(one for one in deliveries if one.job_id == row.id and row.revision_count),
            panels.get(row.id),
        )
        for row in rows
    ]
