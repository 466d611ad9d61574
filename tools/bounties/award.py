"""The job created when a bounty's owner accepts a proposal: its terms, its first deadline and its events."""

from storage.tables import BountyRow, JobRow, ProposalRow
from storage.vocabulary import JobStatus, PricingModel, ThreadKind, Timing
from tools.chain.chain_reads import NewestBlock
from tools.engine.context import TxContext
from tools.engine.storage_quotas import size_of, take_order
from tools.engine.stored_documents import Document, text_of
from tools.jobs.facts import JobFacts
from tools.jobs.lifecycle import opening
from tools.jobs.logic import emit_due_events, in_seconds, payment_falls_due, record_event, with_waiting_columns
from tools.jobs.snapshot import JobSnapshot
from tools.jobs.stored_texts import INPUT, keep_text
from tools.kernel.ids import Prefix
from tools.messages.logic import new_thread

MAX_REVISIONS = 2


def begin_job(
    ctx: TxContext,
    bounty: BountyRow,
    proposal: ProposalRow,
    turnaround_seconds: int,
    newest: NewestBlock,
    *,
    first_party: bool,
) -> JobSnapshot:
    """Create the job for a bounty and its accepted proposal, and notify both parties.

    Raises SellerHasNoWalletAddress if the seller could not be paid.
    """
    draft = JobFacts(
        status=JobStatus.OPEN,
        timing=Timing(proposal.payment),
        model=PricingModel.FIXED,
        price_minor=proposal.price,
    )
    move = opening(draft, "award", ctx.now)
    row = _new_job(ctx, bounty, proposal, turnaround_seconds, newest, move.target, first_party=first_party)
    if move.target is JobStatus.AWAITING_PAYMENT:
        due = payment_falls_due(ctx, JobSnapshot(row, (), frozenset()), ctx.windows.payment_seconds)
    else:
        due = {"deliver_by": in_seconds(ctx, turnaround_seconds)}
    row = ctx.tx.add(with_waiting_columns(row.with_(**due), ctx.now))
    new_thread(ctx, ThreadKind.JOB, (row.buyer_id, row.seller_id), thread_id=row.thread_id, job_id=row.id)
    text = text_of(ctx.tx, bounty.job_input)
    assert text is not None
    keep_text(ctx.tx, row.id, INPUT, Document(bounty.job_input, text.encode()))
    take_order(ctx, size_of(text))
    seen = JobSnapshot(row, (), frozenset())
    record_event(ctx, seen, "job.created", ctx.agent, {"accept_by": None, "from_bounty": bounty.id})
    emit_due_events(ctx, draft, seen)
    return seen


def _new_job(
    ctx: TxContext,
    bounty: BountyRow,
    proposal: ProposalRow,
    turnaround_seconds: int,
    newest: NewestBlock,
    status: JobStatus,
    *,
    first_party: bool,
) -> JobRow:
    """Build the job row from the bounty and the proposal."""
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
        panel_seed=ctx.world.dice.random_bytes(32),
        head_at_order=newest.number,
        block_time_at_order=newest.time,
        accept_by=None,
        created_at=ctx.now,
        accepted_at=ctx.now,
        updated_at=ctx.now,
    )
