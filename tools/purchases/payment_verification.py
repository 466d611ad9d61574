"""Verification of a payment by the facilitator before anything is ordered.

The payment's row is committed first, then one call at a time asks the facilitator, for a few seconds.
"""

import asyncio
from typing import Any

import structlog

from storage.purchases import refused_of
from storage.tables import PurchaseRow
from storage.transaction import Tx
from storage.vocabulary import PurchaseStatus
from tools.chain.errors import ChainUnavailable
from tools.chain.x402_payload import Authorization
from tools.chain.x402_payments import Payment
from tools.engine.context import ReadContext
from tools.engine.ports import SettleNotSent, SettleUnknown
from tools.purchases.errors import X402AuthorizationInUse
from tools.purchases.logic import LEASE, UNPAID_KEPT, find_purchase
from tools.purchases.workflow import TICK_SECONDS, facilitator_of, in_use, stay

MAX_REFUSED = 5  # payments of one wallet whose work was done but that no facilitator accepted
CHECK_SECONDS = 5.0  # for the facilitator's verification of a payment
CHECK_TURNS = 40  # polls, TICK_SECONDS apart, while another call verifies the same payment

log = structlog.get_logger("emporion.purchases")


async def check(read_ctx: ReadContext, payment: Payment, **columns: Any) -> tuple[PurchaseRow, str | None]:
    """Ask the facilitator to verify a payment; return its row and the reason if it was refused.

    `columns` are what the row says of the order. Only one call at a time verifies a payment. If the row's status is not CHECKING, another call has begun the
    purchase. Raises ChainUnavailable if the facilitator does not answer, and X402AuthorizationInUse.
    """
    row = await _entered(read_ctx, payment.authorization, columns)
    if row.status is not PurchaseStatus.CHECKING:
        return row, None
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            refused = await facilitator_of(read_ctx).verify(row.settle_body)
        stay(read_ctx, row)
    except (SettleNotSent, SettleUnknown, TimeoutError) as down:
        log.info("not_checked", purchase=row.id, reason=str(down) or type(down).__name__)
        await release(read_ctx, row)
        raise ChainUnavailable(
            "the facilitator does not answer; nothing was begun and nothing was charged",
            hint="Send the same request with the same payment again.",
            retry_after_seconds=5,
        ) from None
    except BaseException:
        await release(read_ctx, row)
        raise
    return row, refused


async def release(read_ctx: ReadContext, row: PurchaseRow) -> None:
    """Release the payment, so that another call can verify it."""
    await read_ctx.store.write(lambda tx: let_go(read_ctx, tx, row), "release_purchase")


async def _entered(read_ctx: ReadContext, given: Authorization, columns: dict[str, Any]) -> PurchaseRow:
    """Commit the payment's row as soon as no other call is verifying it.

    Raises X402AuthorizationInUse after CHECK_TURNS polls.
    """
    for _ in range(CHECK_TURNS):
        row, mine = await read_ctx.store.write(lambda tx: enter(read_ctx, tx, given, columns), "enter_purchase")
        if mine or row.status is not PurchaseStatus.CHECKING:
            return row
        stay(read_ctx, row)
        await asyncio.sleep(TICK_SECONDS)
    raise in_use(row)


def enter(read_ctx: ReadContext, tx: Tx, given: Authorization, columns: dict[str, Any]) -> tuple[PurchaseRow, bool]:
    """Store a payment to be checked; return its row and whether this call holds its lease.

    A purchase that is past checking stays unchanged. Raises X402AuthorizationInUse if the wallet has too many
    payments that were refused.
    """
    now = read_ctx.world.clock.now()
    said = columns | {"held_until": now + LEASE, "updated_at": now}
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
        id=read_ctx.acting_for(tx, None).new_id("pur_"),
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
