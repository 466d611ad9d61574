"""The terms of a job's payment: what is owed, to whom, and every way to send it."""

from datetime import UTC, datetime

from storage.agents import wallets_ever_held
from storage.tables import JobRow, WalletRow
from storage.transaction import Tx
from storage.vocabulary import FINAL, Env, SettlementStatus
from tools.chain.transfer_proof import wallets_of
from tools.chain.transfer_verification import Began, Terms
from tools.chain.x402_payload import job_nonce, payment_required, requirements
from tools.engine.context import ReadContext, TxContext
from tools.engine.next_steps import step, steps, wallet_step
from tools.jobs.errors import JobNotPayable, SellerHasNoWalletAddress, SettleItYourself
from tools.jobs.facts import PaymentStatus, payment_status
from tools.jobs.lifecycle import after_due_move, payment_due
from tools.jobs.logic import refusal_state, waiting_steps
from tools.jobs.payments.gasless import facilitator_block, gasless_block, token_of
from tools.jobs.payments.records import PaymentTerms
from tools.jobs.snapshot import JobSnapshot
from tools.kernel.money import display
from tools.kernel.records import stamp_or_none
from tools.wallets.errors import WalletAddressRequired


def payment_terms(ctx: TxContext, seen: JobSnapshot) -> PaymentTerms:
    """Return the amount that the buyer still owes for this job, and how to pay it."""
    row, facts, network = seen.row, seen.facts, ctx.network
    owed = (row.price or 0) - facts.partial_minor
    wallet = ctx.tx.get(WalletRow, row.buyer_id, ctx.env)
    payer = row.pay_from or (wallet.address if wallet else None)
    x402 = payment_required(
        f"{ctx.config.base_url}/v1/jobs/{row.id}/pay",
        f"the work of {row.id}",
        requirements(token_of(network), row.pay_to or "", owed),
    )
    partials = sum(one.status is SettlementStatus.PARTIAL for one in seen.settlements)
    nonce = job_nonce(ctx.config.brand, row.id, payer or "", owed, partials)
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
        gasless=gasless_block(network, x402, payer, nonce, ctx.now),
        x402=x402,
        facilitator=facilitator_block(network),
        next_steps=steps(
            () if payer else wallet_step(ctx.config.brand, ctx.agent, "Bind the wallet you will pay from."),
            step("pay_job", "Prove the payment.", job_id=row.id, transaction="<0x and 64 hex>"),
        ),
    )


def own_terms(ctx: TxContext, seen: JobSnapshot) -> PaymentTerms | None:
    """Return the terms of the caller's payment; None if it has none to make."""
    if not payment_due(seen.facts, ctx.now) or ctx.agent != seen.row.buyer_id or ctx.env not in ctx.world.chains:
        return None
    return payment_terms(ctx, seen)


def gasless_not_supported_error(terms: PaymentTerms | None) -> SettleItYourself:
    """Return the error for a payment authorization, because the market relays none for a job.

    If payment is due, the error tells the buyer how to send the authorization itself.
    """
    error = "payment authorizations are not relayed here"
    if terms is None:
        return SettleItYourself(error)
    body = None if terms.gasless is None else terms.gasless["settle_body"]
    return SettleItYourself(error, settle_body=body, gasless=terms.gasless, facilitator=terms.facilitator)


def too_early(ctx: TxContext, seen: JobSnapshot) -> JobNotPayable:
    if payment_status(seen.facts, ctx.now) is PaymentStatus.NONE:
        hint = "Ask the seller about what you sent: the market knows nothing of it."
        return JobNotPayable("this job costs nothing; nothing was recorded", hint=hint, **refusal_state(ctx, seen))
    return JobNotPayable(
        "payment is not due yet; nothing was recorded",
        hint="Keep the hash and send it again once payment.status of get_job is due.",
        next_steps=waiting_steps(ctx, seen),
        **refusal_state(ctx, seen),
    )


def chain_terms(place: TxContext | ReadContext, seen: JobSnapshot, payers: set[str], payees: set[str]) -> Terms:
    """Return the terms that a transaction must meet to pay this job."""
    return terms_since(place, began_at(seen.row), payers, payees)


def terms_since(place: TxContext | ReadContext, began: Began, payers: set[str], payees: set[str]) -> Terms:
    """Return the terms of a transfer between these wallets after an obligation began."""
    return Terms(
        asset=place.network.asset,
        payers=tuple(sorted(one.lower() for one in payers)),
        payees=tuple(sorted(one.lower() for one in payees)),
        confirmations=place.network.confirmations,
        **began._asdict(),
    )


def began_at(job: JobRow) -> Began:
    """Return the block and the time after which a transfer can pay this job."""
    newest = job.block_time_at_order
    return Began(
        not_before=int(job.created_at.timestamp()),
        after_block=job.head_at_order,
        newest_time=None if newest is None else int(newest.timestamp()),
    )


def block_moment(unix_seconds: int) -> datetime:
    return datetime.fromtimestamp(unix_seconds, UTC)


def _not_yet_due(seen: JobSnapshot, read_ctx: ReadContext) -> bool:
    """Tell whether a payment would come too early.

    Its terms are frozen when the job is accepted or, if its work is sealed, delivered.
    """
    if seen.row.price == 0:  # a free job takes no payment, so no transfer counts
        return True
    facts = after_due_move(seen.facts, read_ctx.now)
    return not facts.is_paid and not payment_due(facts, read_ctx.now) and facts.status not in FINAL


def transfer_terms(tx: Tx, read_ctx: ReadContext, seen: JobSnapshot) -> Terms | None:
    """Return the terms that a payment must meet; None if it would come too early.

    Transfers count between the wallets frozen when payment fell due, and those bound now. A wallet of the buyer that
    was ever the seller's is on both sides, so that a transfer from it pays for nothing.
    """
    if _not_yet_due(seen, read_ctx):
        return None
    payers, payees = payers_of(tx, seen, read_ctx.env), payees_of(tx, seen, read_ctx.env)
    both = payers & {*tx.all(wallets_ever_held, agent_id=seen.row.seller_id)}
    return chain_terms(read_ctx, seen, payers, payees | both)


def payers_of(tx: Tx, seen: JobSnapshot, env: Env) -> set[str]:
    """Return the wallets that a job may be paid from; raises WalletAddressRequired."""
    payers = wallets_of(tx, seen.row.buyer_id, seen.row.pay_from, env)
    if not payers:
        raise WalletAddressRequired("bind the wallet you pay from first")
    return payers


def payees_of(tx: Tx, seen: JobSnapshot, env: Env) -> set[str]:
    """Return the wallets that a job may be paid to; raises SellerHasNoWalletAddress."""
    payees = wallets_of(tx, seen.row.seller_id, seen.row.pay_to, env)
    if not payees:
        raise SellerHasNoWalletAddress("the seller has no wallet to be paid at")
    return payees
