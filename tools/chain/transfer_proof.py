"""Proof of a transfer by its transaction hash: the recorded settlement, the chain's answer, and the errors."""

from typing import Any

from pydantic import JsonValue

from storage.jobs import settlement_by_hash
from storage.tables import SettlementRow, WalletRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.chain.chain_reads import look_up
from tools.chain.errors import ChainUnavailable, PaymentInvalid, TransactionNotFound, TransactionPending
from tools.chain.node_answers import InvalidNodeAnswer
from tools.chain.transfer_verification import (
    BadHash,
    ChainDown,
    InvalidReason,
    Terms,
    TransferStatus,
    Verification,
    normalise_hash,
    verify,
)
from tools.chain.wallet_proof import address_of
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import InvalidRequest
from tools.engine.ports import Chain
from tools.kernel.plurals import counted

TRANSACTION: dict[str, JsonValue] = {"pattern": "^(0x)?[0-9a-fA-F]{64}$"}


def read_hash(text: str) -> str:
    """Return a transaction hash in its normal form; raise InvalidRequest for any other text."""
    try:
        return normalise_hash(text)
    except BadHash as bad:
        raise InvalidRequest(f"transaction: {bad}", param="transaction") from None


def known_settlement(tx: Tx, place: TxContext | ReadContext, transaction: str) -> SettlementRow | None:
    """Return the settlement that this transaction was recorded as, for any job."""
    return tx.one(settlement_by_hash, network=place.network.id, tx_hash=transaction)


def wallets_of(tx: Tx, agent_id: str, frozen: str | None, env: Env) -> set[str]:
    """Return the addresses that a party may use: `frozen` from the job, and the one bound now."""
    bound = tx.get(WalletRow, agent_id, env)
    return {address for address in (frozen, bound and bound.address) if address}


def no_chain(env: Env, hint: str) -> ChainUnavailable:
    """Return the error for an environment without a configured chain."""
    return ChainUnavailable(f"no chain is configured for {env}", hint=hint, retry_after_seconds=60)


def chain_of(read_ctx: ReadContext) -> Chain:
    """Return the environment's chain; raises ChainUnavailable if none is configured."""
    chain = read_ctx.world.chains.get(read_ctx.env)
    if chain is None:
        raise no_chain(read_ctx.env, "What was sent stands. Ask the operator: this market verifies nothing there yet.")
    return chain


async def verify_transfer(read_ctx: ReadContext, transaction: str, terms: Terms) -> Verification:
    """Judge what the chain of this environment shows of a transaction.

    Raises ChainUnavailable.
    """
    chain = chain_of(read_ctx)
    try:
        return verify(transaction, await look_up(chain, transaction, terms.confirmations), terms)
    except (ChainDown, InvalidNodeAnswer) as error:
        raise chain_failed(error) from None


def chain_failed(error: Exception) -> ChainUnavailable:
    """Return the error for a node that gives no usable answer."""
    cause = str(error)[:200]
    return ChainUnavailable(
        "the chain reader is down or answers nonsense; the payment stands", cause=cause, retry_after_seconds=5
    )


def refuse_unpaid(verdict: Verification, terms: Terms) -> None:
    """Raise the error for a verdict that records nothing: not found, pending or invalid."""
    if verdict.kind is TransferStatus.NOT_FOUND:
        raise TransactionNotFound("the chain shows no such transaction yet", param="transaction", retry_after_seconds=3)
    if verdict.kind is TransferStatus.PENDING:
        missing = max(1, verdict.required - verdict.confirmations)
        raise TransactionPending(
            f"{verdict.confirmations} of {counted(verdict.required, 'confirmation')}",
            param="transaction",
            confirmations=verdict.confirmations,
            required=verdict.required,
            retry_after_seconds=max(2, 2 * missing),
        )
    if verdict.kind is TransferStatus.INVALID:
        raise PaymentInvalid(
            f"this transaction does not settle what is owed: {verdict.reason}",
            param="transaction",
            hint=_INSTEAD.get(verdict.reason) if verdict.reason else None,
            reason=str(verdict.reason),
            **_parties(verdict, terms),
        )


_INSTEAD = {
    InvalidReason.WRONG_RECIPIENT: "This transfer was not for this job: ask who got it (details.seen) to send it back. Send to details.expected, "
    "then call again with that transaction's hash.",
    InvalidReason.WRONG_SENDER: "The transfer came from a wallet that is not bound to you here. Ask the recipient to return it. Send from a wallet in "
    "details.expected (your bound one), then call again with that transaction's hash.",
}


def _parties(verdict: Verification, terms: Terms) -> dict[str, Any]:
    """Return the wallets expected and the wallets seen, if the wrong one sent or received."""
    if verdict.reason not in _INSTEAD:
        return {}
    expected = terms.payers if verdict.reason is InvalidReason.WRONG_SENDER else terms.payees
    return {"expected": sorted(set(map(address_of, expected))), "seen": [address_of(one) for one in verdict.strangers]}
