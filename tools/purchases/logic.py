"""Purchases with one signed x402 payment: the units of work that begin, submit, settle and close one.

If two processes do the same step, the second one finds it done and changes nothing.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from storage.purchases import any_purchase_of, any_settlement_of, forget_buyer, forget_purchase, purchase_of
from storage.tables import AgentRow, JobRow, ListingRow, PurchaseRow, WalletRow, X402AccountRow
from storage.transaction import Tx
from storage.vocabulary import Actor, AgentStatus, Env, JobStatus, ListingStatus, PurchaseStatus
from tools.chain.transfer_proof import known_settlement
from tools.chain.transfer_verification import Verification
from tools.chain.wallet_proof import address_of
from tools.chain.x402_payload import Authorization
from tools.engine.context import ReadContext, TxContext
from tools.engine.documents import StaleInput
from tools.engine.errors import NotFound
from tools.engine.storage_quotas import refuse_overfull
from tools.jobs.errors import ListingUnavailable, SellerHasNoWalletAddress
from tools.jobs.lifecycle import allowed
from tools.jobs.logic import apply_move, own_job_locked, stored_waiting, waiting_columns
from tools.jobs.payments.logic import apply_transfer
from tools.jobs.place_order import JudgedOrder, Order, place_order
from tools.jobs.snapshot import JobSnapshot, load
from tools.kernel.errors import MarketError
from tools.purchases.accounts import buyer_of, is_unclaimed
from tools.purchases.errors import X402AuthorizationInUse, X402FirstPartyOnly, X402NeedsAPrice, X402UpfrontNotSupported
from tools.purchases.rules import (
    ENDED,
    UNDER_WAY,
    Event,
    Outcome,
    PurchaseState,
    end_of,
    ends_at,
    look_again_at,
    look_for_it_at,
    needs_its_client,
    target_of,
)

NO_LISTING = "list_x402_services (GET /v1/x402) shows what is sold this way."
UNPAID_KEPT = timedelta(hours=24)  # for failed purchases of unclaimed accounts
LEASE = timedelta(seconds=15)  # for a process that submits a payment or looks for it


@dataclass(frozen=True, slots=True)
class SeenPurchase:
    """A purchase with its job."""

    row: PurchaseRow
    job: JobSnapshot

    def standing(self, now: datetime) -> PurchaseState:
        row, stage = self.row, self.row.status
        held = row.held_until is not None and row.held_until > now
        return PurchaseState(stage, self.job.facts, row.created_at, row.valid_before, held, row.asked_at)


def any_listing(tx: Tx, listing_id: str, env: str | None) -> ListingRow:
    """Return the listing in any status, because earlier purchases of it can still be read."""
    listing = tx.get(ListingRow, listing_id)
    if listing is None or env not in (None, listing.env):
        raise NotFound("there is no such listing", param="listing_id", hint=NO_LISTING)
    return listing


def on_sale(tx: Tx, listing_id: str, env: Env) -> tuple[ListingRow, str]:
    """Return a listing that is sold with one payment, and the wallet that is paid.

    For any other listing, raises the first error.
    """
    listing = any_listing(tx, listing_id, env)
    seller = tx.need(AgentRow, listing.seller_id)
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
    return listing, wallet.address


def find_purchase(tx: Tx, env: Env, authorization: Authorization) -> PurchaseRow | None:
    return tx.one(purchase_of, env=env, payer=authorization.payer.lower(), nonce=authorization.nonce)


def see_purchase(tx: Tx, purchase_id: str, *, lock: bool = False) -> SeenPurchase:
    row = tx.need(PurchaseRow, purchase_id, lock=lock)
    return SeenPurchase(row, load(tx, tx.need(JobRow, row.job_id, lock=lock)))


def begin(read_ctx: ReadContext, tx: Tx, order: Order, judged: JudgedOrder, entered: PurchaseRow) -> PurchaseRow:
    """Write the job that a checked payment pays for; its buyer's agent is made if there is none.

    Raises X402AuthorizationInUse if another call has the payment, and StaleInput if the price has changed.
    """
    row = tx.get(PurchaseRow, entered.id, lock=True)
    if row is None or (row.status is PurchaseStatus.CHECKING and row.held_until != entered.held_until):
        raise X402AuthorizationInUse("another call has this payment; nothing was charged yet", retry_after_seconds=5)
    status = target_of(row.status, Event.ORDER)
    if status is None:
        return row
    listing = tx.need(ListingRow, order.listing_id)
    buyer = buyer_of(read_ctx.acting_for(tx, read_ctx.caller.agent_id), address_of(row.payer), listing)
    ctx = read_ctx.acting_for(tx, buyer.id)
    seen = place_order(ctx, order, judged).seen
    if seen.row.price != row.amount:
        raise StaleInput  # the price was changed in between
    refuse_overfull(ctx)
    standing = PurchaseState(status, seen.facts, ctx.now, row.valid_before, held=False, asked_at=ctx.now)
    return tx.change(
        row,
        status=status,
        agent_id=buyer.id,
        job_id=seen.row.id,
        held_until=None,
        asked_at=ctx.now,
        look_at=look_again_at(standing, ctx.now),
        created_at=ctx.now,
        updated_at=ctx.now,
    )


def note_asked(read_ctx: ReadContext, tx: Tx, purchase_id: str) -> None:
    """Store that a call with this payment is connected, while the order is not accepted."""
    now, seen = read_ctx.world.clock.now(), see_purchase(tx, purchase_id, lock=True)
    if needs_its_client(seen.standing(now)):
        later = replace(seen.standing(now), asked_at=now)
        tx.change(seen.row, asked_at=now, look_at=look_again_at(later, now))


def hand_over(read_ctx: ReadContext, tx: Tx, purchase_id: str) -> PurchaseRow | None:
    """Commit that the payment is about to be submitted to the facilitator, with a lease.

    Returns None if another call was faster or if it is too late.
    """
    now, seen = read_ctx.world.clock.now(), see_purchase(tx, purchase_id, lock=True)
    standing = seen.standing(now)
    status = target_of(standing.stage, Event.SUBMIT)
    if status is None or end_of(standing, now) is not None:
        return None
    _extend_payment_deadline(read_ctx.acting_for(tx, seen.row.agent_id), seen)
    return tx.change(seen.row, status=status, updated_at=now, **_lease_columns(now))


def lease(read_ctx: ReadContext, tx: Tx, purchase_id: str) -> PurchaseRow | None:
    """Lease a payment that is under way; None if another process holds it or if it has ended.

    `updated_at` changes even if the clock of this process is behind, because `revert_handover` compares it.
    """
    now, seen = read_ctx.world.clock.now(), see_purchase(tx, purchase_id, lock=True)
    standing = seen.standing(now)
    if standing.held or standing.stage not in UNDER_WAY:
        return None
    later = max(now, seen.row.updated_at + timedelta(milliseconds=1))
    return tx.change(seen.row, updated_at=later, **_lease_columns(now))


def keep(read_ctx: ReadContext, tx: Tx, purchase_id: str) -> None:
    """Renew the lease of a payment that is under way."""
    row = tx.need(PurchaseRow, purchase_id, lock=True)
    if row.status in UNDER_WAY:
        tx.change(row, **_lease_columns(read_ctx.world.clock.now()))


def _lease_columns(now: datetime) -> dict[str, datetime]:
    return {"held_until": now + LEASE, "look_at": now + LEASE}


def note(read_ctx: ReadContext, tx: Tx, purchase_id: str, event: Event | None = None, **found: object) -> PurchaseRow:
    """Store what was learned of a payment, and release its lease; nothing if it has ended."""
    now, row = read_ctx.world.clock.now(), tx.need(PurchaseRow, purchase_id, lock=True)
    status = row.status if event is None else target_of(row.status, event)
    if status is None or row.status in ENDED:
        return row
    later = look_for_it_at(row.created_at, row.valid_before, now)
    return tx.change(row, **({"status": status, "updated_at": now, "held_until": None, "look_at": later} | found))


def revert_handover(read_ctx: ReadContext, tx: Tx, handed: PurchaseRow, **found: object) -> PurchaseRow:
    """Return a payment that the facilitator never received to WORKING.

    Its status is kept if another process has leased it since, because that process may have submitted it. No times are
    compared with a clock, because the clocks of two processes may differ.
    """
    row = tx.need(PurchaseRow, handed.id, lock=True)
    reverts = target_of(row.status, Event.TAKE_BACK) is not None and row.updated_at == handed.updated_at
    return note(read_ctx, tx, handed.id, Event.TAKE_BACK if reverts else None, **found)


def finish(read_ctx: ReadContext, tx: Tx, purchase_id: str, transaction: str, verdict: Verification) -> PurchaseRow:
    """Record the transfer, and reveal and accept the work, in one unit of work.

    If one transaction made several payments, only the first is recorded; the other purchases are closed.
    """
    row = tx.need(PurchaseRow, purchase_id, lock=True)
    status = target_of(row.status, Event.PAY)
    if status is None:
        return row
    ctx = read_ctx.acting_for(tx, row.agent_id)
    known = known_settlement(tx, ctx, transaction)
    if known is not None and known.job_id != row.job_id:
        return close(read_ctx, tx, purchase_id, Outcome.TOGETHER)
    seen = own_job_locked(ctx, row.job_id)
    if seen.row.pay_from is None:
        seen = replace(seen, row=tx.change(seen.row, pay_from=address_of(row.payer)))
    settled: JobSnapshot | MarketError = seen if known is not None else apply_transfer(ctx, seen, transaction, verdict)
    if isinstance(settled, JobSnapshot):
        move = allowed(settled.facts, "accept", Actor.BUYER, ctx.now)
        if move is not None:
            apply_move(ctx, settled, move, row.agent_id, data={"by": "buyer"}, completed_at=ctx.now)
    return tx.change(row, status=status, tx_hash=transaction, look_at=None, updated_at=ctx.now)


def close(read_ctx: ReadContext, tx: Tx, purchase_id: str, end: Outcome) -> PurchaseRow:
    """Close a purchase that was not paid, and call off its job, with no effect on reputations.

    With the account that it made, the purchase is deleted later.
    """
    row = tx.need(PurchaseRow, purchase_id, lock=True)
    status = target_of(row.status, end.event)
    if status is None:  # it has ended, or was submitted in between
        return row
    ctx = read_ctx.acting_for(tx, row.agent_id)
    cancel_job_of(ctx, own_job_locked(ctx, row.job_id))
    reason = row.reason if end is Outcome.NOT_CHARGED and row.reason else end.value
    kept = end is Outcome.TOGETHER or not is_unclaimed(tx, row.agent_id)
    look_at = None if kept else row.created_at + UNPAID_KEPT
    return tx.change(row, status=status, reason=reason, look_at=look_at, updated_at=ctx.now)


def cancel_job_of(ctx: TxContext, seen: JobSnapshot) -> JobSnapshot:
    """Call off a job that will not be paid, if the lifecycle table lets the market do so."""
    move = allowed(seen.facts, "call_off", Actor.OPERATOR, ctx.now)
    if move is None:
        return seen
    why = "the purchase it was ordered for came to nothing"
    return apply_move(ctx, seen, move, None, data={"by": "platform", "reason": why}, cancel_reason=why)


def forget(read_ctx: ReadContext, tx: Tx, purchase_id: str) -> None:
    """Delete a payment that failed, and its unclaimed agent if nothing else refers to it."""
    row, now = tx.get(PurchaseRow, purchase_id, lock=True), read_ctx.world.clock.now()
    if row is None or row.look_at is None or row.look_at > now:
        return
    if row.status is PurchaseStatus.CHECKING:
        tx.run(forget_purchase, id=row.id)
    if row.status is not PurchaseStatus.CLOSED:
        return
    account = tx.get(X402AccountRow, row.agent_id, lock=True)
    if account is None or account.claimed_at is not None:
        tx.change(row, look_at=None)
        return
    tx.run(forget_purchase, id=row.id)
    others = tx.one(any_purchase_of, agent_id=row.agent_id), tx.one(any_settlement_of, agent_id=row.agent_id)
    if others == (None, None):
        for query in forget_buyer:
            tx.run(query, agent_id=row.agent_id)


def postpone(read_ctx: ReadContext, tx: Tx, purchase_id: str) -> None:
    """Set the next check of a purchase whose client has disconnected."""
    now, seen = read_ctx.world.clock.now(), see_purchase(tx, purchase_id, lock=True)
    if seen.row.status is PurchaseStatus.WORKING:
        _extend_payment_deadline(read_ctx.acting_for(tx, seen.row.agent_id), seen)
        tx.change(seen.row, look_at=look_again_at(seen.standing(now), now))


def _extend_payment_deadline(ctx: TxContext, seen: SeenPurchase) -> None:
    """Extend a sealed delivery's payment deadline to the time until which the payment may come.

    Otherwise the job would expire and be marked as unpaid.
    """
    job, until = seen.job.row, ends_at(seen.row.valid_before)
    if job.status == JobStatus.DELIVERED and job.pay_by is not None and job.pay_by < until:
        moved = replace(seen.job, row=job.with_(pay_by=until))
        ctx.tx.change(job, pay_by=until, updated_at=ctx.now, **waiting_columns(moved, stored_waiting(job), ctx.now))
