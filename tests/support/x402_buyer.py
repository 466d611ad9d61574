"""A buyer without an account: the published x402 client, with a wallet that has USDC and no gas on a served sandbox."""

import time
from dataclasses import dataclass
from typing import Any, Self

import httpx
from eth_account import Account
from eth_account.signers.local import LocalAccount
from x402.client import x402Client
from x402.http.clients.httpx import x402_httpx_transport
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact import register_exact_evm_client

from emporion_client.wallet import CHAINS, USDC
from server.sandbox.genesis import facilitator_key
from tests.end_to_end.processes.test_x402_clients import signed

FUNDS = 1_000_000
SECONDS = 120.0


def opened(url: str, count: int = 6) -> dict[str, Any]:
    """Return the services sold for one payment by tag, once at least `count` are on sale."""
    until = time.monotonic() + SECONDS
    found: list[Any] = []
    while len(found) < count:
        assert time.monotonic() < until, found
        time.sleep(0.2)
        found = httpx.get(f"{url}/v1/x402", params={"env": "test"}, trust_env=False).json()["services"]
    return {one["tags"][0]: one for one in found}


@dataclass
class Purse:
    """A wallet, the market where it buys, and a node of their chain."""

    http: httpx.AsyncClient
    node: str
    wallet: LocalAccount

    @classmethod
    async def filled(cls, http: httpx.AsyncClient) -> Self:
        network = (await http.get("/v1/payments", params={"env": "test"})).json()["network"]
        purse = cls(http, network["rpc_hint"], Account.create())
        await purse.rpc("dev_faucet", purse.wallet.address, FUNDS)
        return purse

    async def rpc(self, method: str, *params: object) -> Any:
        """Call the node of the chain."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = (await self.http.post(self.node, json=body)).json()
        assert "error" not in answer, answer
        return answer["result"]

    async def on_sale(self) -> set[str]:
        index = (await self.http.get("/v1/x402", params={"env": "test"})).json()
        return {one["listing_id"] for one in index["services"]}

    async def buy(self, listing_id: str, given: Any, **query: Any) -> httpx.Response:
        """Buy with the published client; return the answer, also if no payment was asked for."""
        paying = register_exact_evm_client(x402Client(), EthAccountSigner(self.wallet))
        transport = x402_httpx_transport(paying)
        async with httpx.AsyncClient(
            base_url=self.http.base_url, transport=transport, timeout=SECONDS, trust_env=False
        ) as http:
            return await http.post(f"/v1/x402/{listing_id}", json=given, params=query)

    async def claimed(self, told: Any) -> dict[str, str]:
        """Claim the account of a purchase with the wallet's signature; return its key as a header."""
        assert not {"api_keys", "keypair"} & told["account"].keys()
        made = await self.http.post("/v1/x402/account", json=signed(told, self.wallet))
        assert made.status_code == 200, made.text
        return {"x-api-key": made.json()["api_keys"]["test"]}

    async def refused(self, listing_id: str, given: Any, **query: Any) -> tuple[int, str, str]:
        """Buy, check that nothing was charged, and return the error's status, code and message."""
        before = await self.charged()
        answer = await self.buy(listing_id, given, **query)
        error = answer.json()["error"]
        assert await self.charged() == before, error
        return answer.status_code, error["code"], error["message"]

    async def charged(self) -> tuple[int, int]:
        """Return the amount that the wallet paid and the facilitator's number of transactions."""
        sender = facilitator_key().public_key.to_checksum_address()
        sent = await self.rpc("eth_getTransactionCount", sender, "latest")
        return FUNDS - await self.usdc(self.wallet.address), int(sent, 16)

    async def usdc(self, address: str) -> int:
        asked = {"to": USDC[CHAINS["test"]], "data": "0x70a08231" + address[2:].rjust(64, "0")}
        return int(await self.rpc("eth_call", asked, "latest"), 16)

    async def gas(self) -> int:
        return int(await self.rpc("eth_getBalance", self.wallet.address, "latest"), 16)
