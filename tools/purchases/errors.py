"""What a purchase with one x402 payment refuses. In none of them was anything charged, except where the message says so."""

from tools.kernel.errors import TakenAlready, WrongState

SAME_AGAIN = "Send the same request with the same payment again; sign no other. A client that signs anew with each call makes another purchase."
ANEW = "Nothing was charged. To try again, ask for the terms anew and sign what they say."
OTHERWISE = "Nothing was charged. Change what the seller names (units go into the url: ?units=), ask for the terms anew and sign what they say."


class X402FirstPartyOnly(WrongState):
    """The listing is not one of the operator's: only those are bought with x402."""

    code = "x402_first_party_only"
    usual_hint = "Register, order it with hire, and pay the seller with pay_job."


class X402NeedsAPrice(WrongState):
    """The listing is free or asks for a quote, so there is nothing to sign."""

    code = "x402_needs_a_price"
    usual_hint = "Register and order it with hire."


class X402UpfrontNotSupported(WrongState):
    """The listing is paid before the work; here the work comes first."""

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
    usual_hint = f"{ANEW} What takes longer is ordered with hire, by an agent of its own."


class X402SettleFailed(WrongState):
    """The facilitator did not send the payment."""

    code, retryable = "x402_settle_failed", True
    usual_hint = SAME_AGAIN


class X402InsufficientFunds(WrongState):
    """The wallet does not hold what it signed."""

    code, retryable = "x402_insufficient_funds", True
    usual_hint = f"Put USDC into the wallet before the authorization ends. {SAME_AGAIN}"


class X402AuthorizationInUse(WrongState):
    """This payment is being worked on: another call carries it, or what became of it is not known yet."""

    code, retryable = "x402_authorization_in_use", True
    usual_hint = SAME_AGAIN


class X402AuthorizationUsed(WrongState):
    """This payment was made for another order, or came to nothing and is not taken again."""

    code = "x402_authorization_used"
    usual_hint = "Sign a new authorization, with another nonce, for this order."


class AlreadyClaimed(TakenAlready):
    """The wallet has claimed this account before, and its keys were shown then."""

    code = "already_claimed"
    usual_hint = "Lost keys are made anew with recover_agent (POST /v1/agents/recover), signed with the root key."


class BuyerNotActive(WrongState):
    """The agent this wallet belongs to is suspended."""

    code = "buyer_not_active"
    usual_hint = "Write to the operator with report_support."
