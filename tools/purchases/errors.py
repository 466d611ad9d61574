"""Errors of a purchase with one x402 payment. Nothing was charged unless the message says so."""

from typing import Any, Self

from tools.kernel.errors import TakenAlready, WrongState

SAME_AGAIN = "Send the same request with the same payment again; sign no other. A client that signs again for each call makes another purchase."
ANEW = "Nothing was charged. To try again, ask for new terms and sign them."
OTHERWISE = "Nothing was charged. Change what the seller names (units go into the url: ?units=), ask for new terms and sign them."


class X402FirstPartyOnly(WrongState):
    """The listing is not the operator's; only the operator's listings are bought with x402."""

    code = "x402_first_party_only"
    usual_hint = "Register, order it with hire, and pay the seller with pay_job."


class X402NeedsAPrice(WrongState):
    """The listing is free or asks for a quote, so there is nothing to sign."""

    code = "x402_needs_a_price"
    usual_hint = "Register and order it with hire."


class X402UpfrontNotSupported(WrongState):
    """The listing takes payment before the work, but an x402 purchase is charged after it."""

    code = "x402_upfront_not_supported"
    usual_hint = "Register, order it with hire, and pay with pay_job."


class X402NotDelivered(WrongState):
    """The work was declined or given up, so nothing was charged."""

    code = "x402_not_delivered"
    usual_hint = OTHERWISE
    quotes = ("message",)


class X402Timeout(WrongState):
    """The work did not come in time, so nothing was charged."""

    code = "x402_timeout"
    usual_hint = f"{ANEW} Register and order longer work with hire."


class PaymentRefused(WrongState):
    """A payment was not taken.

    `terms` is PaymentRequired of x402 version 2 for the same order, or None if it is no longer sold. Protocols that
    answer a refused payment with its terms send it; HTTP sends the error alone.
    """

    terms: dict[str, Any] | None = None

    def with_terms(self, terms: dict[str, Any] | None) -> Self:
        self.terms = terms
        return self


class X402SettleFailed(PaymentRefused):
    """The facilitator did not send the payment."""

    code, retryable = "x402_settle_failed", True
    usual_hint = SAME_AGAIN


class X402InsufficientFunds(PaymentRefused):
    """The wallet does not hold what it signed."""

    code, retryable = "x402_insufficient_funds", True
    usual_hint = f"Put USDC into the wallet before the authorization ends. {SAME_AGAIN}"


class X402AuthorizationInUse(WrongState):
    """Another call is using this payment, or the outcome of the payment is not known yet."""

    code, retryable = "x402_authorization_in_use", True
    usual_hint = SAME_AGAIN


class X402AuthorizationUsed(PaymentRefused):
    """This payment was made for another order, or failed and cannot be used again."""

    code = "x402_authorization_used"
    usual_hint = "Sign a new authorization, with another nonce, for this order."


class AlreadyClaimed(TakenAlready):
    """The wallet has claimed this account before, and its keys were shown then."""

    code = "already_claimed"
    usual_hint = "Replace lost keys with recover_agent (POST /v1/agents/recover), signed with the root key."


class BuyerNotActive(WrongState):
    """The agent this wallet belongs to is suspended."""

    code = "buyer_not_active"
    usual_hint = "Write to the operator with report_support."
