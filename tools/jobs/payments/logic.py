"""Payment of a job: a verified transfer is recorded as a settlement and moves the job; records of settlements."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Literal

from storage.payment_searches import end_search_of_job
from storage.tables import JobRow, SettlementRow
from storage.transaction import Tx
from storage.vocabulary import JobStatus, SettlementKind, SettlementStatus
from tools.chain.errors import (
    ChainUnavailable,
    PaymentInvalid,
    TransactionAlreadyUsed,
    TransactionNotFound,
    TransactionPending,
)
from tools.chain.transfer_proof import known_settlement, read_hash, refuse_unpaid, verify_transfer
from tools.chain.transfer_verification import Terms, Verification
from tools.chain.wallet_proof import address_of
from tools.engine.config import Network
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import NotFound
from tools.jobs.contributions import count_job
from tools.jobs.daily_counts import count_job_change
from tools.jobs.errors import InvalidTransition, JobNotPayable
from tools.jobs.facts import refund_expected
from tools.jobs.lifecycle import JobMove, payment_move
from tools.jobs.logic import JobChanges, apply_move, emit_due_events, in_seconds, record_event, refusal_state
from tools.jobs.payments.records import Settlement
from tools.jobs.payments.terms import block_moment
from tools.jobs.snapshot import JobSnapshot, load
from tools.jobs.stored_texts import count_as_paid, is_counted, move_texts
from tools.kernel.errors import MarketError
from tools.kernel.money import display
from tools.kernel.records import Json, record_from
from tools.listings.stats import recount
from tools.wallets.errors import AddressSanctioned, WalletAddressRequired
from tools.wallets.logic import refuse_sanctioned

TRANSFER_ERRORS = (
    AddressSanctioned, ChainUnavailable, InvalidTransition, NotFound, PaymentInvalid, TransactionAlreadyUsed,
    TransactionNotFound, TransactionPending, WalletAddressRequired,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TransferProof:
    """A transfer and what the chain shows of it; None if the chain need not be asked."""

    transaction: str
    verification: Verification | None


async def prove_transfer(read_ctx: ReadContext, text: str, terms_of: Callable[[Tx], Terms | None]) -> TransferProof:
    """Check the transfer on the chain, unless it is recorded already or `terms_of` returns None.

    Raises an error for a transfer that records nothing.
    """
    transaction = read_hash(text)
    terms = await read_ctx.store.read(lambda tx: None if known_settlement(tx, read_ctx, transaction) else terms_of(tx))
    if terms is None:
        return TransferProof(transaction, None)
    refuse_sanctioned(read_ctx.world.sanctions, {*terms.payers, *terms.payees})
    verdict = await verify_transfer(read_ctx, transaction, terms)
    refuse_unpaid(verdict, terms)
    return TransferProof(transaction, verdict)


def apply_transfer(
    ctx: TxContext, seen: JobSnapshot, transaction: str, verdict: Verification
) -> JobSnapshot | MarketError:
    """Record a verified transfer, and move the job if it is now paid in full.

    Returns an error if the job is not paid then; the error says what was recorded.
    """
    assert verdict.block_time is not None
    facts, status = seen.facts, SettlementStatus.SETTLED
    move = None if facts.is_paid else payment_move(facts, block_moment(verdict.block_time), ctx.now)
    owed = (seen.row.price or 0) - facts.partial_minor
    if move is None:
        status = SettlementStatus.ORPHANED
    elif verdict.amount_minor < owed:
        status = SettlementStatus.PARTIAL
    row = record_transfer(ctx, seen.row, SettlementKind.PAYMENT, transaction, verdict, status, max(owed, 0))
    if move is not None and status is SettlementStatus.SETTLED:
        return _paid(ctx, seen, row, move)
    # Earlier refunds are counted against an orphan first, so the storage and the figures may change.
    after = load(ctx.tx, seen.row) if move else load_and_count(ctx, seen.row)
    count_job_change(ctx.tx, seen, after)
    event = "job.payment_partial" if move else "job.payment_orphaned"
    record_event(ctx, after, event, ctx.agent, settlement_told(row))
    emit_due_events(ctx, facts, after)
    if move is None:
        recount(ctx.tx, after.row, after.settlements)
    count_job(ctx.tx, after, ctx.now)  # if the job has expired, the seller must refund a partial payment
    if move is not None:
        return too_low(after)
    return after if facts.is_paid else orphaned(ctx, after, row)


def load_and_count(ctx: TxContext, row: JobRow) -> JobSnapshot:
    """Return a job after a change of its settlements, with its texts counted accordingly."""
    after = load(ctx.tx, row)
    return replace(after, row=count_as_paid(ctx, after.row, after.facts))


def _paid(ctx: TxContext, seen: JobSnapshot, row: SettlementRow, move: JobMove) -> JobSnapshot:
    for part in seen.settlements:
        if part.status is SettlementStatus.PARTIAL:
            ctx.tx.change(part, status=SettlementStatus.SETTLED, settled_at=ctx.now)
    ctx.tx.run(end_search_of_job, job_id=seen.row.id)
    settled = load(ctx.tx, seen.row)
    count_job_change(ctx.tx, seen, settled)
    changes: JobChanges = {"counted": is_counted(settled.facts)}
    if changes["counted"] != seen.row.counted:
        move_texts(ctx.tx, seen.row, counted=changes["counted"])
    revealed = move.target is JobStatus.DELIVERED
    if revealed:
        changes["review_by"] = in_seconds(ctx, ctx.windows.review_seconds)
    else:
        changes["deliver_by"] = in_seconds(ctx, seen.row.turnaround_seconds)
    told = {**settlement_told(row), "output_revealed": revealed}
    return apply_move(ctx, settled, move, ctx.agent, data=told, **changes)


def too_low(seen: JobSnapshot) -> PaymentInvalid:
    price, sent = seen.row.price or 0, seen.facts.partial_minor
    error = f"{sent} of {price} minor units have arrived; send the remaining {price - sent}"
    return amount_too_low(error, "pay_job", transferred=sent, required=price, remaining=price - sent)


def amount_too_low(error: str, tool: str, *, transferred: int, required: int, remaining: int) -> PaymentInvalid:
    """Return the error for a transfer that was recorded, but is less than was due."""
    return PaymentInvalid(
        error,
        param="transaction",
        hint=f"Send the remaining amount in another transfer, then call {tool} with its hash.",
        reason="amount_too_low",
        transferred=transferred,
        required=required,
        remaining=remaining,
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


def refuse_other_use(known: SettlementRow, job_id: str, kind: SettlementKind) -> None:
    """Refuse a transaction that was recorded for another job or as another kind of transfer."""
    if known.job_id != job_id or known.kind is not kind:
        raise TransactionAlreadyUsed("this transaction already settled something else", param="transaction")


def settlement_told(row: SettlementRow) -> dict[str, Json]:
    """Return what the events of a settlement say of it."""
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
    parties = (job.buyer_id, job.seller_id)
    payer, payee = parties if kind is SettlementKind.PAYMENT else parties[::-1]
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
            block_time=block_moment(verdict.block_time),
            settled_at=ctx.now if status is SettlementStatus.SETTLED else None,
            created_at=ctx.now,
            voluntary=kind is SettlementKind.REFUND and expected_minor == 0,
        )
    )


def settlement_record(row: SettlementRow, network: Network, agent_id: str | None) -> Settlement:
    """Return the record of a settlement; `direction` is from this agent's side."""
    directions: dict[str | None, Literal["in", "out"]] = {row.payer_agent_id: "out", row.payee_agent_id: "in"}
    return record_from(
        Settlement,
        row,
        direction=directions.get(agent_id),
        display=display(row.amount),
        transaction=row.tx_hash,
        explorer_url=network.explorer_tx and network.explorer_tx + row.tx_hash,
    )
