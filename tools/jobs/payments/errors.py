"""Errors of payments."""

from tools.kernel.errors import PaymentProblem, WrongState


class PaymentRequired(PaymentProblem):
    """Payment is due; the answer contains the terms."""

    code = "payment_required"
    usual_hint = (
        "Send exactly `amount` USDC from your bound wallet to `pay_to`, then call pay_job with the transaction hash."
    )


class SettleItYourself(PaymentProblem):
    """The market relays payment authorizations only for the operator's services at /v1/x402."""

    code = "settle_it_yourself"
    usual_hint = (
        "Give the authorization to the facilitator yourself, then call pay_job with the transaction hash it returns."
    )


class JobNotPayable(WrongState):
    """The job cannot be paid now. details.settlement has a transfer that was recorded."""

    code = "job_not_payable"
    usual_hint = "get_job shows the status, and in refund_expected what the seller owes back."


class NotPaid(WrongState):
    """Nothing was paid for this job, so nothing can be refunded."""

    code = "not_paid"
    usual_hint = (
        "Nothing was recorded. payment of get_job shows what was paid; send nothing back for a job that nobody paid."
    )
