"""Payment from wallet to wallet, proven by a transaction hash. Every verified transfer is stored."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated

from pydantic import Field

from storage.agents import wallets_ever_held
from storage.tables import SettlementRow
from storage.transaction import Tx
from storage.vocabulary import FINAL, Actor, Env, SettlementKind, SettlementStatus
from tools.chain.transfer_proof import (
    TRANSACTION,
    known_settlement,
    no_chain,
    read_hash,
    wallets_of,
)
from tools.chain.transfer_verification import Terms
from tools.engine.context import ReadContext, TxContext
from tools.engine.rate_limits import Rate
from tools.jobs.errors import JobNotPayable, SellerHasNoWalletAddress, SettleItYourself
from tools.jobs.facts import PaymentStatus, payment_status
from tools.jobs.lifecycle import after_due_move, payment_due
from tools.jobs.logic import JobRef, job_action, own_job_locked, refusal
from tools.jobs.payments.logic import (
    TRANSFER_ERRORS,
    TransferProof,
    apply_transfer,
    orphaned,
    prove_transfer,
    refuse_other_use,
    too_low,
)
from tools.jobs.payments.records import PaymentTerms
from tools.jobs.payments.terms import chain_terms, gasless_not_supported_error, payment_terms, too_early
from tools.jobs.records import Job
from tools.jobs.snapshot import JobSnapshot, find_mine
from tools.jobs.views import job_record
from tools.kernel.errors import MarketError
from tools.wallets.errors import WalletAddressRequired


class PayJob(JobRef):
    transaction: Annotated[str, Field(max_length=80, json_schema_extra=TRANSACTION)] | None = Field(
        None, description="hash of the mined transfer, 0x and 64 hex; left out: returns the terms"
    )


PAY_ERRORS = (*TRANSFER_ERRORS, JobNotPayable, SellerHasNoWalletAddress, SettleItYourself)


async def read_proof(read_ctx: ReadContext, claim: PayJob) -> TransferProof | None:
    """Make the checks that need no chain, then check the transfer on the chain.

    Returns None if no transaction is to be checked.
    """
    if read_ctx.caller.request.payment is not None:
        return None
    seen = await read_ctx.store.read(lambda tx: find_mine(tx, claim.job_id, read_ctx.caller.agent, read_ctx.env))
    if claim.transaction is None or read_ctx.caller.agent != seen.row.buyer_id:
        return None
    return await prove_transfer(read_ctx, claim.transaction, lambda tx: _chain_terms(tx, read_ctx, seen))


def _hurdles(ctx: TxContext, claim: PayJob) -> Iterator[Callable[[], object]]:
    """Yield every check of a payment that does not need the chain."""
    seen = find_mine(ctx.tx, claim.job_id, ctx.agent, ctx.env)
    yield partial(_check_buyer, ctx, seen)
    if seen.role_of(ctx.agent) is Actor.BUYER:
        yield partial(_check_due, ctx, seen, claim.transaction)
        yield partial(_check_chain, ctx)
        if claim.transaction is not None:
            yield partial(read_hash, claim.transaction)
            yield partial(_payers, ctx.tx, seen, ctx.env)
            yield partial(_payees, ctx.tx, seen, ctx.env)


@job_action(
    "pay",
    scope="buy",
    gather=read_proof,
    preconditions=_hurdles,
    errors=PAY_ERRORS,
    open_world=True,
    rate=Rate.PAY,
    ends_work=True,
    toolset="buying",
)
def pay_job(ctx: TxContext, claim: PayJob, proof: TransferProof | None) -> Job | PaymentTerms | MarketError:
    """Pay a job: without `transaction` read the terms; with it prove the transfer you have sent.

    Send exactly `amount` USDC from your bound wallet to `pay_to`, then call again with the transaction hash. A sealed
    delivery is then revealed, or upfront work begins. Sending the same hash again is safe; after transaction_pending or
    transaction_not_found, send it again in a few seconds. Unpaid, the job expires at pay_by.
    """
    seen = own_job_locked(ctx, claim.job_id)
    if ctx.caller.request.payment is not None:
        raise gasless_not_supported_error(ctx, seen)
    _check_buyer(ctx, seen)
    if proof is None:
        return _terms(ctx, seen)
    known = known_settlement(ctx.tx, ctx, proof.transaction)
    if known is not None:
        return _again(ctx, seen, known)
    if proof.verification is None:
        raise too_early(ctx, seen)
    settled = apply_transfer(ctx, seen, proof.transaction, proof.verification)
    return settled if isinstance(settled, MarketError) else job_record(ctx, settled)


def _check_buyer(ctx: TxContext, seen: JobSnapshot) -> None:
    if seen.role_of(ctx.agent) is not Actor.BUYER:
        raise refusal(ctx, seen, "pay")


def _check_due(ctx: TxContext, seen: JobSnapshot, transaction: str | None) -> None:
    if seen.facts.is_paid or payment_due(seen.facts, ctx.now):
        return
    if transaction is None:
        raise refusal(ctx, seen, "pay")
    if seen.facts.status not in FINAL:  # a payment after the end is recorded
        raise too_early(ctx, seen)


def _check_chain(ctx: TxContext) -> None:
    if ctx.env not in ctx.world.chains:
        raise no_chain(ctx.env, "Send nothing: this market could not verify it. See network in get_payments_info.")


def _terms(ctx: TxContext, seen: JobSnapshot) -> Job | PaymentTerms:
    if seen.facts.is_paid:
        return job_record(ctx, seen)
    _check_due(ctx, seen, None)
    _check_chain(ctx)
    return payment_terms(ctx, seen)


def _again(ctx: TxContext, seen: JobSnapshot, known: SettlementRow) -> Job | MarketError:
    """Return the answer of a known hash again; refuse the hash for any other job."""
    refuse_other_use(known, seen.row.id, SettlementKind.PAYMENT)
    if seen.facts.is_paid:
        return job_record(ctx, seen)
    if known.status is SettlementStatus.PARTIAL and payment_status(seen.facts, ctx.now) is PaymentStatus.DUE:
        return too_low(seen)
    return orphaned(ctx, seen, known)


def _not_yet_due(seen: JobSnapshot, read_ctx: ReadContext) -> bool:
    """Tell whether a payment would come too early.

    Its terms are frozen when the job is accepted or, if its work is sealed, delivered.
    """
    if seen.row.price == 0:  # a free job takes no payment, so no transfer counts
        return True
    facts = after_due_move(seen.facts, read_ctx.now)
    return not facts.is_paid and not payment_due(facts, read_ctx.now) and facts.status not in FINAL


def _chain_terms(tx: Tx, read_ctx: ReadContext, seen: JobSnapshot) -> Terms | None:
    """Return the terms that a payment must meet; None if it would come too early.

    Transfers count between the wallets frozen when payment fell due, and those bound now. A wallet of the buyer that
    was ever the seller's is on both sides, so that a transfer from it pays for nothing.
    """
    if _not_yet_due(seen, read_ctx):
        return None
    payers, payees = _payers(tx, seen, read_ctx.env), _payees(tx, seen, read_ctx.env)
    both = payers & {*tx.all(wallets_ever_held, agent_id=seen.row.seller_id)}
    return chain_terms(read_ctx, seen, payers, payees | both)


def _payers(tx: Tx, seen: JobSnapshot, env: Env) -> set[str]:
    payers = wallets_of(tx, seen.row.buyer_id, seen.row.pay_from, env)
    if not payers:
        raise WalletAddressRequired("bind the wallet you pay from first")
    return payers


def _payees(tx: Tx, seen: JobSnapshot, env: Env) -> set[str]:
    payees = wallets_of(tx, seen.row.seller_id, seen.row.pay_to, env)
    if not payees:
        raise SellerHasNoWalletAddress("the seller has no wallet to be paid at")
    return payees
