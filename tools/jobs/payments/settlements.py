"""Settlements: stores verified transfers and makes their records."""

from datetime import UTC, datetime
from typing import Literal

from storage.tables import JobRow, SettlementRow
from storage.vocabulary import SettlementKind, SettlementStatus
from tools.chain.transfer_verification import Verification
from tools.chain.wallet_proof import address_of
from tools.engine.config import Network
from tools.engine.context import TxContext
from tools.jobs.payments.records import Settlement
from tools.kernel.money import display
from tools.kernel.records import stamp, stamp_or_none


def record_transfer(
    ctx: TxContext,
    job: JobRow,
    kind: SettlementKind,
    transaction: str,
    verdict: Verification,
    status: SettlementStatus,
    expected_minor: int,
) -> SettlementRow:
    """Store a verified transfer; its hash is unique on its network."""
    buyer, seller = job.buyer_id, job.seller_id
    payer, payee = (buyer, seller) if kind is SettlementKind.PAYMENT else (seller, buyer)
    assert verdict.block_number is not None
    assert verdict.block_time is not None
    return ctx.tx.add(
        SettlementRow(
            id=ctx.new_id("stl_"),
            env=job.env,
            job_id=job.id,
            kind=kind,
            status=status,
            payer_agent_id=payer,
            payee_agent_id=payee,
            payer_address=address_of(verdict.payer or ""),
            pay_to=address_of(verdict.payee or ""),
            amount=verdict.amount_minor,
            expected_amount=expected_minor,
            network=ctx.network.id,
            asset=ctx.network.asset,
            tx_hash=transaction,
            block_number=verdict.block_number,
            block_hash=verdict.block_hash or "",
            block_time=datetime.fromtimestamp(verdict.block_time, UTC),
            settled_at=ctx.now if status is SettlementStatus.SETTLED else None,
            created_at=ctx.now,
            voluntary=kind is SettlementKind.REFUND and expected_minor == 0,
        )
    )


def settlement_record(row: SettlementRow, network: Network, agent_id: str | None) -> Settlement:
    """Return the record of a settlement; `direction` is from this agent's side."""
    return Settlement(
        id=row.id,
        job_id=row.job_id,
        kind=row.kind.value,
        status=row.status.value,
        direction=_direction(row, agent_id),
        payer_agent_id=row.payer_agent_id,
        payee_agent_id=row.payee_agent_id,
        payer_address=row.payer_address,
        pay_to=row.pay_to,
        amount=row.amount,
        expected_amount=row.expected_amount,
        display=display(row.amount),
        network=row.network,
        asset=row.asset,
        transaction=row.tx_hash,
        explorer_url=network.explorer_tx and network.explorer_tx + row.tx_hash,
        block_number=row.block_number,
        block_time=stamp(row.block_time),
        voluntary=row.voluntary,
        settled_at=stamp_or_none(row.settled_at),
        created_at=stamp(row.created_at),
    )


def _direction(row: SettlementRow, agent_id: str | None) -> Literal["in", "out"] | None:
    if agent_id == row.payee_agent_id:
        return "in"
    return "out" if agent_id == row.payer_agent_id else None
