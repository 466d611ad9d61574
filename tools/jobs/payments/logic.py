"""Payment of a job: a verified transfer is recorded as a settlement and moves the job; records of settlements."""

from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, Literal

from storage.tables import JobRow, SettlementRow
from storage.vocabulary import JobStatus, SettlementKind, SettlementStatus
from tools.chain.errors import PaymentInvalid
from tools.chain.transfer_verification import Verification
from tools.chain.wallet_proof import address_of
from tools.engine.config import Network
from tools.engine.context import TxContext
from tools.jobs.contributions import count_job
from tools.jobs.errors import JobNotPayable
from tools.jobs.facts import refund_expected
from tools.jobs.lifecycle import JobMove, payment_move
from tools.jobs.logic import apply_move, emit_due_events, in_seconds, record_event, refusal_state
from tools.jobs.payments.records import Settlement
from tools.jobs.payments.terms import block_moment
from tools.jobs.snapshot import JobSnapshot, load
from tools.jobs.stored_texts import count_as_paid, is_counted, move_texts
from tools.kernel.errors import MarketError
from tools.kernel.money import display
from tools.kernel.records import stamp, stamp_or_none
from tools.listings.stats import recount


def apply_transfer(
    ctx: TxContext, seen: JobSnapshot, transaction: str, verdict: Verification
) -> JobSnapshot | MarketError:
    """Record a verified transfer, and move the job if it is now paid in full.

    Returns an error if the job is not paid then; the error says what was recorded.
    """
    assert verdict.block_time is not None
    facts, price = seen.facts, seen.row.price or 0
    move = None if facts.is_paid else payment_move(facts, block_moment(verdict.block_time), ctx.now)
    owed = price - facts.partial_minor
    if move is None:
        row = record_transfer(
            ctx, seen.row, SettlementKind.PAYMENT, transaction, verdict, SettlementStatus.ORPHANED, max(owed, 0)
        )
        after = load(ctx.tx, seen.row)
        # Earlier refunds are counted against this payment first, so the storage and the figures may change.
        after = replace(after, row=count_as_paid(ctx, after.row, after.facts))
        record_event(ctx, after, "job.payment_orphaned", ctx.agent, _told(row))
        emit_due_events(ctx, facts, after)
        recount(ctx.tx, after.row, after.settlements)
        count_job(ctx.tx, after, ctx.now)
        return after if facts.is_paid else orphaned(ctx, after, row)
    if verdict.amount_minor < owed:
        row = record_transfer(
            ctx, seen.row, SettlementKind.PAYMENT, transaction, verdict, SettlementStatus.PARTIAL, owed
        )
        after = load(ctx.tx, seen.row)
        record_event(ctx, after, "job.payment_partial", ctx.agent, _told(row))
        emit_due_events(ctx, facts, after)
        count_job(ctx.tx, after, ctx.now)  # if the job has expired, the seller must refund it
        return too_low(after)
    row = record_transfer(ctx, seen.row, SettlementKind.PAYMENT, transaction, verdict, SettlementStatus.SETTLED, owed)
    return _paid(ctx, seen, row, move)


def _paid(ctx: TxContext, seen: JobSnapshot, row: SettlementRow, move: JobMove) -> JobSnapshot:
    for part in seen.settlements:
        if part.status is SettlementStatus.PARTIAL:
            ctx.tx.change(part, status=SettlementStatus.SETTLED, settled_at=ctx.now)
    settled = load(ctx.tx, seen.row)
    counted = is_counted(settled.facts)
    if counted != seen.row.counted:
        move_texts(ctx, seen.row, counted=counted)
    revealed = move.target is JobStatus.DELIVERED
    deadline = {"review_by": in_seconds(ctx, ctx.windows.review_seconds)} if revealed else {}
    if not revealed:
        deadline = {"deliver_by": in_seconds(ctx, seen.row.turnaround_seconds)}
    told = {**_told(row), "output_revealed": revealed}
    return apply_move(ctx, settled, move, ctx.agent, data=told, counted=counted, **deadline)


def too_low(seen: JobSnapshot) -> PaymentInvalid:
    price, sent = seen.row.price or 0, seen.facts.partial_minor
    return PaymentInvalid(
        f"{sent} of {price} minor units have arrived; send the remaining {price - sent}",
        param="transaction",
        hint="Send the remaining amount in another transfer, then call pay_job with its hash.",
        reason="amount_too_low",
        transferred=sent,
        required=price,
        remaining=price - sent,
        recorded=True,
    )


def orphaned(ctx: TxContext, seen: JobSnapshot, row: SettlementRow) -> JobNotPayable:
    owed = refund_expected(seen.facts)
    stands = f"the seller owes {owed} minor units back" if owed else "what was owed back has come back"
    return JobNotPayable(
        f"the job is {seen.row.status}; the transfer was recorded and {stands}",
        **refusal_state(ctx, seen),
        settlement=asdict(settlement_record(row, ctx.network, ctx.agent)),
    )


def _told(row: SettlementRow) -> dict[str, Any]:
    return {"settlement_id": row.id, "transaction": row.tx_hash, "network": row.network, "amount": row.amount}


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
