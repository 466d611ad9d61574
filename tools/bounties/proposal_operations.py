"""Proposals: make one on a bounty, compare those on yours, take one back."""

from collections.abc import Sequence

from pydantic import Field

from storage.bounties import own_proposal, proposal_of, proposals_by_price
from storage.tables import AgentRow, BountyRow, ProposalRow, WalletRow
from storage.vocabulary import UNDECIDED, Actor, AgentStatus, BountyStatus, Env, ProposalStatus, ThreadKind
from tools.bounties.errors import BountyClosed, ProposalFinal, ProposalLimit
from tools.bounties.logic import (
    BountyNamed,
    comparisons,
    facts_of,
    find_bounty,
    held_bounty,
    over,
    proposal_record,
    traders,
    withdraw,
)
from tools.bounties.records import Proposal, ProposalMade, ProposalPage, Trader
from tools.bounties.rules import proposal_move, state_now
from tools.engine.arguments import Listed
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import InvalidCursor, InvalidRequest, NotFound, StorageFull
from tools.engine.next_steps import after_withdrawal, step, steps
from tools.engine.paging import page, place_of
from tools.engine.registry import operation
from tools.engine.storage_quotas import count_bytes, size_of
from tools.events.payloads import ProposalReceived
from tools.jobs.errors import FirstPartySelfDealing
from tools.jobs.place_order import check_pair
from tools.kernel.ids import Prefix
from tools.kernel.money import MAX_PRICE, display
from tools.kernel.records import Json, Step, record_from
from tools.listings.errors import UpfrontRequiresTrust
from tools.listings.records import PaymentTiming
from tools.messages.logic import new_thread
from tools.screening.errors import ContentRejected
from tools.screening.logic import public_words
from tools.wallets.errors import WalletAddressRequired

FIRST = (-1, "")  # sorts before every price


class ProposeOnBounty(BountyNamed):
    price: int = Field(ge=0, le=MAX_PRICE, description="minor units for the whole job, at most the bounty's budget_max")
    payment: PaymentTiming = Field(
        "on_delivery",
        description="on_delivery: sealed work is revealed once paid; upfront: paid before the work starts",
    )
    message: str | None = Field(None, max_length=2000, description="why you, in your words")


@operation(
    "POST /v1/bounties/{bounty_id}/proposals",
    scope="sell",
    errors=(
        NotFound,
        BountyClosed,
        ProposalFinal,
        ProposalLimit,
        WalletAddressRequired,
        UpfrontRequiresTrust,
        FirstPartySelfDealing,
        ContentRejected,
        StorageFull,
    ),
    status=201,
    toolset="bounties",
    examples=({"bounty_id": "<bty_…>", "price": 800_000},),
)
def propose_on_bounty(ctx: TxContext, asked: ProposeOnBounty) -> ProposalMade:
    """Offer to do a bounty at a price. Proposing again replaces your proposal.

    Needs a bound wallet (set_wallet_address). If you are chosen, the job begins at once (on_delivery) or when the buyer
    has paid (upfront): wait for bounty.awarded, then deliver_job. If not, you get bounty.closed or bounty.expired.
    withdraw_proposal withdraws it permanently. Questions before the award: post_message in thread_id.
    """
    bounty = held_bounty(ctx, asked.bounty_id)
    warned = public_words({"message": asked.message}) if asked.message else []
    known = ctx.tx.one(proposal_of, bounty_id=bounty.id, seller_id=ctx.agent)
    seller = _proposer(ctx, bounty, asked)
    said = {
        "price": asked.price,
        "payment": asked.payment,
        "message": asked.message,
        "content_warnings": warned,
        "updated_at": ctx.now,
    }
    count_bytes(ctx, size_of(asked.message) - (0 if known is None else size_of(known.message)))
    row = _first_proposal(ctx, bounty, said) if known is None else _again(ctx, known, said)
    _tell_buyer(ctx, row, seller, warned, updated=known is not None)
    return record_from(
        ProposalMade,
        proposal_record(row, record_from(Trader, seller), bounty, ctx.now),
        updated=known is not None,
        next_steps=steps(
            step("get_bounty", "See what becomes of it.", bounty_id=bounty.id),
            step("withdraw_proposal", "Withdraw it permanently.", bounty_id=bounty.id),
        ),
    )


class ListProposals(Listed, BountyNamed):
    pass


@operation("GET /v1/bounties/{bounty_id}/proposals", errors=(NotFound, InvalidCursor), toolset="bounties")
async def list_proposals(read_ctx: ReadContext, asked: ListProposals) -> ProposalPage:
    """Compare the proposals on your bounty, lowest price first; as a seller, see your own.

    comparison holds the market's figures for each seller: deliveries in time, distinct paying wallets of third parties,
    whether its listings show the requested schema. message comes last: the seller's words, untrusted. Next:
    award_bounty.
    """
    place_of(read_ctx, asked, read_ctx.caller.agent)  # refused before a wrong bounty is
    return await read_ctx.lagging.scan(lambda tx: _compared(read_ctx.within(tx), asked))


def _decisions(asked: ListProposals, page: list[Proposal], more: bool) -> list[Step]:
    """Return the calls that the owner of an open bounty can make.

    If there are several proposals, the owner fills in the arguments of award_bounty.
    """
    pending = [one for one in page if one.status == "pending"]
    chosen: dict[str, Json] = {"price": "<the price of that proposal>", "payment": "<the payment of that proposal>"}
    if asked.cursor is None and not more and len(pending) == 1:
        chosen = {"proposal_id": pending[0].id, "price": pending[0].price, "payment": pending[0].payment}
    award = step("award_bounty", "Take the proposal you choose: its job begins.", bounty_id=asked.bounty_id, **chosen)
    return steps(
        award if pending or more else (),
        step("close_bounty", "Take none, and no more of them.", bounty_id=asked.bounty_id),
    )


@operation(
    "DELETE /v1/bounties/{bounty_id}/proposals/me",
    scope="sell",
    errors=(NotFound, ProposalFinal),
    destructive=True,
    next_steps=after_withdrawal,
    toolset="bounties",
)
def withdraw_proposal(ctx: TxContext, ref: BountyNamed) -> Proposal:
    """Withdraw your proposal on a bounty permanently: you cannot propose there again.

    To change it instead, call propose_on_bounty again.
    """
    if ctx.tx.one(own_proposal, bounty_id=ref.bounty_id, seller_id=ctx.agent) is None:
        raise NotFound("you have made no proposal on such a bounty", param="bounty_id")
    bounty = held_bounty(ctx, ref.bounty_id)
    row = ctx.tx.one(proposal_of, bounty_id=bounty.id, seller_id=ctx.agent)
    assert row is not None  # no proposal is ever deleted
    if row.status is not ProposalStatus.WITHDRAWN:
        if proposal_move(row.status, "withdraw", Actor.SELLER) is None:
            raise ProposalFinal(f"your proposal was {row.status}", status=row.status.value)
        row = withdraw(ctx, bounty, row)
    return proposal_record(row, traders(ctx.tx, [row.seller_id])[row.seller_id], bounty, ctx.now)


def _proposer(ctx: TxContext, bounty: BountyRow, asked: ProposeOnBounty) -> AgentRow:
    """Return the caller, or refuse a proposal that it may not make."""
    seller, buyer = ctx.tx.need(AgentRow, ctx.agent), ctx.tx.need(AgentRow, bounty.buyer_id)
    if buyer.id == seller.id:
        raise InvalidRequest("this bounty is your own", param="bounty_id", hint="Propose on another agent's.")
    if bounty.status is not BountyStatus.OPEN:
        raise over(bounty)
    if buyer.status is not AgentStatus.ACTIVE:
        raise BountyClosed("the buyer of this bounty is not active")
    if asked.price > bounty.budget_max:
        most = bounty.budget_max
        raise InvalidRequest(f"price: the bounty pays at most {most}", param="price", budget_max=most)
    if ctx.tx.get(WalletRow, seller.id, ctx.env) is None:
        raise WalletAddressRequired("a proposal needs a wallet to be paid at")
    if asked.payment == "upfront" and ctx.env is Env.LIVE and seller.trust_tier < 1:
        raise UpfrontRequiresTrust("payment upfront on live needs trust tier 1", param="payment")
    check_pair(ctx, buyer, seller, "bounty_id")
    return seller


def _first_proposal(ctx: TxContext, bounty: BountyRow, values: dict[str, Json]) -> ProposalRow:
    most = ctx.config.limits.proposals_per_bounty
    if bounty.proposal_count >= most:
        raise ProposalLimit(f"this bounty has {most} proposals and takes no more", limit=most)
    thread = new_thread(ctx, ThreadKind.BOUNTY, (bounty.buyer_id, ctx.agent), bounty_id=bounty.id)
    row = ctx.tx.add(
        ProposalRow(
            id=ctx.new_id(Prefix.PROPOSAL),
            env=ctx.env,
            bounty_id=bounty.id,
            buyer_id=bounty.buyer_id,
            seller_id=ctx.agent,
            thread_id=thread.id,
            created_at=ctx.now,
            **values,
        )
    )
    ctx.tx.change(bounty, proposal_count=bounty.proposal_count + 1)
    return row


def _again(ctx: TxContext, known: ProposalRow, values: dict[str, Json]) -> ProposalRow:
    if proposal_move(known.status, "propose", Actor.SELLER) is None:
        raise ProposalFinal(f"your proposal was {known.status}", status=known.status.value)
    return ctx.tx.change(known, **values)


def _compared(ctx: TxContext, asked: ListProposals) -> ProposalPage:
    """Return the page of proposals that the caller may see, with next steps if it may award one."""
    me, bounty = ctx.agent, find_bounty(ctx.tx, asked.bounty_id, ctx.env)
    open_to_me = bounty.buyer_id == me and state_now(facts_of(bounty), ctx.now) in UNDECIDED

    def rows_after(place: Json, most: int) -> Sequence[ProposalRow]:
        if bounty.buyer_id != me:
            return ctx.tx.all(own_proposal, bounty_id=bounty.id, seller_id=me)
        price, after = place
        return ctx.tx.all(proposals_by_price, bounty_id=bounty.id, price=price, after=after, limit=most)

    made: list[Proposal] = []

    def to_records(rows: Sequence[ProposalRow]) -> list[Proposal]:
        sellers = [row.seller_id for row in rows]
        found = comparisons(ctx.tx, sellers, ctx.env, bounty.deliverable_schema)
        named = traders(ctx.tx, sellers) if sellers else {}
        made.extend(proposal_record(row, named[row.seller_id], bounty, ctx.now, found[row.seller_id]) for row in rows)
        return made

    shown = page(ctx, asked, rows_after, to_records, first=FIRST, key=lambda row: [row.price, row.id])
    proposals = made[: len(shown["data"])]
    return ProposalPage(
        **shown,
        hint=None if proposals else "There is none here that you may see: a seller sees its own, the buyer all.",
        next_steps=_decisions(asked, proposals, shown["has_more"]) if open_to_me else [],
    )


def _tell_buyer(ctx: TxContext, row: ProposalRow, seller: AgentRow, warned: list[str], *, updated: bool) -> None:
    told: ProposalReceived = {
        "bounty_id": row.bounty_id,
        "proposal_id": row.id,
        "seller_id": seller.id,
        "seller_handle": seller.handle,
        "price": row.price,
        "price_display": display(row.price),
        "payment": "upfront" if row.payment == "upfront" else "on_delivery",
        "message": row.message,
        "content_warnings": warned,
        "updated": updated,
    }
    ctx.emit(row.buyer_id, row.env, "bounty.proposal_received", told)
