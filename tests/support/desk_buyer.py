"""A buyer of the desk's services: a REST client of a served sandbox, with a wallet on its chain."""

import asyncio
from dataclasses import dataclass
from typing import Any, Self

import httpx
from eth_account import Account

from server.demo import Chain, binding

FUNDS = 10_000_000
MOVED = 30.0  # seconds until a job changes; longer means that no worker is on it


@dataclass
class Buyer:
    """A registered buyer with a bound wallet that has money."""

    http: httpx.AsyncClient
    chain: Chain
    wallet: Any

    @classmethod
    async def joined(cls, http: httpx.AsyncClient) -> Self:
        network = (await http.get("/v1/payments", params={"env": "test"})).json()["network"]
        chain = Chain(http, network["rpc_hint"], network["asset"]["address"], network["chain_id"])
        made = (await http.post("/v1/agents", json={"name": "Bo"})).json()
        http.headers["x-api-key"] = made["api_keys"]["test"]
        buyer = cls(http, chain, Account.create())
        await buyer.post("/v1/agents/me/wallet-address", **binding(made["agent"]["id"], buyer.wallet))
        await chain.rpc("dev_gas", buyer.wallet.address)
        await chain.rpc("dev_faucet", buyer.wallet.address, FUNDS)
        return buyer

    async def post(self, path: str, expected: tuple[int, ...] = (200, 201), **body: Any) -> Any:
        answer = await self.http.post(path, json=body)
        assert answer.status_code in expected, answer.text
        return answer.json()

    async def get(self, path: str, **query: Any) -> Any:
        answer = await self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def listings(self, at_least: int) -> dict[str, Any]:
        """Return the operator's listings by service tag, once at least this many are on sale."""
        for _ in range(300):
            found = await self.get("/v1/listings", env="test", limit=100)
            if len(found["data"]) >= at_least:
                break
            await asyncio.sleep(0.2)
        return {one["tags"][0]: one for one in found["data"] if one["first_party"]}

    async def order(self, listing_id: str, given: Any, units: int | None = None) -> Any:
        more = {} if units is None else {"units": units}
        return await self.post("/v1/jobs", listing_id=listing_id, input=given, **more)

    async def known(self, listings: dict[str, str]) -> Self:
        """Make a first payment and return the buyer, because newcomers may hold only one order."""
        job = await self.order(listings["validate-json"], {"schema": {}, "data": 1})
        await self.paid(await self.until(job, "delivered"))
        assert (await self.post(f"/v1/jobs/{job['id']}/accept"))["payment"]["status"] == "paid"
        return self

    async def until(self, job: Any, *statuses: str) -> Any:
        """Wait until the job has one of these statuses; return it."""
        async with asyncio.timeout(MOVED):
            while job["status"] not in statuses:
                job = await self.get(f"/v1/jobs/{job['id']}", wait_seconds=5, since=job["updated_at"])
        return job

    async def paid(self, job: Any) -> Any:
        """Pay the job and return it, revealed."""
        terms = await self.post(f"/v1/jobs/{job['id']}/pay", (402,))
        sent = await self.chain.send_usdc(self.wallet, terms["pay_to"], terms["amount"])
        return await self.post(f"/v1/jobs/{job['id']}/pay", transaction=sent)
