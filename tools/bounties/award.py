"""The job created when a bounty's owner accepts a proposal: its terms, its first deadline and its events."""

from storage.tables import BountyRow, ProposalRow
from storage.vocabulary import JobStatus, PricingModel, Timing
from tools.chain.chain_reads import NewestBlock
from tools.engine.context import TxContext
from tools.engine.stored_documents import Document, text_of
from tools.jobs.facts import JobFacts
from tools.jobs.lifecycle import opening
from tools.jobs.logic import emit_due_events, in_seconds, payment_falls_due
from tools.jobs.place_order import add_job, new_job
from tools.jobs.snapshot import JobSnapshot

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
    row = new_job(
        ctx,
        move,
        newest,
        listing_id=None,
        bounty_id=bounty.id,
        seller_id=proposal.seller_id,
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
        accept_by=None,
        accepted_at=ctx.now,
    )
    if move.target is JobStatus.AWAITING_PAYMENT:
        due = payment_falls_due(ctx, JobSnapshot(row, (), frozenset()), ctx.windows.payment_seconds)
    else:
        due = {"deliver_by": in_seconds(ctx, turnaround_seconds)}
    text = text_of(ctx.tx, bounty.job_input)
    assert text is not None
    given = Document(bounty.job_input, text.encode())
    seen = add_job(ctx, row.with_(**due), given, {"accept_by": None, "from_bounty": bounty.id})
    emit_due_events(ctx, draft, seen)
    return seen
