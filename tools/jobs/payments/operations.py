"""Payment from wallet to wallet, proven by a transaction hash. Every verified transfer is stored."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from pydantic import Field

from storage.identifier_history import wallets_ever_held
from storage.tables import SettlementRow
from storage.transaction import Tx
from storage.vocabulary import FINAL, Actor, Env, SettlementKind, SettlementStatus
from tools.chain.errors import (
    ChainUnavailable,
    PaymentInvalid,
    TransactionAlreadyUsed,
    TransactionNotFound,
    TransactionPending,
)
from tools.chain.transfer_proof import TRANSACTION, ask, known_settlement, no_chain, read_hash, refuse, wallets_of
from tools.chain.transfer_verification import Verdict
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import NotFound
from tools.engine.rate_limits import Rate
from tools.engine.registry import operation
from tools.jobs.errors import InvalidTransition, SellerHasNoWalletAddress
from tools.jobs.facts import PaymentStatus, payment_status
from tools.jobs.lifecycle import after_due_move
from tools.jobs.logic import JobRef, mine, refusal
from tools.jobs.payments.errors import JobNotPayable, SettleItYourself
from tools.jobs.payments.logic import orphaned, settle, too_low
from tools.jobs.payments.records import PaymentTerms
from tools.jobs.payments.terms import chain_terms, gasless_not_supported_error, payment_terms, too_early
from tools.jobs.records import Job
from tools.jobs.snapshot import JobSnapshot, find_mine
from tools.jobs.views import job_record
from tools.kernel.errors import MarketError
from tools.wallets.errors import AddressSanctioned, WalletAddressRequired
from tools.wallets.logic import refuse_sanctioned


class PayJob(JobRef):
    transaction: Annotated[str, Field(max_length=80, json_schema_extra=TRANSACTION)] | None = Field(
        None, description="hash of the mined transfer, 0x and 64 hex; left out: returns the terms"
    )


@dataclass(frozen=True, slots=True)
class Proof:
    """The chain's verdict on a payment; `verdict` is None if the chain need not be asked."""

    transaction: str | None
    verdict: Verdict | None


PAY_ERRORS = (
    AddressSanctioned,
    ChainUnavailable,
    InvalidTransition,
    JobNotPayable,
    NotFound,
    PaymentInvalid,
    SellerHasNoWalletAddress,
    SettleItYourself,
    TransactionAlreadyUsed,
    TransactionNotFound,
    TransactionPending,
    WalletAddressRequired,
)


async def read_proof(outside: ReadContext, claim: PayJob) -> Proof:
    """Make the checks that need no chain, then check the transfer on the chain."""
    if outside.caller.approach.payment is not None:
        return Proof(None, None)
    seen = await outside.store.look(lambda tx: find_mine(tx, claim.job_id, outside.caller.agent, outside.env))
    if claim.transaction is None or outside.caller.agent != seen.row.buyer_id:
        return Proof(None, None)
    transaction = read_hash(claim.transaction)
    known = await outside.store.look(lambda tx: known_settlement(tx, outside, transaction))
    if known is not None or _not_yet_due(seen, outside):
        return Proof(transaction, None)
    payers, payees = await outside.store.look(lambda tx: _wallets(tx, seen, outside.env))
    refuse_sanctioned(outside.world.sanctions, payers | payees)
    terms = chain_terms(outside, seen, payers, payees)
    verdict = await ask(outside, transaction, terms)
    refuse(verdict, terms)
    return Proof(transaction, verdict)


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


@operation(
    "POST /v1/jobs/{job_id}/pay",
    action="pay",
    scope="buy",
    gather=read_proof,
    hurdles=_hurdles,
    errors=PAY_ERRORS,
    open_world=True,
    idempotent=True,
    rate=Rate.PAY,
    ends_work=True,
    toolset="buying",
)
def pay_job(ctx: TxContext, claim: PayJob, proof: Proof) -> Job | PaymentTerms | MarketError:
    """Pay a job: without `transaction` read the terms; with it prove the transfer you have sent.

    Send exactly `amount` USDC from your bound wallet to `pay_to`, then call again with the transaction hash. A sealed
    delivery is then revealed, or upfront work begins. Sending the same hash again is safe; after transaction_pending or
    transaction_not_found, send it again in a few seconds. Unpaid, the job expires at pay_by.
    """
    seen = mine(ctx, claim.job_id)
    if ctx.caller.approach.payment is not None:
        raise gasless_not_supported_error(ctx, seen)
    _check_buyer(ctx, seen)
    if proof.transaction is None:
        return _terms(ctx, seen)
    known = known_settlement(ctx.tx, ctx, proof.transaction)
    if known is not None:
        return _again(ctx, seen, known)
    if proof.verdict is None:
        raise too_early(ctx, seen)
    settled = settle(ctx, seen, proof.transaction, proof.verdict)
    return settled if isinstance(settled, MarketError) else job_record(ctx, settled)


def _check_buyer(ctx: TxContext, seen: JobSnapshot) -> None:
    if seen.role_of(ctx.agent) is not Actor.BUYER:
        raise refusal(ctx, seen, "pay")


def _check_due(ctx: TxContext, seen: JobSnapshot, transaction: str | None) -> None:
    if seen.facts.is_paid or payment_status(after_due_move(seen.facts, ctx.now), ctx.now) is PaymentStatus.DUE:
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
    if known.job_id != seen.row.id or known.kind is not SettlementKind.PAYMENT:
        raise TransactionAlreadyUsed("this transaction already settled something else", param="transaction")
    if seen.facts.is_paid:
        return job_record(ctx, seen)
    if known.status is SettlementStatus.PARTIAL and payment_status(seen.facts, ctx.now) is PaymentStatus.DUE:
        return too_low(seen)
    return orphaned(ctx, seen, known)


def _not_yet_due(seen: JobSnapshot, outside: ReadContext) -> bool:
    """Tell whether a payment would come too early.

    Its terms are frozen when the job is accepted or, if its work is sealed, delivered.
    """
    facts = after_due_move(seen.facts, outside.now)
    if seen.row.price == 0:  # a free job takes no payment, so no transfer counts
        return True
    waits = payment_status(facts, outside.now) is PaymentStatus.DUE
    return not facts.is_paid and not waits and facts.status not in FINAL


def _wallets(tx: Tx, seen: JobSnapshot, env: Env) -> tuple[set[str], set[str]]:
    """Return the wallets from which and to which transfers count.

    They are the wallets frozen when payment fell due, and those bound now. A wallet of the buyer that was ever the
    seller's is on both sides, so that a transfer from it pays for nothing.
    """
    payers, payees = _payers(tx, seen, env), _payees(tx, seen, env)
    return payers, payees | (payers & {*tx.all(wallets_ever_held, agent_id=seen.row.seller_id)})


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
