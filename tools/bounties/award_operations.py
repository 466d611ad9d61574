"""Award of a bounty: accept a proposal and start its job."""

from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from storage.tables import AgentRow, BountyRow, DocumentRow, JobRow, ProposalRow, WalletRow
from storage.vocabulary import Actor, AgentStatus, BountyStatus, JobStatus, PricingModel, Timing
from tools.bounties.errors import BountyClosed, ProposalChanged, ProposalNotPending, SellerUnavailable
from tools.bounties.logic import BountyNamed, bounty_record, end, facts_of, over, own_bounty
from tools.bounties.records import BountyAwarded
from tools.bounties.rules import bounty_move, proposal_move
from tools.chain.chain_reads import NewestBlock, newest_block
from tools.engine.context import ReadContext, TxContext
from tools.engine.documents import Document
from tools.engine.errors import NotFound, StorageFull
from tools.engine.next_steps import after_award, step
from tools.engine.registry import operation
from tools.engine.storage_quotas import has_room_to_accept
from tools.events.payloads import ProposalChosen
from tools.jobs.errors import FirstPartySelfDealing, JobLimit, SellerHasNoWalletAddress
from tools.jobs.facts import JobFacts
from tools.jobs.lifecycle import opening
from tools.jobs.logic import emit_due_events, in_seconds, payment_falls_due
from tools.jobs.open_job_limits import take_job
from tools.jobs.place_order import add_job, check_pair, new_job
from tools.jobs.snapshot import JobSnapshot, load
from tools.jobs.views import job_record
from tools.kernel.money import MAX_PRICE, display
from tools.listings.records import PaymentTiming

MAX_REVISIONS = 2
KEPT = ("title", "category", "preview_schema", "acceptance")  # of the bounty, in its job


class AwardBounty(BountyNamed):
    proposal_id: str = Field(max_length=64, description="prp_…, from list_proposals")
    price: int | None = Field(
        None,
        ge=0,
        le=MAX_PRICE,
        description="the price you have read in the proposal, minor units; if it has changed: 409 proposal_changed",
    )
    payment: PaymentTiming | None = Field(
        None, description="the payment you have read in the proposal; if it has changed: 409 proposal_changed"
    )
    turnaround_seconds: Annotated[
        int, Field(ge=60, le=2_592_000, description="how long the seller has to deliver; default: an hour")
    ] = 3600


async def look_at_chain(read_ctx: ReadContext, _: AwardBounty) -> NewestBlock:
    return await newest_block(read_ctx)


@operation(
    "POST /v1/bounties/{bounty_id}/award",
    scope="buy",
    gather=look_at_chain,
    errors=(
        NotFound,
        BountyClosed,
        ProposalChanged,
        ProposalNotPending,
        SellerUnavailable,
        SellerHasNoWalletAddress,
        FirstPartySelfDealing,
        JobLimit,
        StorageFull,
    ),
    idempotent=True,
    next_steps=after_award,
    toolset="bounties",
)
def award_bounty(ctx: TxContext, asked: AwardBounty, newest: NewestBlock) -> BountyAwarded:
    """Accept a proposal on your bounty: its job begins, all other proposals are rejected.

    Send the price and payment you have read: the seller may change them until the award, and then the call is refused
    and shows the new ones. The seller works at once (on_delivery, or free of charge) or when you have paid (upfront:
    pay_job is due now). The job keeps the price, the bounty's input and description, and the delivery rules in input;
    you may ask for two revisions.
    """
    bounty = own_bounty(ctx, asked.bounty_id)
    proposal = ctx.tx.get(ProposalRow, asked.proposal_id, lock=True)
    if proposal is None or proposal.bounty_id != bounty.id:
        raise NotFound("there is no such proposal on this bounty", param="proposal_id")
    if bounty.status is BountyStatus.AWARDED and bounty.awarded_proposal_id == proposal.id:
        _hold_to_offer(asked, proposal)
        job = ctx.tx.need(JobRow, bounty.awarded_job_id)
        return BountyAwarded(bounty=bounty_record(ctx, bounty), job=job_record(ctx, load(ctx.tx, job)))
    move = bounty_move(facts_of(bounty), "award", ctx.now)
    if move is None:
        raise over(bounty)
    chosen = proposal_move(proposal.status, "award", Actor.BUYER)
    if chosen is None:
        raise ProposalNotPending(f"this proposal was {proposal.status}", status=proposal.status.value)
    _hold_to_offer(asked, proposal)
    own = bounty.first_party or any(party.first_party for party in _parties(ctx, proposal))
    take_job(ctx)
    seen = _begin_job(ctx, bounty, proposal, asked.turnaround_seconds, newest, own)
    ctx.tx.change(proposal, status=chosen.target, updated_at=ctx.now)
    after = end(ctx, bounty, move, awarded_proposal_id=proposal.id, awarded_job_id=seen.row.id)
    _tell_chosen(ctx, proposal, seen.row.id)
    return BountyAwarded(bounty=bounty_record(ctx, after), job=job_record(ctx, seen))


def _hold_to_offer(asked: AwardBounty, proposal: ProposalRow) -> None:
    """Refuse to award another price or payment than the buyer has read."""
    if asked.price in (None, proposal.price) and asked.payment in (None, proposal.payment):
        return
    listed = step("list_proposals", "Read the proposals as they are now.", bounty_id=proposal.bounty_id)
    raise ProposalChanged(
        f"the proposal asks {display(proposal.price)} ({proposal.price} minor units), paid {proposal.payment}, now",
        param="price" if asked.price not in (None, proposal.price) else "payment",
        next_steps=tuple(asdict(one) for one in listed),
        price=proposal.price,
        price_display=display(proposal.price),
        payment=proposal.payment,
    )


def _parties(ctx: TxContext, proposal: ProposalRow) -> tuple[AgentRow, AgentRow]:
    """Return seller and buyer; refuse if they may not trade or the seller cannot be paid."""
    seller, buyer = ctx.tx.need(AgentRow, proposal.seller_id), ctx.tx.need(AgentRow, ctx.agent)
    if seller.status is not AgentStatus.ACTIVE:
        raise SellerUnavailable("the seller is not active")
    if ctx.tx.get(WalletRow, seller.id, ctx.env) is None:
        raise SellerHasNoWalletAddress("the seller has no wallet to be paid at")
    if not has_room_to_accept(ctx, seller.id):
        raise SellerUnavailable("the seller has too little room left to accept work")
    check_pair(ctx, buyer, seller, "proposal_id")
    return seller, buyer


def _tell_chosen(ctx: TxContext, row: ProposalRow, job_id: str) -> None:
    told: ProposalChosen = {
        "bounty_id": row.bounty_id,
        "proposal_id": row.id,
        "job_id": job_id,
        "price": row.price,
        "price_display": display(row.price),
        "payment": "upfront" if row.payment == "upfront" else "on_delivery",
        "buyer_id": row.buyer_id,
    }
    ctx.emit(row.seller_id, row.env, "bounty.awarded", told)


def _begin_job(
    ctx: TxContext, bounty: BountyRow, proposal: ProposalRow, turnaround_seconds: int, newest: NewestBlock, own: bool
) -> JobSnapshot:
    """Create the job for a bounty and its accepted proposal, and notify both parties.

    `own`: one of the operator's agents takes part. Raises SellerHasNoWalletAddress if the seller could not be paid.
    """
    draft = JobFacts(status=JobStatus.OPEN, timing=Timing(proposal.payment), price_minor=proposal.price)
    move = opening(draft, "award", ctx.now)
    row = new_job(
        ctx,
        move,
        newest,
        **{name: getattr(bounty, name) for name in KEPT},
        listing_id=None,
        bounty_id=bounty.id,
        seller_id=proposal.seller_id,
        first_party=own,
        pricing_model=PricingModel.FIXED.value,
        payment=proposal.payment,
        units=1,
        price=proposal.price,
        turnaround_seconds=turnaround_seconds,
        accept_timeout_seconds=ctx.windows.accept_default_seconds,
        max_revisions=MAX_REVISIONS,
        input=bounty.job_input,
        input_schema=None,
        output_schema=bounty.deliverable_schema,
        content_warnings=bounty.content_warnings,
        accept_by=None,
        accepted_at=ctx.now,
    )
    if move.target is JobStatus.AWAITING_PAYMENT:
        due = payment_falls_due(ctx, JobSnapshot(row, (), frozenset()), ctx.windows.payment_seconds)
    else:
        due = {"deliver_by": in_seconds(ctx, turnaround_seconds)}
    text = ctx.tx.need(DocumentRow, bounty.job_input).text
    told = {"accept_by": None, "from_bounty": bounty.id}
    seen = add_job(ctx, row.with_(**due), Document(bounty.job_input, text.encode()), told)
    emit_due_events(ctx, draft, seen)
    return seen
