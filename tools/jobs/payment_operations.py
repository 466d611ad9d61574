"""Payment from wallet to wallet, proven by a transaction hash. Every verified transfer is stored."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Self

from pydantic import Field, model_validator

from storage.tables import SettlementRow
from storage.vocabulary import FINAL, Actor, SettlementKind, SettlementStatus
from tools.chain.transfer_proof import (
    TRANSACTION,
    known_settlement,
    no_chain,
    read_hash,
)
from tools.engine.context import ReadContext, TxContext
from tools.engine.rate_limits import Rate
from tools.jobs.errors import JobNotPayable, SellerHasNoWalletAddress, SettleItYourself
from tools.jobs.facts import PaymentStatus, payment_status
from tools.jobs.lifecycle import payment_due
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
from tools.jobs.payments.searches import begin_search, find_payment
from tools.jobs.payments.terms import (
    gasless_not_supported_error,
    own_terms,
    payees_of,
    payers_of,
    payment_terms,
    too_early,
    transfer_terms,
)
from tools.jobs.records import Job
from tools.jobs.snapshot import JobSnapshot, find_mine
from tools.jobs.views import job_record
from tools.kernel.errors import MarketError


class PayJob(JobRef):
    transaction: Annotated[str, Field(max_length=80, json_schema_extra=TRANSACTION)] | None = Field(
        None, description="hash of the mined transfer, 0x and 64 hex; left out: returns the terms"
    )
    gasless: bool = Field(False, description="true: find your gas-free payment without its hash")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.gasless and self.transaction is not None:
            raise ValueError("gasless and transaction exclude each other: send the hash, or let it be found")
        return self


PAY_ERRORS = (*TRANSFER_ERRORS, JobNotPayable, SellerHasNoWalletAddress, SettleItYourself)


async def read_proof(read_ctx: ReadContext, claim: PayJob) -> TransferProof | None:
    """Make the checks that need no chain, then check or find the transfer on the chain.

    Returns None if there is no transaction to check.
    """
    if read_ctx.caller.request.payment is not None:
        return None
    seen = await read_ctx.store.read(lambda tx: find_mine(tx, claim.job_id, read_ctx.caller.agent, read_ctx.env))
    if read_ctx.caller.agent != seen.row.buyer_id:
        return None
    if claim.gasless and not seen.facts.is_paid:
        return await find_payment(read_ctx, claim.job_id)
    if claim.transaction is None:
        return None
    return await prove_transfer(read_ctx, claim.transaction, lambda tx: transfer_terms(tx, read_ctx, seen))


def _hurdles(ctx: TxContext, claim: PayJob) -> Iterator[Callable[[], object]]:
    """Yield every check of a payment that does not need the chain."""
    seen = find_mine(ctx.tx, claim.job_id, ctx.agent, ctx.env)
    yield partial(_check_buyer, ctx, seen)
    if seen.role_of(ctx.agent) is Actor.BUYER:
        yield partial(_check_due, ctx, seen, claim.transaction)
        yield partial(_check_chain, ctx)
        if claim.transaction is not None:
            yield partial(read_hash, claim.transaction)
            yield partial(payers_of, ctx.tx, seen, ctx.env)
            yield partial(payees_of, ctx.tx, seen, ctx.env)


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
        return _authorization_refused(ctx, seen)
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


def _authorization_refused(ctx: TxContext, seen: JobSnapshot) -> MarketError:
    """Return the error for a payment authorization with the terms; raise it if none are due."""
    terms = own_terms(ctx, seen)
    if terms is None:
        raise gasless_not_supported_error(None)
    begin_search(ctx, terms)
    return gasless_not_supported_error(terms)


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
    terms = payment_terms(ctx, seen)
    begin_search(ctx, terms)
    return terms


def _again(ctx: TxContext, seen: JobSnapshot, known: SettlementRow) -> Job | MarketError:
    """Return the answer of a known hash again; refuse the hash for any other job."""
    refuse_other_use(known, seen.row.id, SettlementKind.PAYMENT)
    if seen.facts.is_paid:
        return job_record(ctx, seen)
    if known.status is SettlementStatus.PARTIAL and payment_status(seen.facts, ctx.now) is PaymentStatus.DUE:
        return too_low(seen)
    return orphaned(ctx, seen, known)
