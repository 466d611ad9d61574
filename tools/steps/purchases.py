"""Purchases with one signed payment, in units of work: begun, handed over, found, paid, closed. Whoever comes second finds it done."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from storage.purchases import owners_of_wallet, purchase_of, refused_of
from storage.tables import (
    AgentRow,
    AgentStatus,
    JobRow,
    ListingRow,
    ListingStatus,
    PurchaseRow,
    PurchaseStatus,
    WalletRow,
)
from storage.unit import Tx
from tools.context import Caller, Context, Outside
from tools.errors import (
    BuyerNotActive,
    ListingUnavailable,
    MarketError,
    NotFound,
    SellerHasNoWalletAddress,
    X402AuthorizationInUse,
    X402FirstPartyOnly,
    X402NeedsAPrice,
    X402UpfrontNotSupported,
)
from tools.ports import Env
from tools.rules.jobfacts import JobStatus
from tools.rules.lifecycle import Actor, allowed
from tools.rules.purchases import UNDER_WAY, End, Stage, Standing, end_of, ends_at, look_again_at, look_for_it_at
from tools.rules.transfers import Verdict
from tools.rules.x402 import Authorization
from tools.rules.x402payments import Payment
from tools.steps.enrolling import enrol, new_keypair
from tools.steps.handles import first_handle
from tools.steps.jobs import SeenJob, advance, attended, attention_in, mine, see
from tools.steps.judging import GatherAgain
from tools.steps.ordering import JudgedOrder, Order, place_order
from tools.steps.paying import settle
from tools.steps.profiles import Profile
from tools.steps.proving import known_settlement
from tools.steps.wallets import bind

LEASE = timedelta(seconds=15)  # for which whoever hands a payment over, or looks for it, has it alone
OWNERS = 20
MOST_REFUSED = 5  # payments of one wallet whose work is done and that no facilitator took
UNSAID = Profile.model_validate({})  # such an agent has said nothing of itself yet


@dataclass(frozen=True, slots=True)
class OnSale:
    """A listing that is sold with one payment, and where it is paid."""

    listing: ListingRow
    pay_to: str


@dataclass(frozen=True, slots=True)
class SeenPurchase:
    """A purchase with its job."""

    row: PurchaseRow
    job: SeenJob

    def standing(self, now: datetime) -> Standing:
        row, stage = self.row, Stage(self.row.status.value)
        held = row.held_until is not None and row.held_until > now
        return Standing(stage, self.job.facts, row.created_at, row.valid_before, held)


def acting_for(place: Outside, tx: Tx, agent_id: str | None) -> Context:
    """A unit of work that is the buyer's, or nobody's."""
    caller = Caller(agent_id, None, place.env, ("*",), place.caller.approach)
    return Context(tx, place.world, place.house, caller, place.env, place.world.clock.now(), place.operations)


def on_sale(tx: Tx, listing_id: str, env: Env | None) -> OnSale:
    """The listing, if it is one that is sold so; the refusals stand in the order in which they are said."""
    listing = tx.get(ListingRow, listing_id)
    if listing is None or env not in (None, listing.env):
        raise NotFound("there is no such listing", param="listing_id", hint="list_x402_services shows what is sold so.")
    seller = tx.get(AgentRow, listing.seller_id)
    assert seller is not None
    if not seller.first_party:
        raise X402FirstPartyOnly("only the operator's own listings are bought with one payment")
    if not listing.price:
        raise X402NeedsAPrice("this listing has no price to sign")
    if listing.payment != "on_delivery":
        raise X402UpfrontNotSupported("this listing is paid before the work")
    wallet = tx.get(WalletRow, listing.seller_id, listing.env)
    if wallet is None:
        raise SellerHasNoWalletAddress("the seller has no wallet to be paid at")
    if listing.status is not ListingStatus.ACTIVE or seller.status is not AgentStatus.ACTIVE:
        raise ListingUnavailable(f"this listing is {listing.status}", status=str(listing.status))
    return OnSale(listing, wallet.address)


def find_purchase(tx: Tx, env: Env, given: Authorization) -> PurchaseRow | None:
    return tx.one(purchase_of, env=env, payer=given.payer.lower(), nonce=given.nonce)


def see_purchase(tx: Tx, purchase_id: str, *, lock: bool = False) -> SeenPurchase:
    row = tx.get(PurchaseRow, purchase_id, lock=lock)
    assert row is not None
    job = tx.get(JobRow, row.job_id, lock=lock)
    assert job is not None
    return SeenPurchase(row, see(tx, job))


def begin(
    place: Outside,
    tx: Tx,
    order: Order,
    judged: JudgedOrder,
    payment: Payment,
    fingerprint: str,
    body: dict[str, Any],
    head: int,
) -> tuple[PurchaseRow, bool]:
    """The purchase with its agent and its job, written; whether this call began it."""
    given = payment.authorization
    twin = find_purchase(tx, place.env, given)
    if twin is not None:
        return twin, False
    if len(tx.all(refused_of, env=place.env, payer=given.payer.lower(), limit=MOST_REFUSED)) == MOST_REFUSED:
        raise X402AuthorizationInUse(
            f"{MOST_REFUSED} payments of this wallet were not taken yet; no more work is done for it until they are, or have ended",
            hint="Send one of those payments again with its own input, or wait until it has ended.",
            retry_after_seconds=60,
        )
    buyer = _buyer(acting_for(place, tx, place.caller.agent_id), given.payer)
    ctx = acting_for(place, tx, buyer.id)
    seen, _ = place_order(ctx, order, judged)
    if seen.row.price != given.value:
        raise GatherAgain  # the price was changed in between
    row = PurchaseRow(
        id=ctx.new_id("pur_"),
        env=place.env,
        payer=given.payer.lower(),
        nonce=given.nonce,
        status=PurchaseStatus.WORKING,
        listing_id=order.listing_id,
        fingerprint=fingerprint,
        agent_id=buyer.id,
        job_id=seen.row.id,
        amount=given.value,
        pay_to=given.payee,
        valid_before=given.valid_before,
        scanned_to=head,
        settle_body=orjson.dumps(body).decode(),
        look_at=None,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    standing = Standing(Stage.WORKING, seen.facts, ctx.now, given.valid_before, held=False)
    return tx.add(PurchaseRow(**(row.__dict__ | {"look_at": look_again_at(standing, ctx.now)}))), True


def _buyer(ctx: Context, payer: str) -> AgentRow:
    """The agent this wallet is bound to, the caller's own before others; or a new one that it is bound to now."""
    owners = ctx.tx.all(owners_of_wallet, env=ctx.env, address=payer, limit=OWNERS)
    asking = ctx.caller.agent_id
    active = next(
        (one for one in sorted(owners, key=lambda one: one.id != asking) if one.status is AgentStatus.ACTIVE), None
    )
    if active is not None:
        return active
    if any(one.status is AgentStatus.SUSPENDED for one in owners):
        raise BuyerNotActive("the agent this wallet is bound to is suspended")
    name = f"Wallet {payer[:6]}…{payer[-4:]}"
    made = enrol(ctx, UNSAID, name, first_handle(ctx, None, name), new_keypair(ctx).public_key)
    bind(ctx, made.id, None, payer)
    return made


def hand_over(place: Outside, tx: Tx, purchase_id: str) -> PurchaseRow | None:
    """Commit that the facilitator is about to have the payment; None where another call was faster, or it is too late."""
    now, seen = place.world.clock.now(), see_purchase(tx, purchase_id, lock=True)
    standing = seen.standing(now)
    if standing.stage is not Stage.WORKING or end_of(standing, now) is not None:
        return None
    _outlast(acting_for(place, tx, seen.row.agent_id), seen)
    return tx.change(seen.row, status=PurchaseStatus.SETTLING, updated_at=now, **_leased(now))


def take_up(place: Outside, tx: Tx, purchase_id: str) -> PurchaseRow | None:
    """Have a payment whose fate is open alone for a while; None where another has it, or it is no longer open."""
    now, seen = place.world.clock.now(), see_purchase(tx, purchase_id, lock=True)
    standing = seen.standing(now)
    if standing.held or standing.stage not in UNDER_WAY:
        return None
    return tx.change(seen.row, **_leased(now))


def keep(place: Outside, tx: Tx, purchase_id: str) -> None:
    """Hold it for longer."""
    row = tx.get(PurchaseRow, purchase_id, lock=True)
    if row is not None and Stage(row.status.value) in UNDER_WAY:
        tx.change(row, **_leased(place.world.clock.now()))


def _leased(now: datetime) -> dict[str, datetime]:
    return {"held_until": now + LEASE, "look_at": now + LEASE}


def note(place: Outside, tx: Tx, purchase_id: str, **found: object) -> PurchaseRow:
    """What was learned of a payment that is under way; nothing of one that has ended."""
    now, row = place.world.clock.now(), tx.get(PurchaseRow, purchase_id, lock=True)
    assert row is not None
    if row.status in (PurchaseStatus.PAID, PurchaseStatus.CLOSED):
        return row
    later = look_for_it_at(row.created_at, row.valid_before, now)
    return tx.change(row, **({"updated_at": now, "held_until": None, "look_at": later} | found))


def take_back(place: Outside, tx: Tx, handed: PurchaseRow, **found: object) -> PurchaseRow:
    """What the facilitator never had is worked on as before; unless that was heard after a lease: another may have handed it over since."""
    now, row = place.world.clock.now(), tx.get(PurchaseRow, handed.id, lock=True)
    assert row is not None
    alone = row.status is PurchaseStatus.SETTLING and row.updated_at <= handed.updated_at > now - LEASE
    back: dict[str, object] = {"status": PurchaseStatus.WORKING} if alone else {}
    return note(place, tx, handed.id, **found, **back)


def finish(place: Outside, tx: Tx, purchase_id: str, transaction: str, verdict: Verdict) -> PurchaseRow:
    """Record the transfer, reveal and accept the work: one unit. Of a transaction that took several payments one alone is recorded."""
    row = tx.get(PurchaseRow, purchase_id, lock=True)
    assert row is not None
    if row.status in (PurchaseStatus.PAID, PurchaseStatus.CLOSED):
        return row
    ctx = acting_for(place, tx, row.agent_id)
    known = known_settlement(tx, ctx, transaction)
    if known is not None and known.job_id != row.job_id:
        return close(place, tx, purchase_id, End.TOGETHER)
    seen = mine(ctx, row.job_id)
    settled: SeenJob | MarketError = seen if known is not None else settle(ctx, seen, transaction, verdict)
    if isinstance(settled, SeenJob):
        move = allowed(settled.facts, "accept", Actor.BUYER, ctx.now)
        if move is not None:
            advance(ctx, settled, move, row.agent_id, told={"by": "buyer"}, completed_at=ctx.now)
    return tx.change(row, status=PurchaseStatus.PAID, tx_hash=transaction, look_at=None, updated_at=ctx.now)


def close(place: Outside, tx: Tx, purchase_id: str, end: End) -> PurchaseRow:
    """End a purchase that pays nothing, and its job with it, with no mark on anybody."""
    row = tx.get(PurchaseRow, purchase_id, lock=True)
    assert row is not None
    if row.status in (PurchaseStatus.PAID, PurchaseStatus.CLOSED):
        return row
    if row.status is not PurchaseStatus.WORKING and end not in (End.NOT_CHARGED, End.TOGETHER):
        return row  # it was handed over in between
    ctx = acting_for(place, tx, row.agent_id)
    call_off(ctx, mine(ctx, row.job_id))
    reason = row.reason if end is End.NOT_CHARGED and row.reason else end.value
    return tx.change(row, status=PurchaseStatus.CLOSED, reason=reason, look_at=None, updated_at=ctx.now)


def call_off(ctx: Context, seen: SeenJob) -> SeenJob:
    """End a job that nobody pays for, where the table lets the market do so; else it stays as it stands."""
    move = allowed(seen.facts, "call_off", Actor.OPERATOR, ctx.now)
    if move is None:
        return seen
    why = "the purchase it was ordered for came to nothing"
    return advance(ctx, seen, move, None, told={"by": "platform", "reason": why}, cancel_reason=why)


def put_off(place: Outside, tx: Tx, purchase_id: str) -> None:
    """Look again later at one whose client has gone."""
    now, seen = place.world.clock.now(), see_purchase(tx, purchase_id, lock=True)
    if seen.row.status is PurchaseStatus.WORKING:
        _outlast(acting_for(place, tx, seen.row.agent_id), seen)
        tx.change(seen.row, look_at=look_again_at(seen.standing(now), now))


def _outlast(ctx: Context, seen: SeenPurchase) -> None:
    """Leave a sealed delivery open for as long as its payment may come: expired it would be marked as unpaid."""
    job, until = seen.job.row, ends_at(seen.row.valid_before)
    if job.status == JobStatus.DELIVERED and job.pay_by is not None and job.pay_by < until:
        moved = replace(seen.job, row=JobRow(**(job.__dict__ | {"pay_by": until})))
        ctx.tx.change(job, pay_by=until, updated_at=ctx.now, **attended(moved, attention_in(job), ctx.now))
