"""Verification of a payment by the facilitator before anything is ordered: one call at a time, for a few seconds."""

import asyncio

import orjson
import structlog

from storage.tables import PurchaseRow
from storage.vocabulary import PurchaseStatus
from tools.chain.errors import ChainUnavailable
from tools.engine.context import ReadContext
from tools.engine.ports import SettleNotSent, SettleUnknown
from tools.purchases.connections import facilitator_of
from tools.purchases.pending_payments import PendingPayment, enter, let_go
from tools.purchases.workflow import TICK_SECONDS, in_use, stay

CHECK_SECONDS = 5.0  # for the facilitator's verification of a payment
CHECK_TURNS = 40  # polls, TICK_SECONDS apart, while another call verifies the same payment

log = structlog.get_logger("emporion.purchases")


async def check(read_ctx: ReadContext, entry: PendingPayment) -> tuple[PurchaseRow, str | None]:
    """Ask the facilitator to verify a payment; return its row and the reason if it was refused.

    Only one call at a time verifies a payment. If the row's status is not CHECKING, another call has begun the
    purchase. Raises ChainUnavailable if the facilitator does not answer, and X402AuthorizationInUse.
    """
    row = await _entered(read_ctx, entry)
    if row.status is not PurchaseStatus.CHECKING:
        return row, None
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            refused = await facilitator_of(read_ctx).verify(orjson.loads(row.settle_body))
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


async def _entered(read_ctx: ReadContext, entry: PendingPayment) -> PurchaseRow:
    """Commit the payment's row as soon as no other call is verifying it.

    Raises X402AuthorizationInUse after CHECK_TURNS polls.
    """
    for _ in range(CHECK_TURNS):
        row, mine = await read_ctx.store.write(lambda tx: enter(read_ctx, tx, entry), "enter_purchase")
        if mine or row.status is not PurchaseStatus.CHECKING:
            return row
        stay(read_ctx, row)
        await asyncio.sleep(TICK_SECONDS)
    raise in_use(row)
