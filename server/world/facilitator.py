"""Hands signed authorizations to one x402 facilitator, which sends them and pays the gas. Nothing it answers is believed but as a hint.

Source: the x402 specification, version 2, facilitator interface: POST /settle.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import aiohttp
import orjson

from tools.ports import Settled, SettleLost, SettleNotSent
from tools.rules.x402 import SCHEME

TIMEOUT_IN_SECONDS = 60.0  # a facilitator waits for the block
MAX_ANSWER_BYTES = 64 * 1024
MOST_REASON = 200

_HASH = re.compile(r"0x[0-9a-fA-F]{64}")
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}


class HttpFacilitator:
    """The facilitator port over HTTP. Use it in one event loop; `close` it at the end. Messages never name the URL: it may hold a key."""

    def __init__(self, url: str, *, timeout_in_seconds: float = TIMEOUT_IN_SECONDS) -> None:
        self.url = url.rstrip("/")
        self._timeout = aiohttp.ClientTimeout(total=timeout_in_seconds)
        self._session: aiohttp.ClientSession | None = None

    async def settle(self, body: Mapping[str, Any]) -> Settled:
        """What it says became of this body. SettleNotSent where it certainly never had it; SettleLost where that is not known."""
        return _read(*await self._ask("POST", "/settle", orjson.dumps(body)))

    async def networks(self) -> set[str]:
        """The networks (CAIP-2) on which it says it settles the scheme exact. Raises as `settle` does."""
        status, said = await self._ask("GET", "/supported", None)
        kinds = _object(status, said).get("kinds")
        found = [one for one in kinds if isinstance(one, dict)] if isinstance(kinds, list) else []
        return {str(one.get("network")) for one in found if one.get("scheme") == SCHEME}

    async def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        if self._session is None:  # no connection is kept: one closed as it was picked up again would leave a doubt
            connector = aiohttp.TCPConnector(force_close=True)
            self._session = aiohttp.ClientSession(connector=connector, timeout=self._timeout, trust_env=False)
        try:
            async with self._session.request(
                method, self.url + path, data=body, headers=_HEADERS, allow_redirects=False
            ) as answer:
                return answer.status, await _bounded(answer)
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
            raise SettleNotSent(type(error).__name__) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise SettleLost(type(error).__name__) from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


async def _bounded(answer: aiohttp.ClientResponse) -> bytes:
    said = bytearray()
    async for piece in answer.content.iter_any():
        said += piece
        if len(said) > MAX_ANSWER_BYTES:
            raise SettleLost("the answer is too large")
    return bytes(said)


def _object(status: int, said: bytes) -> dict[str, Any]:
    found: Any = None
    with suppress(orjson.JSONDecodeError):
        found = orjson.loads(said)
    if not isinstance(found, dict):
        raise SettleLost(f"HTTP {status} without a JSON object")
    return found


def _read(status: int, said: bytes) -> Settled:
    """An answer of any status may name the transaction. Without one, a refusal is only that: whether anything was sent, the chain shows."""
    found = _object(status, said)
    sent = found.get("transaction")
    transaction = sent.lower() if isinstance(sent, str) and _HASH.fullmatch(sent) else None
    if found.get("success") is True and transaction is not None:
        return Settled(transaction, None)
    reason = found.get("errorReason") or found.get("error") or found.get("invalidReason")
    return Settled(transaction, str(reason)[:MOST_REASON] if reason else f"HTTP {status}")
