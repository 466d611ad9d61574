"""The terms of a job's payment: what is owed, to whom, and every way to send it."""

from datetime import UTC, datetime

from storage.tables import WalletRow
from tools.context import Context, Outside
from tools.errors import AddressSanctioned
from tools.ports import Sanctions
from tools.records.base import stamp_or_none
from tools.records.payments import PaymentTerms
from tools.rules.money import display
from tools.rules.transfers import Terms
from tools.steps.jobs import SeenJob
from tools.steps.links import step, steps, wallet_step


def payment_terms(ctx: Context, seen: SeenJob) -> PaymentTerms:
    """What the buyer still owes for this job and how to pay it."""
    row, facts, network = seen.row, seen.facts, ctx.network
    owed = (row.price or 0) - facts.partial_minor
    wallet = ctx.tx.get(WalletRow, row.buyer_id, ctx.env)
    payer = row.pay_from or (wallet.address if wallet else None)
    return PaymentTerms(
        job_id=row.id,
        amount=owed,
        price=row.price or 0,
        already_paid=facts.partial_minor,
        display=display(owed),
        network=network.id,
        chain_id=network.chain_id,
        asset=network.asset,
        pay_to=row.pay_to or "",
        pay_from=payer,
        pay_by=stamp_or_none(row.pay_by),
        steps=[
            f"Send exactly {owed} minor units ({display(owed)}) of the token {network.asset} on {network.name} "
            f"(chain id {network.chain_id}) to {row.pay_to}"
            + (f", from {payer}." if payer else ", from a wallet you have bound with set_wallet_address."),
            "Wait until the transaction is mined.",
            "Call pay_job again with the transaction hash.",
        ],
        gasless=None,
        x402=None,
        facilitator=None,
        next_steps=steps(
            () if payer else wallet_step(ctx.house.brand, ctx.agent, "Bind the wallet you will pay from."),
            step("pay_job", "Prove the payment.", job_id=row.id, transaction="<0x and 64 hex>"),
        ),
    )


def chain_terms(place: Context | Outside, seen: SeenJob, payers: set[str], payees: set[str]) -> Terms:
    """What a transaction must show to pay this job."""
    row = seen.row
    return Terms(
        asset=place.network.asset,
        payers=tuple(sorted(one.lower() for one in payers)),
        payees=tuple(sorted(one.lower() for one in payees)),
        not_before=int(row.created_at.timestamp()),
        after_block=row.head_at_order,
        confirmations=place.network.confirmations,
    )


def refuse_sanctioned(sanctions: Sanctions, addresses: set[str]) -> None:
    for address in sorted(addresses):
        if sanctions.names(address):
            raise AddressSanctioned("a wallet of this payment stands on a sanctions list", address=address.lower())


def block_moment(unix_seconds: int) -> datetime:
    return datetime.fromtimestamp(unix_seconds, UTC)
