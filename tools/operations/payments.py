"""Payment: wallet to wallet, proven by a transaction hash. A verified transfer always leaves a row."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from storage.held import wallets_ever_held
from storage.tables import SettlementKind, SettlementRow, SettlementStatus
from storage.unit import Tx
from tools.context import Context, Outside
from tools.errors import (
    AddressSanctioned,
    ChainUnavailable,
    InvalidTransition,
    JobNotPayable,
    MarketError,
    NotFound,
    PaymentInvalid,
    SellerHasNoWalletAddress,
    SettleItYourself,
    TransactionAlreadyUsed,
    TransactionNotFound,
    TransactionPending,
    WalletAddressRequired,
)
from tools.ports import Env
from tools.rates import Rate
from tools.records.jobs import Job
from tools.records.payments import PaymentTerms
from tools.registry import operation
from tools.rules.jobfacts import FINAL, JobStatus, PaymentStatus, payment_status, refund_expected
from tools.rules.lifecycle import Actor, JobMove, clocked, payment_move
from tools.rules.transfers import Verdict
from tools.steps.figures import recount
from tools.steps.jobs import (
    JobRef,
    SeenJob,
    advance,
    find_mine,
    in_seconds,
    mine,
    record_event,
    refusal,
    say_what_is_due,
    see,
    standing,
)
from tools.steps.proving import TRANSACTION, ask, known_settlement, no_chain, read_hash, refuse, wallets_of
from tools.steps.reputation import count_job
from tools.steps.settlements import record_transfer, settlement_record
from tools.steps.terms import block_moment, chain_terms, payment_terms, refuse_sanctioned, relays_nothing, too_early
from tools.steps.views import job_record


class PayJob(JobRef):
    transaction: Annotated[str, Field(max_length=80, json_schema_extra=TRANSACTION)] | None = Field(
        None, description="hash of the mined transfer, 0x and 64 hex; left out: the terms are answered"
    )


@dataclass(frozen=True, slots=True)
class Proof:
    """What the chain showed of a transaction; `verdict` is None where no chain had to be asked."""

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


async def read_proof(outside: Outside, claim: PayJob) -> Proof:
    """Everything that can be refused without the chain, then what the chain shows."""
    if outside.caller.approach.payment_header:
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


def _hurdles(ctx: Context, claim: PayJob) -> Iterator[Callable[[], object]]:
    """Every check of a payment that needs no look at the chain."""
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
    toolset="buying",
)
def pay_job(ctx: Context, claim: PayJob, proof: Proof) -> Job | PaymentTerms | MarketError:
    """Pay a job: without `transaction` read the terms; with it prove the transfer you have sent.

    Send exactly `amount` USDC from your bound wallet to `pay_to`, then call again with the transaction hash. A sealed
    delivery is revealed, upfront work begins. Sending the same hash again is safe; transaction_pending and
    transaction_not_found mean: the same hash again in a few seconds. Unpaid, the job expires at pay_by.
    """
    seen = mine(ctx, claim.job_id)
    if ctx.caller.approach.payment_header:
        raise relays_nothing(ctx, seen)
    _check_buyer(ctx, seen)
    if proof.transaction is None:
        return _terms(ctx, seen)
    known = known_settlement(ctx.tx, ctx, proof.transaction)
    if known is not None:
        return _again(ctx, seen, known)
    if proof.verdict is None:
        raise too_early(ctx, seen)
    return _settle(ctx, seen, proof.transaction, proof.verdict)


def _check_buyer(ctx: Context, seen: SeenJob) -> None:
    if seen.role_of(ctx.agent) is not Actor.BUYER:
        raise refusal(ctx, seen, "pay")


def _check_due(ctx: Context, seen: SeenJob, transaction: str | None) -> None:
    if seen.facts.is_paid or payment_status(clocked(seen.facts, ctx.now), ctx.now) is PaymentStatus.DUE:
        return
    if transaction is None:
        raise refusal(ctx, seen, "pay")
    if seen.facts.status not in FINAL:  # what arrives after the end is recorded
        raise too_early(ctx, seen)


def _check_chain(ctx: Context) -> None:
    if ctx.env not in ctx.world.chains:
        raise no_chain(ctx.env, "Send nothing: this market could not verify it. See network in get_payments_info.")


def _terms(ctx: Context, seen: SeenJob) -> Job | PaymentTerms:
    if seen.facts.is_paid:
        return job_record(ctx, seen)
    _check_due(ctx, seen, None)
    _check_chain(ctx)
    return payment_terms(ctx, seen)


def _again(ctx: Context, seen: SeenJob, known: SettlementRow) -> Job | MarketError:
    """A hash that is known: the same answer for the same job, a refusal for any other."""
    if known.job_id != seen.row.id or known.kind is not SettlementKind.PAYMENT:
        raise TransactionAlreadyUsed("this transaction already settled something else", param="transaction")
    if seen.facts.is_paid:
        return job_record(ctx, seen)
    if known.status is SettlementStatus.PARTIAL and payment_status(seen.facts, ctx.now) is PaymentStatus.DUE:
        return _too_low(seen)
    return _orphaned(ctx, seen, known)


def _settle(ctx: Context, seen: SeenJob, transaction: str, verdict: Verdict) -> Job | MarketError:
    """Record the transfer and move the job, in this one unit of work."""
    assert verdict.block_time is not None
    facts, price = seen.facts, seen.row.price or 0
    move = None if facts.is_paid else payment_move(facts, block_moment(verdict.block_time), ctx.now)
    owed = price - facts.partial_minor
    if move is None:
        row = record_transfer(
            ctx, seen.row, SettlementKind.PAYMENT, transaction, verdict, SettlementStatus.ORPHANED, max(owed, 0)
        )
        after = see(ctx.tx, seen.row)
        record_event(ctx, after, "job.payment_orphaned", ctx.agent, _told(row))
        say_what_is_due(ctx, facts, after)
        recount(ctx.tx, after.row, after.settlements)  # refunds cover stray payments first
        count_job(ctx.tx, after, ctx.now)
        return job_record(ctx, after) if facts.is_paid else _orphaned(ctx, after, row)
    if verdict.amount_minor < owed:
        row = record_transfer(
            ctx, seen.row, SettlementKind.PAYMENT, transaction, verdict, SettlementStatus.PARTIAL, owed
        )
        after = see(ctx.tx, seen.row)
        record_event(ctx, after, "job.payment_partial", ctx.agent, _told(row))
        say_what_is_due(ctx, facts, after)
        count_job(ctx.tx, after, ctx.now)  # of an expired job it is owed back
        return _too_low(after)
    row = record_transfer(ctx, seen.row, SettlementKind.PAYMENT, transaction, verdict, SettlementStatus.SETTLED, owed)
    return job_record(ctx, _paid(ctx, seen, row, move))


def _paid(ctx: Context, seen: SeenJob, row: SettlementRow, move: JobMove) -> SeenJob:
    for part in seen.settlements:
        if part.status is SettlementStatus.PARTIAL:
            ctx.tx.change(part, status=SettlementStatus.SETTLED, settled_at=ctx.now)
    settled = see(ctx.tx, seen.row)
    revealed = move.target is JobStatus.DELIVERED
    deadline = {"review_by": in_seconds(ctx, ctx.windows.review_seconds)} if revealed else {}
    if not revealed:
        deadline = {"deliver_by": in_seconds(ctx, seen.row.turnaround_seconds)}
    return advance(ctx, settled, move, ctx.agent, told={**_told(row), "output_revealed": revealed}, **deadline)


def _too_low(seen: SeenJob) -> PaymentInvalid:
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


def _orphaned(ctx: Context, seen: SeenJob, row: SettlementRow) -> JobNotPayable:
    owed = refund_expected(seen.facts)
    stands = f"the seller owes {owed} minor units back" if owed else "what was owed back has come back"
    return JobNotPayable(
        f"the job is {seen.row.status}; the transfer was recorded and {stands}",
        **standing(ctx, seen),
        settlement=asdict(settlement_record(row, ctx.network, ctx.agent)),
    )


def _told(row: SettlementRow) -> dict[str, Any]:
    return {"settlement_id": row.id, "transaction": row.tx_hash, "network": row.network, "amount": row.amount}


def _not_yet_due(seen: SeenJob, outside: Outside) -> bool:
    """Nothing is frozen yet: the job was not accepted, or its sealed work not delivered."""
    facts = clocked(seen.facts, outside.now)
    if seen.row.price == 0:  # a free job takes no payment, so no transfer is one
        return True
    waits = payment_status(facts, outside.now) is PaymentStatus.DUE
    return not facts.is_paid and not waits and facts.status not in FINAL


def _wallets(tx: Tx, seen: SeenJob, env: Env) -> tuple[set[str], set[str]]:
    """Whose transfers count, and to whom: the wallets frozen when payment fell due, and those bound now.

    A wallet of the buyer that was ever the seller's is both sides': what comes from it pays for nothing.
    """
    payers, payees = _payers(tx, seen, env), _payees(tx, seen, env)
    return payers, payees | (payers & {*tx.all(wallets_ever_held, agent_id=seen.row.seller_id)})


def _payers(tx: Tx, seen: SeenJob, env: Env) -> set[str]:
    payers = wallets_of(tx, seen.row.buyer_id, seen.row.pay_from, env)
    if not payers:
        raise WalletAddressRequired("bind the wallet you pay from first")
    return payers


def _payees(tx: Tx, seen: SeenJob, env: Env) -> set[str]:
    payees = wallets_of(tx, seen.row.seller_id, seen.row.pay_to, env)
    if not payees:
        raise SellerHasNoWalletAddress("the seller has no wallet to be paid at")
    return payees
