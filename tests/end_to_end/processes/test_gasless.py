"""On `serve --sandbox` a buyer without gas signs the terms, and the sandbox's facilitator sends the payment."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
from fastmcp import Client

from emporion_client import LocalWallet
from server.demo import OFFER, PRICE_MINOR, Caller, Peer, bind, settle
from tests.end_to_end.processes.test_demo import environment, free_ports, served
from tests.requirements import covers

Call = Callable[..., Awaitable[Any]]


def over_rest(http: httpx.AsyncClient, key: str) -> Call:
    async def call(path: str, expected: int = 200, **body: Any) -> Any:
        answer = await http.post(path, json=body, headers={"authorization": f"Bearer {key}"})
        assert answer.status_code == expected, answer.text
        return answer.json()

    return call


@covers("pay.9.authorization")
async def test_a_wallet_with_usdc_and_no_gas_pays_by_the_hash_or_without_it(tmp_path: Path) -> None:
    with free_ports(2) as ports:
        own = environment(tmp_path, ports)
    with served(own):
        base = f"http://127.0.0.1:{ports[0]}"
        async with httpx.AsyncClient(base_url=base, timeout=60, trust_env=False) as http, Client(f"{base}/mcp") as mcp:
            seller = Peer(http)
            made = await seller.call("register_agent", name="Sela")
            seller.key = made["api_keys"]["test"]
            await bind(seller, LocalWallet.create())
            listing = await seller.call("create_listing", **OFFER)
            network = (await http.get("/v1/payments", params={"env": "test"})).json()["network"]
            buyer, wallet, ordered = Caller(mcp), LocalWallet.create(), []
            joined = await buyer.call("register_agent", name="Bo")
            buyer.key = joined["api_keys"]["test"]
            rest = over_rest(http, buyer.key)
            await bind(buyer, wallet)
            funds = {"jsonrpc": "2.0", "id": 1, "method": "dev_faucet", "params": [wallet.address, 4 * PRICE_MINOR]}
            await http.post(network["rpc_hint"], json=funds)
            for _ in range(4):
                job = await buyer.call("create_job", listing_id=listing["id"], input={"text": "one two"})
                await seller.call("accept_job", job_id=job["id"])
                await seller.call("deliver_job", job_id=job["id"], output={"words": 2, "longest": "one"})
                ordered.append(job["id"])
            terms = await buyer.call("pay_job", job_id=ordered[0])
            sent = await settle(terms["gasless"], wallet)
            by_mcp = await buyer.call("pay_job", job_id=ordered[0], transaction=sent)
            terms = await rest(f"/v1/jobs/{ordered[1]}/pay", 402)
            sent = await settle(terms["gasless"], wallet)
            by_rest = await rest(f"/v1/jobs/{ordered[1]}/pay", transaction=sent)
            sent = await settle((await rest(f"/v1/jobs/{ordered[2]}/pay", 402))["gasless"], wallet)
            found = await rest(f"/v1/jobs/{ordered[2]}/pay", gasless=True)
            assert found["payment"]["settlement"]["transaction"] == sent
            sent = await settle((await buyer.call("pay_job", job_id=ordered[3]))["gasless"], wallet)
            by_worker = await buyer.call("get_job", job_id=ordered[3])
            while by_worker["payment"]["status"] == "due":
                by_worker = await buyer.call(
                    "get_job", job_id=ordered[3], wait_seconds=10, since=by_worker["updated_at"]
                )
            assert by_worker["payment"]["settlement"]["transaction"] == sent
            asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBalance", "params": [wallet.address, "latest"]}
            gas = (await http.post(network["rpc_hint"], json=asked)).json()["result"]
    for paid in (by_mcp, by_rest, found, by_worker):
        assert (paid["payment"]["status"], paid["output"]) == ("paid", {"words": 2, "longest": "one"})
        assert paid["payment"]["settlement"]["payer_address"] == wallet.address
    assert int(gas, 16) == 0
