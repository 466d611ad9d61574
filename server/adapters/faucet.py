"""A client of a faucet for test money, a service with the methods dev_faucet and dev_gas. Answers are not trusted."""

import orjson

from server.adapters.http import HASH, ServiceClient
from tools.engine.ports import FaucetLost, FaucetRefused

TIMEOUT_IN_SECONDS = 20.0
MAX_ANSWER_BYTES = 16 * 1024


class RpcFaucet(ServiceClient):
    """The faucet port over HTTP."""

    not_sent, unknown, max_bytes = FaucetRefused, FaucetLost, MAX_ANSWER_BYTES

    def __init__(self, url: str, *, gives_gas: bool, timeout_in_seconds: float = TIMEOUT_IN_SECONDS) -> None:
        super().__init__(url, timeout_in_seconds)
        self.gives_gas = gives_gas

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
        _, said = await self.request("POST", "", body)
        if said.get("error") is not None:
            raise FaucetRefused(f"{method}: an error")
        result = said.get("result")
        if not isinstance(result, str) or not HASH.fullmatch(result):
            raise FaucetLost(f"{method}: no hash")
        return result.lower()
