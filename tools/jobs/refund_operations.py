"""Operations on refunds, which a transfer's hash proves like a payment, and the list of settlements."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from storage.jobs import settlements_of_agent
from storage.tables import SettlementRow
from storage.transaction import Tx
from storage.vocabulary import Actor, SettlementKind, SettlementStatus
from tools.chain.errors import (
    PaymentInvalid,
)
from tools.chain.transfer_proof import (
    TRANSACTION,
    known_settlement,
    wallets_of,
)
from tools.chain.transfer_verification import Began, Terms, Verification
from tools.engine.arguments import Listed
from tools.engine.context import ReadContext, TxContext
from tools.engine.documents import StaleInput
from tools.engine.errors import InvalidCursor
from tools.engine.paging import page
from tools.engine.rate_limits import Rate
from tools.engine.registry import operation
from tools.jobs.contributions import count_job
from tools.jobs.daily_counts import count_job_change
from tools.jobs.disputes.panel_actions import own_and_resolve
from tools.jobs.errors import NotPaid
from tools.jobs.facts import refund_expected, refund_left, was_paid
from tools.jobs.lifecycle import after_due_move
from tools.jobs.logic import JobRef, job_action, post_note, projected, record_event, refusal, refusal_state
from tools.jobs.payments.logic import (
    TRANSFER_ERRORS,
    TransferProof,
    amount_too_low,
    load_and_count,
    prove_transfer,
    record_transfer,
    refuse_other_use,
    settlement_record,
    settlement_told,
)
from tools.jobs.payments.records import Settlement, SettlementPage
from tools.jobs.payments.terms import terms_since
from tools.jobs.records import Job
from tools.jobs.snapshot import JobSnapshot, find_mine
from tools.jobs.views import job_record
from tools.kernel.errors import MarketError
from tools.listings.stats import recount
from tools.screening.errors import ContentRejected
from tools.screening.logic import private_text
from tools.wallets.errors import WalletAddressRequired


class RefundJob(JobRef):
    transaction: Annotated[str, Field(max_length=80, json_schema_extra=TRANSACTION)] = Field(
        description="hash of the mined transfer back to the buyer, 0x and 64 hex"
    )
    note: str | None = Field(None, max_length=2000, description="posted to the job's thread")


async def read_refund(read_ctx: ReadContext, claim: RefundJob) -> TransferProof:
    """Make the checks that need no chain, then check the transfer on the chain."""
    seen = await read_ctx.store.read(lambda tx: find_mine(tx, claim.job_id, read_ctx.caller.agent, read_ctx.env))
    private_text(claim.note, "note")
    return await prove_transfer(read_ctx, claim.transaction, lambda tx: _refund_terms(tx, read_ctx, seen))


@job_action(
    "refund",
    scope="sell",
    gather=read_refund,
    errors=(*TRANSFER_ERRORS, ContentRejected, NotPaid),
    open_world=True,
    rate=Rate.PAY,
    ends_work=True,
    toolset="selling",
)
def refund_job(ctx: TxContext, claim: RefundJob, proof: TransferProof) -> Job | MarketError:
    """Prove a refund to the buyer: refund_expected minor units, from your bound wallet.

    Send the USDC to the wallet that paid, then call with the transaction hash; the same hash again is safe. Less than is
    owed is recorded, and the rest stays due. An open refund counts against your reputation. If none is owed, a refund
    is recorded as voluntary, up to what was paid: it lowers the volume of the job and does not count against you.
    """
    seen = own_and_resolve(ctx, claim.job_id)
    if seen.role_of(ctx.agent) is not Actor.SELLER:
        raise refusal(ctx, seen, "refund")
    known = known_settlement(ctx.tx, ctx, proof.transaction)
    if known is not None:
        refuse_other_use(known, seen.row.id, SettlementKind.REFUND)
        return _shown(ctx, seen, known)
    if not was_paid(seen.facts):
        raise NotPaid("nothing was paid for this job, so nothing can be refunded", **refusal_state(ctx, seen))
    if proof.verification is None:
        raise StaleInput
    owed = refund_expected(seen.facts)
    if owed == 0:
        _hold_to_what_was_paid(seen, proof.verification)
    row = record_transfer(
        ctx, seen.row, SettlementKind.REFUND, proof.transaction, proof.verification, SettlementStatus.SETTLED, owed
    )
    after = load_and_count(ctx, seen.row)
    count_job_change(ctx.tx, seen, after)
    told = {"remaining": refund_expected(after.facts), "voluntary": row.voluntary}
    record_event(ctx, after, "job.refunded", ctx.agent, settlement_told(row) | told)
    recount(ctx.tx, after.row, after.settlements)
    count_job(ctx.tx, after, ctx.now)
    post_note(ctx, after, claim.note, "refund")
    return _shown(ctx, after, row)


@operation("GET /v1/payments/settlements", errors=(InvalidCursor,), toolset="payments", may_lag=True)
def list_settlements(ctx: TxContext, asked: Listed) -> SettlementPage:
    """List the verified transfers you sent or received, payments and refunds, newest first.

    Use it for your accounts. A payment marked orphaned was no longer due, or came twice: its payee owes it back, see
    refund_job.
    """
    mine = {"agent_id": ctx.agent, "env": ctx.env}

    def to_records(rows: Sequence[SettlementRow]) -> list[Settlement]:
        return [settlement_record(row, ctx.network, ctx.agent) for row in rows]

    return SettlementPage(**page(ctx, asked, settlements_of_agent, to_records, first="stl_~", where=mine))


def _shown(ctx: TxContext, seen: JobSnapshot, row: SettlementRow) -> Job | MarketError:
    """Return the job, or how much is still owed."""
    remaining = refund_expected(seen.facts)
    if remaining == 0:
        return job_record(ctx, seen)
    error = f"{row.amount} minor units were recorded; {remaining} are still owed"
    amounts = {"transferred": row.amount, "required": row.expected_amount, "remaining": remaining}
    return amount_too_low(error, "refund_job", **amounts)


def _hold_to_what_was_paid(seen: JobSnapshot, verdict: Verification) -> None:
    """Refuse a voluntary refund of more than the seller still has of the buyer's money."""
    left = refund_left(seen.facts)
    if verdict.amount_minor > left:
        raise PaymentInvalid(
            f"{verdict.amount_minor} minor units were sent back and {left} are left of what was paid; nothing was recorded",
            param="transaction",
            hint="A voluntary refund is at most what was paid and not sent back yet.",
            reason="amount_too_high",
            transferred=verdict.amount_minor,
            required=left,
            recorded=False,
        )


def _refund_terms(tx: Tx, read_ctx: ReadContext, seen: JobSnapshot) -> Terms | None:
    """Make the terms that a refund must satisfy; None if the caller has nothing to refund.

    It goes from a wallet of the seller to a wallet that paid, or to the buyer's, and is mined after the first payment.
    """
    row, facts = seen.row, after_due_move(projected(seen, read_ctx.now).facts, read_ctx.now)
    if seen.role_of(read_ctx.caller.agent) is not Actor.SELLER or not was_paid(facts):
        return None
    first = min(seen.payments, key=lambda one: one.block_number)
    payers = wallets_of(tx, row.seller_id, row.pay_to, read_ctx.env)
    if not payers:
        raise WalletAddressRequired("bind the wallet you send the refund from first")
    payees = wallets_of(tx, row.buyer_id, row.pay_from, read_ctx.env) | {one.payer_address for one in seen.payments}
    return terms_since(read_ctx, Began(int(first.block_time.timestamp()), first.block_number), payers, payees)
