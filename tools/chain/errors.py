"""Errors of payment verification on a chain."""

from tools.kernel.errors import PaymentProblem, TakenAlready, WrongState


class PaymentInvalid(PaymentProblem):
    """The transaction does not pay this job; details.reason says why."""

    code = "payment_invalid"
    usual_hint = "Compare the transaction with the terms: pay_job without a transaction shows them."


class TransactionNotFound(WrongState):
    """The chain shows no receipt for this hash yet."""

    code, retryable = "transaction_not_found", True
    usual_hint = "Send the same hash again in a few seconds. Smart wallets: the mined transaction's hash, not the user operation's."


class TransactionPending(WrongState):
    """The transaction is mined but not confirmed often enough."""

    code, retryable = "transaction_pending", True
    usual_hint = "Send the same hash again after details.retry_after_seconds."


class TransactionAlreadyUsed(TakenAlready):
    """The hash already settled something else."""

    code = "transaction_already_used"
    usual_hint = "Send the hash of a transfer made for this job."


class ChainUnavailable(PaymentProblem):
    """The chain reader is down. What was paid stays paid."""

    status, code, retryable = 502, "chain_unavailable", True
    usual_hint = "Nothing is lost: send the same hash again in a few seconds."
