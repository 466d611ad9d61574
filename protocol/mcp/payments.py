"""The x402 transport of MCP: terms as the result of a tool, the payment and its receipt in `_meta`.

Source: the x402 specification, version 2, transport MCP.
"""

from typing import Any

import orjson

from protocol.untrusted_text import member_at
from tools.engine.idempotency import Response
from tools.kernel.errors import Json
from tools.purchases.errors import PaymentRefused
from tools.purchases.quotes import header, receipt

PAYMENT, RECEIPT = "x402/payment", "x402/payment-response"


def payment_in(request: Json) -> str | None:
    """Return the payment of a call in the form of HTTP's header; None if there is none.

    It is any JSON value: whether it is a payment is checked where those of HTTP are.
    """
    found = member_at(request, "params", "_meta", PAYMENT)
    return None if found is None else header(found)


def terms_in(answer: Response) -> dict[str, Any] | None:
    """Return PaymentRequired (version 2) if the call was not paid or its payment was refused."""
    refusal = answer.refusal
    if isinstance(refusal, PaymentRefused) and refusal.terms is not None:
        return {**refusal.terms, "error": f"{refusal.code}: {refusal.message}. {refusal.hint}"}
    if answer.error is None or refusal is not None:
        return None
    terms: dict[str, Any] = orjson.loads(answer.body)["required"]
    return terms


def receipt_in(body: bytes) -> dict[str, Any]:
    """Return the `_meta` of a purchase's result, with its SettlementResponse."""
    return {RECEIPT: receipt(orjson.loads(body)["paid"])}
