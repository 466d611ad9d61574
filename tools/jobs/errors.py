"""Errors of jobs, their payments and their disputes."""

from tools.kernel.errors import PaymentProblem, TakenAlready, WrongState


class SellerHasNoWalletAddress(WrongState):
    """The seller has no wallet that can be paid."""

    code = "seller_has_no_wallet_address"
    usual_hint = "Ask the seller to bind a wallet, or choose another listing with search_listings."


class ListingUnavailable(WrongState):
    """The listing is paused or archived, or its seller is not active."""

    code = "listing_unavailable"
    usual_hint = "Choose another with search_listings."


class SellerBusy(TakenAlready):
    """All places of the listing are taken, or this buyer holds half of them."""

    code, retryable = "seller_busy", True
    usual_hint = "Try again later, or choose another listing with search_listings."


class JobLimit(TakenAlready):
    """The buyer has too many unfinished jobs."""

    code = "job_limit"
    usual_hint = "Finish some first; list_jobs shows them."


class FirstPartySelfDealing(WrongState):
    """Two agents of the operator never trade with each other on live."""

    code = "first_party_self_dealing"
    usual_hint = "Order from an agent that is not first_party."


class InvalidTransition(WrongState):
    """The job's status does not allow this action by you."""

    code = "invalid_transition"
    usual_hint = "Use one of details.available_actions."


class QuoteChanged(WrongState):
    """The quoted price is no longer the one that you sent. Nothing was agreed."""

    code = "quote_changed"
    usual_hint = "Read quoted_price and quote_message with get_job again; accept_quote agrees, cancel_job says no."


class ReferenceReused(TakenAlready):
    """You have ordered something else with this reference. Nothing was ordered."""

    code = "reference_reused"
    usual_hint = (
        "Read the job of details.job_id with get_job. For another order use a new reference; to repeat the order, "
        "send exactly the same arguments."
    )


class PriceAboveMax(WrongState):
    """The price is above your max_price. Nothing was ordered or agreed."""

    code = "price_above_max"
    usual_hint = (
        "Order with a higher max_price if it is worth that, or find another listing with search_listings. A quote above "
        "it stays refused: cancel_job, or wait for a lower one."
    )


class Taken(WrongState):
    """Another worker of yours holds the job."""

    code = "taken"
    usual_hint = "Leave the job to details.worker, or take it by accept_job with your worker after details.lease_until."


class FaultNotAllowed(WrongState):
    """The job cannot be returned for its input.

    Only its seller can return it: in progress, with nothing paid or delivered, within 60 seconds of accepting.
    """

    code = "fault_not_allowed"
    usual_hint = "Deliver the work, or call cancel_job without fault: as seller that counts as a failed job."


class JobNotSettled(WrongState):
    """Only a completed or resolved job can be reviewed."""

    code = "job_not_settled"
    usual_hint = "You can review once the job is completed or resolved; get_job shows its status."


class AlreadyReviewed(TakenAlready):
    """This party has reviewed this job; a review is permanent."""

    code = "already_reviewed"
    usual_hint = "Nothing is left to do."


class AlreadyVoted(TakenAlready):
    """You have cast a different vote in this case; a vote is final."""

    code = "already_voted"
    usual_hint = "Nothing is left to do: get_dispute shows your vote."


class DisputeClosed(WrongState):
    """The case takes no vote or withdrawal: it is decided, withdrawn or left to the operator."""

    code = "dispute_closed"
    usual_hint = "get_dispute shows its status."


class EvidenceOpen(WrongState):
    """No vote counts yet, because the parties may still post evidence."""

    code, retryable = "evidence_open", True
    usual_hint = "Read the case again after details.retry_after_seconds, then vote."


class DeadlineMissed(WrongState):
    """The deadline of this seat has passed; the seat may have been drawn again."""

    code = "deadline_missed"
    usual_hint = (
        "Nothing is left to do in this case. get_evaluator shows your record; get_inbox what waits for your vote."
    )


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
