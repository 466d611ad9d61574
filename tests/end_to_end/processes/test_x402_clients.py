"""On `serve --sandbox --desk` the published x402 client buys with USDC and no gas: httpx, requests, version 1."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import requests
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from x402.client import x402Client, x402ClientSync
from x402.http.clients.httpx import x402_httpx_transport
from x402.http.clients.requests import wrapRequestsWithPayment
from x402.http.utils import decode_payment_response_header
from x402.http.x402_http_client import x402HTTPClientSync
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact import register_exact_evm_client

from tests.end_to_end.conformance.run_x402 import on_sale
from tests.end_to_end.processes.test_demo import environment, free_ports, served

ORDER = {"schema": {"type": "object", "required": ["id"]}, "documents": [{"id": 1}, {}]}
SECONDS = 60
VERSION_2 = ("PAYMENT-SIGNATURE", "PAYMENT-RESPONSE", "eip155:84532")
VERSION_1 = ("X-PAYMENT", "X-PAYMENT-RESPONSE", "base-sepolia")


@dataclass
class Came:
    """An answer, and the headers of its request."""

    status: int
    told: Any
    headers: Mapping[str, str]
    sent: Mapping[str, str]


Buy = Callable[[str, LocalAccount], Awaitable[Came]]


class Noting(httpx.AsyncHTTPTransport):
    """A transport that keeps the last request."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.last = request
        return await super().handle_async_request(request)


async def with_httpx(url: str, wallet: LocalAccount) -> Came:
    paying = register_exact_evm_client(x402Client(), EthAccountSigner(wallet))
    noting = Noting()
    transport = x402_httpx_transport(paying, noting)
    async with httpx.AsyncClient(transport=transport, timeout=SECONDS, trust_env=False) as http:
        answer = await http.post(url, json=ORDER)
    return Came(answer.status_code, answer.json(), answer.headers, noting.last.headers)


async def with_requests(url: str, wallet: LocalAccount) -> Came:
    paying = register_exact_evm_client(x402ClientSync(), EthAccountSigner(wallet))
    with requests.Session() as session:
        session.trust_env = False
        wrapRequestsWithPayment(session, paying)
        answer = await asyncio.to_thread(session.post, url, json=ORDER, timeout=SECONDS)
    return Came(answer.status_code, answer.json(), answer.headers, answer.request.headers)


async def as_version_1(url: str, wallet: LocalAccount) -> Came:
    """Buy with the body's terms only: version 1, paid in X-PAYMENT."""
    paying = x402HTTPClientSync(register_exact_evm_client(x402ClientSync(), EthAccountSigner(wallet)))
    async with httpx.AsyncClient(timeout=SECONDS, trust_env=False) as http:
        asked = await http.post(url, json=ORDER)
        assert asked.status_code == 402
        headers, _ = paying.handle_402_response({}, asked.content, url)
        answer = await http.post(url, json=ORDER, headers=headers)
    return Came(answer.status_code, answer.json(), answer.headers, answer.request.headers)


class Place:
    """The running market, its JSON Schema service and its chain."""

    def __init__(self, http: httpx.AsyncClient, service: Any, network: Any) -> None:
        self.http, self.service, self.network = http, service, network
        self.url, self.price = str(service["url"]), int(service["price"])

    async def rpc(self, method: str, *params: object) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return (await self.http.post(self.network["rpc_hint"], json=body)).json()["result"]

    async def held(self, wallet: LocalAccount) -> tuple[int, int]:
        """Return the USDC and the gas of a wallet."""
        asked = {"to": self.network["asset"]["address"], "data": "0x70a08231" + wallet.address[2:].rjust(64, "0")}
        found = await self.rpc("eth_call", asked, "latest"), await self.rpc("eth_getBalance", wallet.address, "latest")
        return int(found[0], 16), int(found[1], 16)


async def opened(http: httpx.AsyncClient) -> Place:
    (service,) = (one for one in await on_sale(http) if "json-schema" in one["tags"])
    return Place(http, service, (await http.get("/v1/payments", params={"env": "test"})).json()["network"])


async def bought(place: Place, buy: Buy, words: tuple[str, str, str]) -> tuple[LocalAccount, Any]:
    """Buy once; repeat the header without content-type.

    The answer is the same and nothing is charged.
    """
    payment, response, network = words
    wallet = Account.create()
    await place.rpc("dev_faucet", wallet.address, 2 * place.price)
    came = await buy(place.url, wallet)
    assert came.status == 200, came.told
    assert [one["valid"] for one in came.told["output"]["results"]] == [True, False]
    settled = decode_payment_response_header(came.headers[response])
    assert (settled.success, settled.network, settled.payer) == (True, network, wallet.address)
    assert (settled.transaction, settled.payer) == (came.told["paid"]["transaction"], came.told["paid"]["payer"])
    again = await place.http.post(place.url, content=json.dumps(ORDER), headers={payment: came.sent[payment]})
    assert "content-type" not in again.request.headers
    assert again.json() == came.told
    assert await place.held(wallet) == (place.price, 0)
    assert not any(secret in came.told["account"] for secret in ("api_keys", "keypair", "secret_key"))
    return wallet, came.told


async def claimed_once(http: httpx.AsyncClient, wallet: LocalAccount, told: Any) -> None:
    """Claim the account of a purchase with its wallet.

    Another wallet cannot claim it, and a second claim is refused.
    """
    thief = Account.create()
    refused = await http.post(
        "/v1/x402/account", json=signed(told, wallet) | {"signature": signed(told, thief)["signature"]}
    )
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "wallet_signature_invalid")
    made = await http.post("/v1/x402/account", json=signed(told, wallet))
    assert made.status_code == 200, made.text
    key = {"X-API-Key": made.json()["api_keys"]["test"]}
    job = (await http.get(f"/v1/jobs/{told['job_id']}", headers=key)).json()
    assert (job["status"], job["output"]) == ("completed", told["output"])
    again = await http.post("/v1/x402/account", json=signed(told, wallet))
    assert (again.status_code, again.json()["error"]["code"]) == (409, "already_claimed")


def signed(told: Any, wallet: LocalAccount) -> dict[str, Any]:
    """Return a claim of a purchase's account as its answer describes, signed by this wallet."""
    now, account = int(time.time()), told["account"]  # noqa: TID251 - the client's own clock
    text = account["claim"]["message"].replace("<public_key_hex or ->", "-").replace("<unix seconds>", str(now))
    signature = Account.sign_message(encode_defunct(text=text), wallet.key).signature
    given = {"agent_id": account["agent_id"], "address": told["paid"]["payer"], "signed_at": now}
    return {**given, "signature": f"0x{bytes(signature).hex()}"}


async def test_the_published_client_buys_and_a_wallet_without_usdc_is_told_so(tmp_path: Path) -> None:
    with free_ports(2) as ports:
        own = environment(tmp_path, ports)
    with served(own, "--desk"):
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{ports[0]}", timeout=SECONDS, trust_env=False) as http:
            place = await opened(http)
            wallet, told = await bought(place, with_httpx, VERSION_2)
            await claimed_once(http, wallet, told)
            await bought(place, with_requests, VERSION_2)
            await bought(place, as_version_1, VERSION_1)
            poor = [await buy(place.url, Account.create()) for buy in (with_httpx, with_requests, as_version_1)]
    for came in poor:
        assert (came.status, "insufficient" in came.told["error"]) == (402, True)
        assert "Put USDC into it" in came.told["hint"]
