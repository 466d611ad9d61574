"""A buyer without an account: the published x402 client over httpx, and a wallet on a served sandbox with USDC and no gas."""

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

from server.demo import Chain
from server.sandbox.genesis import facilitator_key

FUNDS = 1_000_000
SECONDS = 120.0


def opened(url: str, count: int = 6) -> dict[str, Any]:
    """What a market sells for one payment, by the tag that names the service, once so much is on sale."""
    until = time.monotonic() + SECONDS
    found: list[Any] = []
    while len(found) < count:
        assert time.monotonic() < until, found
        time.sleep(0.2)
        found = httpx.get(f"{url}/v1/x402", params={"env": "test"}, trust_env=False).json()["services"]
    return {one["tags"][0]: one for one in found}


@dataclass
class Purse:
    """The wallet, the market it buys at, and the chain both are on."""

    http: httpx.AsyncClient
    chain: Chain
    wallet: LocalAccount

    @classmethod
    async def filled(cls, http: httpx.AsyncClient) -> Self:
        network = (await http.get("/v1/payments", params={"env": "test"})).json()["network"]
        chain = Chain(http, network["rpc_hint"], network["asset"]["address"], network["chain_id"])
        purse = cls(http, chain, Account.create())
        await chain.rpc("dev_faucet", purse.wallet.address, FUNDS)
        return purse

    async def on_sale(self) -> set[str]:
        index = (await self.http.get("/v1/x402", params={"env": "test"})).json()
        return {one["listing_id"] for one in index["services"]}

    async def buy(self, listing_id: str, given: Any, **query: Any) -> httpx.Response:
        """What the client gets for its payment, or for nothing where it was never asked for one."""
        paying = register_exact_evm_client(x402Client(), EthAccountSigner(self.wallet))
        transport = x402_httpx_transport(paying)
        async with httpx.AsyncClient(
            base_url=self.http.base_url, transport=transport, timeout=SECONDS, trust_env=False
        ) as http:
            return await http.post(f"/v1/x402/{listing_id}", json=given, params=query)

    async def refused(self, listing_id: str, given: Any, **query: Any) -> tuple[int, str, str]:
        """The status, the code and the message of a purchase that nobody is charged for."""
        before = await self.charged()
        answer = await self.buy(listing_id, given, **query)
        error = answer.json()["error"]
        assert await self.charged() == before, error
        return answer.status_code, error["code"], error["message"]

    async def charged(self) -> tuple[int, int]:
        """What the wallet has paid, and how often any facilitator has sent something to this chain."""
        sender = facilitator_key().public_key.to_checksum_address()
        sent = await self.chain.rpc("eth_getTransactionCount", sender, "latest")
        return FUNDS - await self.usdc(self.wallet.address), int(sent, 16)

    async def usdc(self, address: str) -> int:
        asked = {"to": self.chain.usdc, "data": "0x70a08231" + address[2:].rjust(64, "0")}
        return int(await self.chain.rpc("eth_call", asked, "latest"), 16)

    async def gas(self) -> int:
        return int(await self.chain.rpc("eth_getBalance", self.wallet.address, "latest"), 16)
