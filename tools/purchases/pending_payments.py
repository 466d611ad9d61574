"""Payments that arrive with an order: the row is committed first, then one call at a time checks the payment."""

from dataclasses import dataclass
from typing import Any

import orjson

from storage.purchases import any_purchase_of, any_settlement_of, forget_buyer, forget_purchase, refused_of
from storage.tables import PurchaseRow, X402AccountRow
from storage.transaction import Tx
from storage.vocabulary import PurchaseStatus
from tools.chain.x402_payments import Payment
from tools.engine.context import ReadContext
from tools.purchases.errors import X402AuthorizationInUse
from tools.purchases.logic import LEASE, UNPAID_KEPT, acting_for, find_purchase

MAX_REFUSED = 5  # payments of one wallet whose work was done but that no facilitator accepted


@dataclass(frozen=True, slots=True)
class PendingPayment:
    """The data that is stored for a payment before anything is ordered with it."""

    listing_id: str
    fingerprint: str
    payment: Payment
    body: dict[str, Any]
    head: int


def enter(read_ctx: ReadContext, tx: Tx, entry: PendingPayment) -> tuple[PurchaseRow, bool]:
    """Store a payment to be checked; return its row and whether this call holds its lease.

    A purchase that is past checking stays unchanged. Raises X402AuthorizationInUse if the wallet has too many
    payments that were refused.
    """
    given, now = entry.payment.authorization, read_ctx.world.clock.now()
    said: dict[str, Any] = {
        "listing_id": entry.listing_id,
        "fingerprint": entry.fingerprint,
        "scanned_to": entry.head,
        "settle_body": orjson.dumps(entry.body).decode(),
        "held_until": now + LEASE,
        "updated_at": now,
    }
    known = find_purchase(tx, read_ctx.env, given)
    if known is not None:
        if known.status is not PurchaseStatus.CHECKING or (known.held_until is not None and known.held_until > now):
            return known, False
        return tx.change(known, **said), True
    if len(tx.all(refused_of, env=read_ctx.env, payer=given.payer.lower(), limit=MAX_REFUSED)) == MAX_REFUSED:
        raise X402AuthorizationInUse(
            f"{MAX_REFUSED} payments of this wallet were not taken yet; no more work is done for it until they are, or have ended",
            hint="Send one of those payments again with its own input, or wait until it has ended.",
            retry_after_seconds=60,
        )
    row = PurchaseRow(
        id=acting_for(read_ctx, tx, None).new_id("pur_"),
        env=read_ctx.env,
        payer=given.payer.lower(),
        nonce=given.nonce,
        status=PurchaseStatus.CHECKING,
        agent_id="",
        job_id="",
        amount=given.value,
        pay_to=given.payee,
        valid_before=given.valid_before,
        look_at=now + UNPAID_KEPT,
        created_at=now,
        **said,
    )
    return tx.add(row), True


def let_go(read_ctx: ReadContext, tx: Tx, entered: PurchaseRow) -> None:
    """Release the lease of a payment that ordered nothing, for the next call that brings it."""
    row = tx.get(PurchaseRow, entered.id, lock=True)
    if row is not None and row.status is PurchaseStatus.CHECKING and row.held_until == entered.held_until:
        tx.change(row, held_until=None)


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
