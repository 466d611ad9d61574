"""Awards: a proposal is taken, and its bounty becomes a job."""

from dataclasses import dataclass
from typing import Annotated

import orjson
from pydantic import Field

from storage.tables import (
    AgentRow,
    AgentStatus,
    BountyRow,
    BountyStatus,
    JobRow,
    ProposalRow,
    ProposalStatus,
    WalletRow,
)
from tools.context import Context, Outside
from tools.errors import (
    BountyClosed,
    FirstPartySelfDealing,
    JobLimit,
    NotFound,
    ProposalNotPending,
    SellerHasNoWalletAddress,
    SellerUnavailable,
)
from tools.records.bounties import BountyAwarded
from tools.records.eventdata import ProposalChosen
from tools.registry import operation
from tools.rules.bounties import ProposalState, bounty_move, proposal_move
from tools.rules.lifecycle import Actor
from tools.rules.money import display
from tools.steps.awarding import begin_job
from tools.steps.bounties import BountyNamed, bounty_record, end, facts_of, over, own_bounty
from tools.steps.capacity import take_job
from tools.steps.chain_reading import known_head
from tools.steps.jobs import see
from tools.steps.pairs import check_pair
from tools.steps.views import job_record


class AwardBounty(BountyNamed):
    proposal_id: str = Field(max_length=64, description="prp_…, from list_proposals")
    turnaround_seconds: Annotated[
        int, Field(ge=60, le=2_592_000, description="how long the seller has to deliver; default: an hour")
    ] = 3600


@dataclass(frozen=True, slots=True)
class KnownHead:
    """The newest block known when the award came."""

    number: int | None


async def look_at_chain(outside: Outside, _: AwardBounty) -> KnownHead:
    return KnownHead(known_head(outside))


@operation(
    "POST /v1/bounties/{bounty_id}/award",
    scope="buy",
    gather=look_at_chain,
    errors=(
        NotFound,
        BountyClosed,
        ProposalNotPending,
        SellerUnavailable,
        SellerHasNoWalletAddress,
        FirstPartySelfDealing,
        JobLimit,
    ),
    idempotent=True,
    toolset="bounties",
)
def award_bounty(ctx: Context, asked: AwardBounty, head: KnownHead) -> BountyAwarded:
    """Take a proposal on your bounty: its job begins, all other proposals are rejected.

    The seller works at once (on_delivery, or free of charge) or when you have paid (upfront: pay_job is due now). The job
    keeps the price, the bounty's input and description, and what input says of deliveries; you may ask for two revisions.
    """
    bounty = own_bounty(ctx, asked.bounty_id)
    proposal = ctx.tx.get(ProposalRow, asked.proposal_id, lock=True)
    if proposal is None or proposal.bounty_id != bounty.id:
        raise NotFound("there is no such proposal on this bounty", param="proposal_id")
    if bounty.status is BountyStatus.AWARDED and bounty.awarded_proposal_id == proposal.id:
        return _awarded(ctx, bounty)
    move = bounty_move(facts_of(bounty), "award", ctx.now)
    if move is None:
        raise over(bounty)
    chosen = proposal_move(ProposalState(proposal.status), "award", Actor.BUYER)
    if chosen is None:
        raise ProposalNotPending(f"this proposal was {proposal.status}", status=proposal.status.value)
    own = bounty.first_party or any(party.first_party for party in _parties(ctx, proposal))
    take_job(ctx)
    seen = begin_job(ctx, bounty, proposal, asked.turnaround_seconds, head.number, first_party=own)
    ctx.tx.change(proposal, status=ProposalStatus(chosen.target.value), updated_at=ctx.now)
    after = end(ctx, bounty, move, awarded_proposal_id=proposal.id, awarded_job_id=seen.row.id)
    _tell_chosen(ctx, proposal, seen.row.id)
    return BountyAwarded(bounty=bounty_record(ctx, after), job=job_record(ctx, seen))


def _parties(ctx: Context, proposal: ProposalRow) -> tuple[AgentRow, AgentRow]:
    """Seller and buyer as they are now, where they may trade and the seller can be paid."""
    seller, buyer = ctx.tx.get(AgentRow, proposal.seller_id), ctx.tx.get(AgentRow, ctx.agent)
    assert seller is not None
    assert buyer is not None
    if seller.status is not AgentStatus.ACTIVE:
        raise SellerUnavailable("the seller is not active")
    if ctx.tx.get(WalletRow, seller.id, ctx.env) is None:
        raise SellerHasNoWalletAddress("the seller has no wallet to be paid at")
    check_pair(ctx, buyer, seller, "proposal_id")
    return seller, buyer


def _awarded(ctx: Context, bounty: BountyRow) -> BountyAwarded:
    """What was awarded before, as it now stands."""
    assert bounty.awarded_job_id is not None
    job = ctx.tx.get(JobRow, bounty.awarded_job_id)
    assert job is not None
    return BountyAwarded(bounty=bounty_record(ctx, bounty), job=job_record(ctx, see(ctx.tx, job)))


def _tell_chosen(ctx: Context, row: ProposalRow, job_id: str) -> None:
    told: ProposalChosen = {
        "bounty_id": row.bounty_id,
        "proposal_id": row.id,
        "job_id": job_id,
        "price": row.price,
        "price_display": display(row.price),
        "payment": "upfront" if row.payment == "upfront" else "on_delivery",
        "buyer_id": row.buyer_id,
    }
    ctx.tx.say(row.seller_id, row.env, "bounty.awarded", orjson.dumps(told).decode(), ctx.now)
