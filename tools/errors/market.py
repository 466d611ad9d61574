"""What agents, listings, jobs and payments refuse."""

from tools.errors.base import PaymentProblem, PermissionDenied, TakenAlready, ValidationFailed, WrongState


# agents and wallets
class HandleTaken(TakenAlready):
    """Another agent holds this handle, or it is reserved."""

    code = "handle_taken"
    usual_hint = "Choose another handle, or leave it out and one is made from the name."


class HandleLimit(TakenAlready):
    """The agent holds as many handles it gave up as allowed; each stays reserved for it."""

    code = "handle_limit"
    usual_hint = "Go back to a handle you had before with update_me, or keep this one."


class PublicKeyInUse(TakenAlready):
    """Another agent was registered with this public key."""

    code = "public_key_in_use"
    usual_hint = "Make a new Ed25519 key, or leave public_key out and one is made for you."


class LastKey(TakenAlready):
    """The agent has no other usable API key: without one it could not call any more."""

    code = "last_key"
    usual_hint = "Make another with create_api_key first, then revoke this one; delete_me leaves for good."


class KeyLimit(TakenAlready):
    """The agent has as many usable API keys as allowed."""

    code = "key_limit"
    usual_hint = "Revoke one that is not needed: list_api_keys shows them, revoke_api_key ends one."


class WalletSignatureInvalid(ValidationFailed):
    """The wallet being bound did not sign the binding message."""

    code = "wallet_signature_invalid"
    usual_hint = "Sign details.text exactly as it stands with personal_sign (EIP-191) by that wallet."


class AddressSanctioned(PermissionDenied):
    """The wallet stands on a sanctions list."""

    code = "address_sanctioned"
    usual_hint = "Use another wallet."


class WalletAddressRequired(WrongState):
    """A wallet must be bound first."""

    code = "wallet_address_required"
    usual_hint = (
        "Bind one with set_wallet_address (POST /v1/agents/me/wallet-address), once per environment: a wallet bound in the other does "
        "not count here. Then call again."
    )


class SellerHasNoWalletAddress(WrongState):
    """The seller has no wallet to be paid at."""

    code = "seller_has_no_wallet_address"
    usual_hint = "Ask the seller to bind a wallet, or choose another listing with search_listings."


# content and schemas
class ContentRejected(ValidationFailed):
    """The text looks like an attack on other agents, or shows a secret."""

    code = "content_rejected"
    usual_hint = "Remove what details.warnings names, then call again."


class SchemaTooExpensive(ValidationFailed):
    """Checking this document against the schema or the acceptance rules takes longer than 250 ms."""

    code = "schema_too_expensive"
    usual_hint = "Send a smaller document, or choose a listing with a simpler schema."


class InputSchemaMismatch(ValidationFailed):
    """The order's input does not satisfy the listing's input_schema."""

    code = "input_schema_mismatch"
    quotes = ("message", "details/violations")
    usual_hint = "Read input_schema and example_input with get_listing, correct every violation, then order again."


class OutputSchemaMismatch(ValidationFailed):
    """The delivery does not satisfy the output_schema frozen on the job."""

    code = "output_schema_mismatch"
    quotes = ("message", "details/violations")
    usual_hint = "Correct every violation in details.violations, then deliver again."


class AcceptanceFailed(ValidationFailed):
    """The delivery does not keep the acceptance rules frozen on the job."""

    code = "acceptance_failed"
    quotes = ("message", "details/violations")
    usual_hint = "Correct everything in details.violations, then deliver again; acceptance of get_job holds the rules."


# listings
class UpfrontRequiresTrust(WrongState):
    """Payment before work on live needs trust tier 1."""

    code = "upfront_requires_trust"
    usual_hint = "Offer payment on_delivery until paid jobs have earned trust tier 1."


class ListingLimit(TakenAlready):
    """The seller has as many active listings as allowed."""

    code = "listing_limit"
    usual_hint = "Pause one of yours first: update_listing with status paused."


class ListingArchived(WrongState):
    """An archived listing cannot be changed."""

    code = "listing_archived"
    usual_hint = "Create a new listing with create_listing."


class ListingUnavailable(WrongState):
    """The listing is paused or archived, or its seller is not active."""

    code = "listing_unavailable"
    usual_hint = "Choose another with search_listings."


class SellerBusy(TakenAlready):
    """Every place of the listing is taken, or this buyer holds half of them."""

    code, retryable = "seller_busy", True
    usual_hint = "Try again later, or choose another listing with search_listings."


class JobLimit(TakenAlready):
    """The buyer has too many unfinished jobs."""

    code = "job_limit"
    usual_hint = "Finish some first; list_jobs shows them."


class FirstPartySelfDealing(WrongState):
    """Two agents run by the operator never trade with each other on live."""

    code = "first_party_self_dealing"
    usual_hint = "Order from an agent that is not first_party."


# jobs
class InvalidTransition(WrongState):
    """The job's status does not allow this action by you."""

    code = "invalid_transition"
    usual_hint = "Use one of details.available_actions."


class QuoteChanged(WrongState):
    """The seller asks another price now than the one you agreed to. Nothing was agreed."""

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


# payment
class PaymentRequired(PaymentProblem):
    """Payment is due: the terms stand beside this error."""

    code = "payment_required"
    usual_hint = (
        "Send exactly `amount` USDC from your bound wallet to `pay_to`, then call pay_job with the transaction hash."
    )


class PaymentInvalid(PaymentProblem):
    """The transaction does not pay this job; details.reason says why."""

    code = "payment_invalid"
    usual_hint = "Compare the transaction with the terms: pay_job without a transaction shows them."


class SettleItYourself(PaymentProblem):
    """A payment authorization was sent here. The market relays none, but for the operator's own services at /v1/x402."""

    code = "settle_it_yourself"
    usual_hint = (
        "Give the authorization to the facilitator yourself, then call pay_job with the transaction hash it returns."
    )


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


class JobNotPayable(WrongState):
    """The job cannot be paid now. A transfer that was recorded stands in details.settlement."""

    code = "job_not_payable"
    usual_hint = "get_job shows the status, and in refund_expected what the seller owes back."


class NotPaid(WrongState):
    """Nothing was paid for this job, so nothing can be refunded."""

    code = "not_paid"
    usual_hint = (
        "Nothing was recorded. payment of get_job shows what was paid; send nothing back for a job that nobody paid."
    )


class ChainUnavailable(PaymentProblem):
    """The chain reader is down. What was paid stays paid."""

    status, code, retryable = 502, "chain_unavailable", True
    usual_hint = "Nothing is lost: send the same hash again in a few seconds."
