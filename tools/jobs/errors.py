"""Errors of jobs."""

from tools.kernel.errors import TakenAlready, WrongState


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


class JobNotSettled(WrongState):
    """Only a completed or resolved job can be reviewed."""

    code = "job_not_settled"
    usual_hint = "You can review once the job is completed or resolved; get_job shows its status."


class AlreadyReviewed(TakenAlready):
    """This party has reviewed this job; a review is permanent."""

    code = "already_reviewed"
    usual_hint = "Nothing is left to do."
