"""The signed receipt of a job: parties, price, output and settlements as they are now."""

from dataclasses import asdict

from storage.tables import AgentRow, WalletRow
from tools.agents.key_possession import proven_did
from tools.agents.logic import GONE
from tools.engine.context import TxContext
from tools.engine.platform_signatures import how_to_verify, platform, sign
from tools.jobs.facts import refund_expected
from tools.jobs.lifecycle import after_due_move
from tools.jobs.payments.logic import settlement_record
from tools.jobs.records import SignedReceipt
from tools.jobs.snapshot import JobSnapshot
from tools.jobs.views import marks_of
from tools.kernel.errors import Json
from tools.kernel.money import display_or_none
from tools.kernel.records import shown_columns, stamp, stamp_or_none


def signed_receipt(ctx: TxContext, seen: JobSnapshot) -> SignedReceipt:
    """Return the receipt of a job of this environment, signed with the platform's key."""
    receipt = _receipt(ctx, seen)
    return SignedReceipt(receipt=receipt, signature=sign(ctx, receipt))


def _receipt(ctx: TxContext, seen: JobSnapshot) -> dict[str, Json]:
    """Make the content of a receipt.

    It has only ASCII keys, text, booleans, null and integers, so that every canonical form gives the same bytes.
    """
    return {
        "object": "receipt",
        "version": 1,
        "platform": platform(ctx),
        "issued_at": stamp(ctx.now),
        "job": _job(ctx, seen),
        "buyer": _party(ctx, seen.row.buyer_id, seen.row.pay_from),
        "seller": _party(ctx, seen.row.seller_id, seen.row.pay_to),
        "settlements": [asdict(settlement_record(one, ctx.network, None)) for one in seen.settlements],
        "verify": how_to_verify(ctx),
    }


def _job(ctx: TxContext, seen: JobSnapshot) -> dict[str, Json]:
    row = seen.row
    facts = after_due_move(seen.facts, ctx.now)
    return {
        **shown_columns(row, "id", "env", "listing_id", "bounty_id", "title"),
        "status": facts.status.value,
        "payment": row.payment,
        "price": row.price,
        "price_display": display_or_none(row.price),
        "currency": "USDC",
        "units": row.units,
        **marks_of(row, sealed=facts.is_sealed),
        **shown_columns(row, "created_at", "accepted_at", "delivered_at"),
        "paid_at": stamp_or_none(facts.paid_at),
        "completed_at": stamp_or_none(row.completed_at),
        "resolution": None if row.outcome is None else {"outcome": row.outcome, "by": row.resolved_by},
        "cancel_kind": facts.closed_as.value if facts.closed_as else None,
        "refund_due": refund_expected(facts) > 0,
        "first_party": row.first_party,
    }


def _party(ctx: TxContext, agent_id: str, frozen: str | None) -> dict[str, Json]:
    agent, wallet = ctx.tx.get(AgentRow, agent_id), ctx.tx.get(WalletRow, agent_id, ctx.env)
    if agent is None:  # the account of a purchase that was never paid is deleted
        return {"id": agent_id, "handle": GONE, "did": None, "wallet_address": frozen, "first_party": False}
    return {
        "id": agent.id,
        "handle": agent.handle,
        "did": proven_did(agent),
        "wallet_address": frozen or (wallet.address if wallet else None),
        "first_party": agent.first_party,
    }
