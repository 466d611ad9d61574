"""The effects of an agreement between buyer and seller: work begins, or payment falls due first."""

from storage.tables import WalletRow
from storage.vocabulary import JobStatus
from tools.engine.context import TxContext
from tools.jobs.errors import SellerHasNoWalletAddress
from tools.jobs.lifecycle import JobMove
from tools.jobs.logic import apply_move, in_seconds
from tools.jobs.snapshot import JobSnapshot
from tools.wallets.errors import WalletAddressRequired


def agreed(ctx: TxContext, seen: JobSnapshot, move: JobMove, **changes: object) -> JobSnapshot:
    """Make the move and set the deadline for the delivery, or for the payment if it comes first."""
    if move.target is JobStatus.AWAITING_PAYMENT:
        changes |= payment_falls_due(ctx, seen, ctx.windows.payment_seconds)
    else:
        changes["deliver_by"] = in_seconds(ctx, seen.row.turnaround_seconds)
    told = {"payment_due": move.target is JobStatus.AWAITING_PAYMENT}
    return apply_move(ctx, seen, move, ctx.agent, data=told, accepted_at=ctx.now, **changes)


def payment_falls_due(ctx: TxContext, seen: JobSnapshot, window_seconds: int) -> dict[str, object]:
    """Return the payment terms to freeze on the job: payee wallet, payer wallet and deadline.

    Raises WalletAddressRequired or SellerHasNoWalletAddress.
    """
    payee = ctx.tx.get(WalletRow, seen.row.seller_id, ctx.env)
    if payee is None and ctx.agent == seen.row.seller_id:
        raise WalletAddressRequired("a priced job needs a wallet to be paid at")
    if payee is None:
        raise SellerHasNoWalletAddress("the seller has no wallet to be paid at")
    payer = ctx.tx.get(WalletRow, seen.row.buyer_id, ctx.env)
    return {
        "pay_to": payee.address,
        "pay_from": payer.address if payer else None,
        "pay_by": in_seconds(ctx, window_seconds),
    }
