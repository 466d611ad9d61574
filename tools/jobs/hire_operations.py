"""Operation that orders a listing and waits until it is the buyer's turn, in one call."""

from dataclasses import replace

from pydantic import Field

from storage.vocabulary import Actor
from tools.engine.arguments import MAX_WAITED
from tools.engine.context import TxContext
from tools.engine.errors import NotFound
from tools.engine.registry import internal_operation, operation
from tools.jobs.facts import PaymentStatus, payment_status
from tools.jobs.lifecycle import after_due_move, waiting_on
from tools.jobs.logic import JobRef, projected
from tools.jobs.payments.terms import payment_terms
from tools.jobs.place_order import ORDER_ERRORS, JudgedOrder, Order, Warnings, hurdles, judge_order, place_order
from tools.jobs.records import Hired
from tools.jobs.snapshot import JobSnapshot, find_mine
from tools.jobs.task_records import HireTask
from tools.jobs.task_status import TaskStatus, has_output, task_status
from tools.jobs.views import created_record
from tools.kernel.records import Json

USUALLY_WAITED = 20  # seconds; clients without a timeout of their own give up at 30 or later


class Hire(Order):
    wait_seconds: int = Field(
        USUALLY_WAITED, ge=0, le=MAX_WAITED, description="how long to wait for your turn, 0-55; 0: not at all"
    )


def is_buyers_turn(asked: Hire, hired: Hired) -> bool:
    return hired.job.waiting_on is None or hired.job.waiting_on.who == "buyer"


def look_again(ctx: TxContext, _order: Hire, *, answered: Json) -> Hired:
    """Return the same job in its present state."""
    job = answered["job"]
    return _hired(ctx, find_mine(ctx.tx, job["id"], ctx.agent, ctx.env), job["warnings"])


@operation(
    "POST /v1/hire",
    scope="buy",
    gather=judge_order,
    preconditions=hurdles,
    is_ready=is_buyers_turn,
    poll=look_again,
    errors=ORDER_ERRORS,
    status=201,
    toolset="buying",
)
def hire(ctx: TxContext, order: Hire, judged: JudgedOrder) -> Hired:
    """Order a listing and wait for your turn: the job and the payment terms in one call.

    Nothing is charged now. Needs a listing_id of search_listings and an input that fits its input_schema; get_listing
    shows an example. It answers when payment is due (`terms` is then what to send, and pay_job proves it), when you can
    read the work, when the job has ended, or after wait_seconds: then wait with get_job. An order not accepted in time
    expires; nothing is owed. Repeated with its Idempotency-Key, the call returns the same job in its present state.
    """
    return _hired(ctx, *place_order(ctx, order, judged))


@internal_operation("GET /v1/jobs/{job_id}", errors=(NotFound,), toolset="buying")
def read_hire(ctx: TxContext, ref: JobRef) -> HireTask:
    """Read an ordered job as its buyer: the MCP task, and what hire would answer now."""
    seen = find_mine(ctx.tx, ref.job_id, ctx.agent, ctx.env)
    if seen.role_of(ctx.agent) is not Actor.BUYER:
        raise NotFound("you have ordered no such job", param="job_id")
    facts = projected(seen, ctx.now).facts
    status, waits = task_status(facts, ctx.now), waiting_on(facts, ctx.now)
    return HireTask(
        status=status.value,
        in_vain=status is TaskStatus.COMPLETED and not has_output(facts),
        your_turn=waits.action if waits is not None and status is TaskStatus.INPUT_REQUIRED else None,
        hired=_hired(ctx, seen, []),
    )


def _hired(ctx: TxContext, seen: JobSnapshot, warned: Warnings) -> Hired:
    job = created_record(ctx, seen, warned)
    terms = None
    if (
        payment_status(after_due_move(seen.facts, ctx.now), ctx.now) is PaymentStatus.DUE
        and ctx.env in ctx.world.chains
    ):
        terms = payment_terms(ctx, seen)
    following = job.next_steps if terms is None else terms.next_steps
    return Hired(
        job=replace(job, next_steps=[]),
        terms=None if terms is None else replace(terms, next_steps=[]),
        next_steps=following,
    )
