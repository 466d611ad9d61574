"""A client of a faucet for test money, a service with the methods dev_faucet and dev_gas. Answers are not trusted."""

import orjson

from server.adapters.http import HASH, ServiceClient
from tools.engine.ports import FaucetLost, FaucetRefused

TIMEOUT_IN_SECONDS = 20.0
MAX_ANSWER_BYTES = 16 * 1024


class RpcFaucet:
    """The faucet port over HTTP. Use it in one event loop and `close` it.

    Error messages never contain the URL, because it may contain a key.
    """

    def __init__(self, url: str, *, gives_gas: bool, timeout_in_seconds: float = TIMEOUT_IN_SECONDS) -> None:
        self.url, self.gives_gas = url, gives_gas
        self._http = ServiceClient(
            FaucetRefused, FaucetLost, timeout_in_seconds=timeout_in_seconds, max_bytes=MAX_ANSWER_BYTES
        )
        self.close = self._http.close

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
        _, said = await self._http.request("POST", self.url, body)
        if said.get("error") is not None:
            raise FaucetRefused(f"{method}: an error")
        result = said.get("result")
        if not isinstance(result, str) or not HASH.fullmatch(result):
            raise FaucetLost(f"{method}: no hash")
        return result.lower()
