"""Operations that decline, quote, agree to a quote, ask for a revision, cancel, or dispute."""

from dataclasses import asdict
from typing import Literal

import orjson
from pydantic import Field

from storage.jobs import latest_accepted
from storage.tables import AgentRow
from storage.transaction import Tx
from storage.vocabulary import RETURNS, Actor
from tools.engine.context import ReadContext, TxContext
from tools.engine.documents import text_of, violations
from tools.engine.errors import NotFound, SchemaTooExpensive, StorageFull, TooBusy
from tools.engine.next_steps import step
from tools.engine.storage_quotas import count_bytes
from tools.jobs.disputes.panel_actions import open_case
from tools.jobs.errors import FaultNotAllowed, InvalidTransition, PriceAboveMax, QuoteChanged, SellerHasNoWalletAddress
from tools.jobs.lifecycle import allowed, is_repeat
from tools.jobs.logic import (
    JobChanges,
    JobRef,
    acting_role,
    agreed,
    apply_move,
    in_seconds,
    job_action,
    move_or_repeat,
    own_job_locked,
    refusal_state,
    require_move,
)
from tools.jobs.place_order import check_max_price
from tools.jobs.records import Job
from tools.jobs.return_rules import LOOKED_AT, returns_free
from tools.jobs.snapshot import JobSnapshot, find_mine
from tools.jobs.stored_texts import JobTexts
from tools.jobs.views import job_record
from tools.kernel.errors import Json
from tools.kernel.money import MAX_PRICE, display_or_none
from tools.screening.errors import ContentRejected
from tools.screening.logic import private_text

MOVE_ERRORS = (NotFound, InvalidTransition)
WRITTEN_ERRORS = (*MOVE_ERRORS, ContentRejected)


class Reasoned(JobRef):
    reason: str | None = Field(None, max_length=500, description="your reason; posted to the job's thread")


@job_action("decline", scope="sell", errors=WRITTEN_ERRORS, ends_work=True, toolset="selling")
def decline_job(ctx: TxContext, arguments: Reasoned) -> Job:
    """Decline an order you do not want, before the work has begun.

    A reason helps the buyer to order better. Nothing is owed afterwards; a payment under way must be sent back.
    """
    return _stop(ctx, arguments, "decline")


def _stop(ctx: TxContext, arguments: Reasoned, action: str) -> Job:
    """Decline or cancel a job, and post the reason to its thread."""
    seen = own_job_locked(ctx, arguments.job_id)
    private_text(arguments.reason, "reason")
    move = move_or_repeat(ctx, seen, action)
    if move is None:
        return job_record(ctx, seen)
    told = {"by": seen.role_of(ctx.agent).value, "reason": arguments.reason}
    reason = arguments.reason
    return job_record(ctx, apply_move(ctx, seen, move, ctx.agent, data=told, note=reason, cancel_reason=reason))


class QuoteJob(JobRef):
    price: int = Field(ge=0, le=MAX_PRICE, description="minor units for the whole job: 1000000 = 1 USDC; 0 is free")
    message: str | None = Field(None, max_length=2000, description="what the price covers; posted to the job's thread")


@job_action(
    "quote",
    scope="sell",
    errors=(*WRITTEN_ERRORS, StorageFull),
    toolset="selling",
    examples=({"job_id": "<job_…>", "price": 250_000},),
)
def quote_job(ctx: TxContext, offer: QuoteJob) -> Job:
    """Name your price for a job ordered from a quote listing.

    Call it again to change the price until the buyer agrees. The buyer has the accept window, counted from the first
    quote, to accept; otherwise the job expires.
    """
    seen = own_job_locked(ctx, offer.job_id)
    private_text(offer.message, "message")
    move = require_move(ctx, seen, "quote")
    row = seen.row
    if (row.quoted_price, row.quote_message) == (offer.price, offer.message):
        return job_record(ctx, seen)
    changes: JobChanges = {"quoted_price": offer.price, "quote_message": offer.message}
    if row.quoted_price is None:
        changes["accept_by"] = in_seconds(ctx, row.accept_timeout_seconds)
    done = apply_move(ctx, seen, move, ctx.agent, data={"quoted_price": offer.price}, note=offer.message, **changes)
    count_bytes(ctx, 0)  # a quote can change without a limit, so its notes are refused if the storage is full
    return job_record(ctx, done)


class AcceptQuote(JobRef):
    price: int | None = Field(
        None,
        ge=0,
        le=MAX_PRICE,
        description="the quoted_price you have read and agree to, minor units; if it has changed: 409 quote_changed",
    )


@job_action(
    "accept_quote",
    scope="buy",
    errors=(*MOVE_ERRORS, QuoteChanged, PriceAboveMax, SellerHasNoWalletAddress),
    toolset="buying",
)
def accept_quote(ctx: TxContext, arguments: AcceptQuote) -> Job:
    """Agree to the quoted price: work begins (on_delivery or free), or you pay first (upfront).

    Send the price you have read: the seller may change it until you agree; the call is then refused with the new one.
    A price above the max_price of your order is refused too. Next: wait for the delivery, or pay_job.
    """
    seen = own_job_locked(ctx, arguments.job_id)
    move = move_or_repeat(ctx, seen, "accept_quote")
    _hold_to_price(ctx, seen, arguments.price)
    if move is None:
        return job_record(ctx, seen)
    check_max_price(seen.row.quoted_price or 0, seen.row.max_price)
    return job_record(ctx, agreed(ctx, seen, move, price=seen.row.quoted_price))


def _hold_to_price(ctx: TxContext, seen: JobSnapshot, read: int | None) -> None:
    """Refuse a price other than the one the buyer has read."""
    quoted = seen.row.quoted_price
    if read in (None, quoted):
        return
    raise QuoteChanged(
        f"the quoted price is {quoted} now, not {read}",
        param="price",
        next_steps=tuple(asdict(one) for one in step("get_job", "Read the present quote.", job_id=seen.row.id)),
        quoted_price=quoted,
        quoted_price_display=display_or_none(quoted),
        **refusal_state(ctx, seen),
    )


class RequestRevision(JobRef):
    message: str = Field(min_length=1, max_length=4000, description="what to change; posted to the job's thread")


@job_action("request_revision", scope="buy", errors=WRITTEN_ERRORS, toolset="buying")
def request_revision(ctx: TxContext, asked: RequestRevision) -> Job:
    """Ask the seller to change a delivery you can read, as often as max_revisions allows.

    The work resumes; the seller has turnaround_seconds again. The delivery you have stays readable.
    """
    seen = own_job_locked(ctx, asked.job_id)
    private_text(asked.message, "message")
    move = move_or_repeat(ctx, seen, "request_revision")
    if move is None:
        return job_record(ctx, seen)
    number, until = seen.row.revision_count + 1, in_seconds(ctx, seen.row.turnaround_seconds)
    told = {"revision": number, "revisions_left": seen.row.max_revisions - number}
    changes: JobChanges = {"revision_count": number, "deliver_by": until, "review_by": None}
    return job_record(ctx, apply_move(ctx, seen, move, ctx.agent, data=told, note=asked.message, **changes))


class CancelJob(Reasoned):
    fault: Literal["input"] | None = Field(
        None,
        description="seller: the input cannot be worked; within a minute of accepting, unpaid",
    )


@job_action(
    "cancel",
    scope=("buy", "sell"),
    errors=(*WRITTEN_ERRORS, FaultNotAllowed),
    destructive=True,
    ends_work=True,
    toolset="jobs",
)
def cancel_job(ctx: TxContext, arguments: CancelJob) -> Job:
    """Stop a job; available_actions says whether you can.

    The effect depends on role and time. Buyer: free before the work begins and for a sealed delivery; from one hour
    after a missed deliver_by, the seller owes back what was paid. Seller: before the work it declines the order; during
    the work it counts as a failed job, and what was paid is owed back.
    """
    return _stop(ctx, arguments, "cancel" if arguments.fault is None else _return_of(ctx, arguments.job_id))


def _return_of(ctx: TxContext, job_id: str) -> str:
    """Return the action that returns the input: a failure of sellers that do so too often.

    Raises FaultNotAllowed.
    """
    seen = own_job_locked(ctx, job_id)
    role = acting_role(ctx, seen)
    if role is Actor.SELLER and is_repeat(seen.facts, "return", role, ctx.now):
        return "return"
    if role is not Actor.SELLER or allowed(seen.facts, "return", role, ctx.now) is None:
        raise FaultNotAllowed("this job cannot be returned for its input", param="fault", **refusal_state(ctx, seen))
    ctx.tx.need(AgentRow, ctx.agent, lock=True)  # one seller's returns are counted one at a time
    ended = ctx.tx.all(latest_accepted, seller_id=ctx.agent, env=ctx.env, limit=LOOKED_AT)
    returned = sum(closed_as in RETURNS for closed_as in ended)
    return "return" if returns_free(len(ended), returned) else "return_too_often"


class DisputeJob(JobRef):
    reason: str = Field(
        min_length=1,
        max_length=2000,
        description="what was promised and is missing; the panel reads it; posted to the job's thread",
    )


SchemaChecks = dict[str, Json]


async def hold_to_schema(read_ctx: ReadContext, arguments: DisputeJob) -> SchemaChecks | None:
    """Check the delivery against the job's output_schema, for the case.

    The result never refuses the dispute.
    """
    schema, output = await read_ctx.store.read(lambda tx: _promised(tx, read_ctx, arguments.job_id))
    if schema is None or output is None:
        return None
    try:
        found = await violations(read_ctx, schema, orjson.loads(output), len(output))
    except (SchemaTooExpensive, TooBusy):
        return {"output_schema": "none", "output_schema_errors": ["the check took too long"]}
    errors = [f"output{one.path}: {one.message}" for one in found]
    return {"output_schema": "fail" if errors else "pass", "output_schema_errors": errors}


def _promised(tx: Tx, read_ctx: ReadContext, job_id: str) -> tuple[str | None, str | None]:
    row = find_mine(tx, job_id, read_ctx.caller.agent, read_ctx.env).row
    return text_of(tx, row.output_schema), JobTexts(tx).output_of(row)


@job_action(
    "dispute",
    scope="buy",
    gather=hold_to_schema,
    errors=WRITTEN_ERRORS,
    destructive=True,
    ends_work=True,
    toolset="buying",
)
def dispute_job(ctx: TxContext, arguments: DisputeJob, checks: SchemaChecks | None) -> Job:
    """Dispute a delivery that is not what was promised; the verdict is final.

    If a revision is left, ask for it first. Three independent evaluators are drawn, read the case without your names,
    and vote by majority; a verdict for you, or a split, obliges the seller to send money back. Both sides add evidence
    by post_message in the job's thread until the first vote that counts: on live not before a tenth of the time to
    vote, unless both post with evidence_done true; on test at once. Next: get_dispute; withdraw_dispute while it is
    undecided.
    """
    seen = own_job_locked(ctx, arguments.job_id)
    private_text(arguments.reason, "reason")
    move = move_or_repeat(ctx, seen, "dispute")
    if move is None:
        return job_record(ctx, seen)
    case, reason = ctx.new_id("dsp_"), arguments.reason
    told, changes = {"dispute_id": case, "reason": reason}, JobChanges(dispute_id=case, dispute_reason=reason)
    done = apply_move(ctx, seen, move, ctx.agent, data=told, note=reason, **changes)
    return job_record(ctx, open_case(ctx, done, checks))
