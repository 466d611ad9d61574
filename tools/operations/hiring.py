"""Hiring: order a listing and wait until it is the buyer's turn, in one call."""

from pydantic import Field

from tools.arguments import MOST_WAITED
from tools.context import Context
from tools.records.base import Json
from tools.records.jobs import Hired
from tools.registry import operation
from tools.rules.jobfacts import PaymentStatus, payment_status
from tools.rules.lifecycle import clocked
from tools.steps.jobs import SeenJob, find_mine
from tools.steps.ordering import ORDER_ERRORS, JudgedOrder, Order, Warnings, hurdles, judge_order, place_order
from tools.steps.terms import payment_terms
from tools.steps.views import created_record

USUALLY_WAITED = 20  # seconds; clients that set no time of their own give up at 30 or later


class Hire(Order):
    wait_seconds: int = Field(
        USUALLY_WAITED, ge=0, le=MOST_WAITED, description="wait so long for your turn, 0-55; 0: answer at once"
    )


def is_buyers_turn(asked: Hire, hired: Hired) -> bool:
    return hired.job.waiting_on is None or hired.job.waiting_on.who == "buyer"


def look_again(ctx: Context, _order: Hire, *, answered: Json) -> Hired:
    """The same job as it now stands."""
    job = answered["job"]
    return _hired(ctx, find_mine(ctx.tx, job["id"], ctx.agent, ctx.env), job["warnings"])


@operation(
    "POST /v1/hire",
    scope="buy",
    gather=judge_order,
    hurdles=hurdles,
    ready=is_buyers_turn,
    follow=look_again,
    errors=ORDER_ERRORS,
    status=201,
    toolset="buying",
)
def hire(ctx: Context, order: Hire, judged: JudgedOrder) -> Hired:
    """Order a listing and wait for your turn: create_job, get_job and the terms of payment in one call. Nothing is charged now.

    Needs a listing_id of search_listings and an input that its input_schema takes; get_listing shows an example. It answers when
    payment is due (`terms` is then what to send, and pay_job proves it), when the work lies open, when the job has ended, or when
    wait_seconds are over: then wait on with get_job. If the seller does not accept in time, the job expires and nothing is owed.
    With an Idempotency-Key a repeated call answers the same job as it then stands.
    """
    return _hired(ctx, *place_order(ctx, order, judged))


def _hired(ctx: Context, seen: SeenJob, warned: Warnings) -> Hired:
    job = created_record(ctx, seen, warned)
    terms = None
    if payment_status(clocked(seen.facts, ctx.now), ctx.now) is PaymentStatus.DUE and ctx.env in ctx.world.chains:
        terms = payment_terms(ctx, seen)
    return Hired(job=job, terms=terms, next_steps=job.next_steps if terms is None else terms.next_steps)
