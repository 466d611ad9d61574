"""A client of an x402 facilitator, which submits signed authorizations and pays the gas. Its answers are only hints.

Source: the x402 specification, version 2, facilitator interface: POST /verify, POST /settle.
"""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from server.adapters.http import HASH, ServiceClient
from tools.chain.x402_payload import SCHEME
from tools.engine.ports import SettleNotSent, SettleResult, SettleUnknown

TIMEOUT_IN_SECONDS = 60.0  # a facilitator waits for the block
MAX_ANSWER_BYTES = 64 * 1024
MAX_REASON = 200
UNNAMED = "invalid_payload"

_REASON = re.compile(r"[a-z0-9_]{1,100}")  # the form of x402's reason codes


class HttpFacilitator(ServiceClient):
    """The facilitator port over HTTP."""

    not_sent, unknown, max_bytes = SettleNotSent, SettleUnknown, MAX_ANSWER_BYTES

    def __init__(self, url: str, *, timeout_in_seconds: float = TIMEOUT_IN_SECONDS) -> None:
        super().__init__(url, timeout_in_seconds)

    async def settle(self, body: Mapping[str, Any]) -> SettleResult:
        """Submit a payment and return the facilitator's report.

        Raises SettleNotSent if the facilitator certainly did not receive it, and SettleUnknown if that is unknown.
        """
        return _read(*await self.request("POST", "/settle", orjson.dumps(body)))

    async def verify(self, body: Mapping[str, Any]) -> str | None:
        """Ask if a payment would be accepted; return x402's reason if not, otherwise None.

        Raises SettleUnknown if the answer does not say.
        """
        status, found = await self.request("POST", "/verify", orjson.dumps(body))
        if found.get("isValid") is True:
            return None
        if found.get("isValid") is not False:
            raise SettleUnknown(f"HTTP {status} without isValid")
        reason = found.get("invalidReason")
        return reason if isinstance(reason, str) and _REASON.fullmatch(reason) else UNNAMED

    async def networks(self) -> set[str]:
        """Return the networks (CAIP-2) on which it settles the scheme `exact`. Raises like `settle`."""
        _, supported = await self.request("GET", "/supported")
        kinds = supported.get("kinds")
        found = [one for one in kinds if isinstance(one, dict)] if isinstance(kinds, list) else []
        return {str(one.get("network")) for one in found if one.get("scheme") == SCHEME}


def _read(status: int, found: Mapping[str, Any]) -> SettleResult:
    """Read the report; an answer of any status may name the transaction.

    A refusal without a transaction proves nothing: only the chain shows if anything was sent.
    """
    sent = found.get("transaction")
    transaction = sent.lower() if isinstance(sent, str) and HASH.fullmatch(sent) else None
    if found.get("success") is True and transaction is not None:
        return SettleResult(transaction, None)
    reason = found.get("errorReason") or found.get("error") or found.get("invalidReason")
    return SettleResult(transaction, str(reason)[:MAX_REASON] if reason else f"HTTP {status}")
