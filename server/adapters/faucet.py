"""A client of a faucet for test money, a service with the methods dev_faucet and dev_gas. Answers are not trusted."""

import re
from contextlib import suppress
from typing import Any

import aiohttp
import orjson

from tools.engine.ports import FaucetLost, FaucetRefused

TIMEOUT_IN_SECONDS = 20.0
MAX_ANSWER_BYTES = 16 * 1024

_HASH = re.compile(r"0x[0-9a-fA-F]{64}")
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}


class RpcFaucet:
    """The faucet port over HTTP. Use it in one event loop and `close` it.

    Error messages never contain the URL, because it may contain a key.
    """

    def __init__(self, url: str, *, gives_gas: bool, timeout_in_seconds: float = TIMEOUT_IN_SECONDS) -> None:
        self.url, self.gives_gas = url, gives_gas
        self._timeout = aiohttp.ClientTimeout(total=timeout_in_seconds)
        self._session: aiohttp.ClientSession | None = None

    async def give(self, address: str, amount: int) -> str:
        """Send gas if this faucet gives some, then USDC; return the hash of the USDC transfer."""
        if self.gives_gas:
            try:
                await self._ask("dev_gas", address)
            except FaucetLost as lost:
                raise FaucetRefused(str(lost)) from None  # no USDC was requested yet
        return await self._ask("dev_faucet", address, amount)

    async def _ask(self, method: str, *params: object) -> str:
        body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        said: Any = None
        with suppress(orjson.JSONDecodeError):
            said = orjson.loads(await self._post(body))
        if not isinstance(said, dict):
            raise FaucetLost(f"{method}: no JSON object")
        if said.get("error") is not None:
            raise FaucetRefused(f"{method}: an error")
        result = said.get("result")
        if not isinstance(result, str) or not _HASH.fullmatch(result):
            raise FaucetLost(f"{method}: no hash")
        return result.lower()

    async def _post(self, body: bytes) -> bytes:
        if self._session is None:  # no keep-alive: on a stale connection it is unclear if a request arrived
            connector = aiohttp.TCPConnector(force_close=True)
            self._session = aiohttp.ClientSession(connector=connector, timeout=self._timeout, trust_env=False)
        try:
            async with self._session.post(self.url, data=body, headers=_HEADERS, allow_redirects=False) as answer:
                said = bytearray()
                async for piece in answer.content.iter_any():
                    said += piece
                    if len(said) > MAX_ANSWER_BYTES:
                        raise FaucetLost("the answer is too large")
                return bytes(said)
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
            raise FaucetRefused(type(error).__name__) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise FaucetLost(type(error).__name__) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
