"""A job's payment in the terms of a2a-x402 v0.2. The buyer pays by itself and proves it with the transaction's hash.

So the scheme is `transaction-proof`, never `exact`: for that one, a stock client signs a live transfer authorization.
Purchases of the operator's listings, which take `exact`, are in purchases.py.
"""

from collections.abc import Iterable
from typing import Any

from protocol.untrusted_text import member_at
from tools.agents.agent_cards import X402_URI
from tools.kernel.errors import Json, MarketError

URI = X402_URI
STATUS, REQUIRED, PAYLOAD = "x402.payment.status", "x402.payment.required", "x402.payment.payload"
RECEIPTS, ERROR = "x402.payment.receipts", "x402.payment.error"
SCHEME = "transaction-proof"
ACTIVATION = (b"a2a-extensions", b"x-a2a-extensions")  # the headers of 1.0 and 0.3
PENDING = frozenset({"transaction_pending", "transaction_not_found"})
CODES = {
    "amount_too_low": "INVALID_AMOUNT",
    "wrong_asset": "NETWORK_MISMATCH",
    "reverted": "SETTLEMENT_FAILED",
    "too_old": "EXPIRED_PAYMENT",
    "transaction_already_used": "DUPLICATE_NONCE",
}


def metadata_of(task: dict[str, Json]) -> dict[str, Json]:
    """Return the payment metadata of a task's status; empty if nothing was due yet."""
    receipts = [_receipt(one) for one in task["payments"]]
    kept = {RECEIPTS: receipts} if receipts else {}
    if task["due"] is not None and task["job"]["role"] == "buyer":
        return {STATUS: "payment-required", REQUIRED: required(task), **kept}
    if task["job"]["payment"]["status"] == "paid":
        return {STATUS: "payment-completed", **kept}
    return {STATUS: "payment-failed", **kept} if kept else {}


def required(task: dict[str, Json]) -> dict[str, Json]:
    """Return the amount due as an x402 PaymentRequired (version 2)."""
    job, due = task["job"], task["due"]
    payment = job["payment"]
    payer = {} if payment["pay_from"] is None else {"payFrom": payment["pay_from"]}
    terms = {
        "scheme": SCHEME,
        "network": payment["network"],
        "amount": str(due["amount"]),
        "asset": payment["asset"],
        "payTo": payment["pay_to"],
        "maxTimeoutSeconds": due["seconds_left"],
        "extra": {"paymentFlow": "upfront", **payer, "confirmations": due["confirmations"]},
    }
    resource = {
        "url": payment["pay_url"].removesuffix("/pay"),
        "description": f"the output of {job['id']}",
        "mimeType": "application/json",
    }
    return {"x402Version": 2, "error": "Payment required", "resource": resource, "accepts": [terms]}


def refused(task: dict[str, Json], transaction: str, error: MarketError) -> dict[str, Json]:
    """Return the metadata after a transaction that did not pay; the terms stay in it."""
    kept = metadata_of(task)
    if error.code in PENDING:
        return {**kept, STATUS: "payment-submitted"}
    reason = str(error.details.get("reason", error.code))
    code = CODES.get(reason, reason.upper())
    attempt = {
        "success": False,
        "errorReason": code,
        "network": task["job"]["payment"]["network"],
        "transaction": transaction,
    }
    earlier = [one for one in kept.get(RECEIPTS, []) if one["transaction"] != transaction]
    return {**kept, STATUS: "payment-failed", ERROR: code, RECEIPTS: [*earlier, attempt]}


def activated(sent: Iterable[tuple[bytes, bytes]]) -> bool:
    """Check whether the headers of a request activate the extension (A2A 1.0 and 0.3)."""
    named = b",".join(value for name, value in sent if name in ACTIVATION).split(b",")
    return URI.encode() in (one.strip() for one in named)


def transaction_in(metadata: Any) -> str | None:
    """Return the payment's transaction hash in metadata; '' for another payload, or None."""
    if member_at(metadata, PAYLOAD) is None:
        return None
    found = member_at(metadata, PAYLOAD, "payload", "transaction")
    return found if isinstance(found, str) else ""


def _receipt(payment: dict[str, Json]) -> dict[str, Json]:
    told = {"transaction": payment["transaction"], "network": payment["network"], "payer": payment["payer_address"]}
    if payment["status"] == "settled":
        return {"success": True, **told}
    reason = CODES["amount_too_low"] if payment["status"] == "partial" else "NOT_DUE"
    return {"success": False, "errorReason": reason, **told}
