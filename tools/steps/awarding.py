"""The job a bounty becomes when a proposal is taken: its terms frozen, begun at once or waiting for the payment."""

from storage.tables import BountyRow, JobRow, ProposalRow, ThreadKind
from tools.context import Context
from tools.rules.ids import Prefix
from tools.rules.jobfacts import JobFacts, JobStatus, PricingModel, Timing
from tools.rules.lifecycle import opening
from tools.steps.agreeing import payment_falls_due
from tools.steps.jobs import SeenJob, attentive, in_seconds, record_event, say_what_is_due
from tools.steps.messages import new_thread

MAX_REVISIONS = 2


def begin_job(
    ctx: Context,
    bounty: BountyRow,
    proposal: ProposalRow,
    turnaround_seconds: int,
    head: int | None,
    *,
    first_party: bool,
) -> SeenJob:
    """Make the job of a bounty and the proposal taken, and tell both; SellerHasNoWalletAddress where it could not be paid."""
    draft = JobFacts(
        status=JobStatus.OPEN,
        timing=Timing(proposal.payment),
        model=PricingModel.FIXED,
        price_minor=proposal.price,
    )
    move = opening(draft, "award", ctx.now)
    row = _new_job(ctx, bounty, proposal, turnaround_seconds, head, move.target, first_party=first_party)
    if move.target is JobStatus.AWAITING_PAYMENT:
        due = payment_falls_due(ctx, SeenJob(row, (), frozenset()), ctx.windows.payment_seconds)
    else:
        due = {"deliver_by": in_seconds(ctx, turnaround_seconds)}
    row = ctx.tx.add(attentive(JobRow(**(row.__dict__ | due)), ctx.now))
    new_thread(ctx, ThreadKind.JOB, (row.buyer_id, row.seller_id), thread_id=row.thread_id, job_id=row.id)
    seen = SeenJob(row, (), frozenset())
    record_event(ctx, seen, "job.created", ctx.agent, {"accept_by": None, "from_bounty": bounty.id})
    say_what_is_due(ctx, draft, seen)
    return seen


def _new_job(
    ctx: Context,
    bounty: BountyRow,
    proposal: ProposalRow,
    turnaround_seconds: int,
    head: int | None,
    status: JobStatus,
    *,
    first_party: bool,
) -> JobRow:
    """The job with everything it keeps from bounty and proposal."""
    return JobRow(
        id=ctx.new_id(Prefix.JOB),
        env=ctx.env,
        listing_id=None,
        bounty_id=bounty.id,
        buyer_id=bounty.buyer_id,
        seller_id=proposal.seller_id,
        thread_id=ctx.new_id(Prefix.THREAD),
        status=status.value,
        title=bounty.title,
        category=bounty.category,
        pricing_model=PricingModel.FIXED.value,
        payment=proposal.payment,
        units=1,
        price=proposal.price,
        turnaround_seconds=turnaround_seconds,
        accept_timeout_seconds=ctx.windows.accept_default_seconds,
        max_revisions=MAX_REVISIONS,
        first_party=first_party,
        input=bounty.job_input,
        input_schema=None,
        output_schema=bounty.deliverable_schema,
        preview_schema=bounty.preview_schema,
        acceptance=bounty.acceptance,
        content_warnings=bounty.content_warnings,
        panel_seed=ctx.world.dice.roll(32),
        head_at_order=head,
        accept_by=None,
        created_at=ctx.now,
        accepted_at=ctx.now,
        updated_at=ctx.now,
    )
