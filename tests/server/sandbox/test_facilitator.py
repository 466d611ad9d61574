"""The sandbox's x402 facilitator against the reference client: settlements, refusals, and restarts."""

import asyncio
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from x402 import x402Client
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact import register_exact_evm_client
from x402.schemas import PaymentRequired

from server.sandbox.genesis import USDC, facilitator_key
from server.sandbox.process import Sandbox, start_sandbox

TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
PRICE = 900_000


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    running = start_sandbox(tmp_path_factory.mktemp("sandbox"), 0)
    yield running
    running.stop()


def get(url: str) -> httpx.Response:
    with httpx.Client(trust_env=False, verify=False, timeout=60) as client:
        return client.get(url)


def post(url: str, body: Any) -> httpx.Response:
    content = {"content": body} if isinstance(body, bytes) else {"json": body}
    with httpx.Client(trust_env=False, verify=False, timeout=60) as client:
        return client.post(url, **content)


def rpc(sandbox: Sandbox, method: str, *params: object) -> Any:
    return post(sandbox.url, {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}).json()["result"]


def balance(sandbox: Sandbox, address: str) -> int:
    data = "0x70a08231" + address[2:].rjust(64, "0")
    return int(rpc(sandbox, "eth_call", {"to": USDC[84532], "data": data}, "latest"), 16)


def buyer_with(sandbox: Sandbox, amount_minor: int) -> LocalAccount:
    """Return an account with USDC but no gas."""
    someone: LocalAccount = Account.create()
    if amount_minor:
        rpc(sandbox, "dev_faucet", someone.address, amount_minor)
    return someone


async def request(buyer: LocalAccount, seller: str, amount_minor: int = PRICE) -> dict[str, Any]:
    """Return the unconfigured reference client's request for a job's payment terms."""
    client = x402Client()
    register_exact_evm_client(client, EthAccountSigner(buyer))
    requirements = {
        "scheme": "exact",
        "network": "eip155:84532",
        "amount": str(amount_minor),
        "asset": USDC[84532],
        "payTo": seller,
        "maxTimeoutSeconds": 300,
        "extra": {"name": "USDC", "version": "2"},
    }
    resource = {"url": "http://127.0.0.1/v1/jobs/job_1/pay"}
    offered = PaymentRequired.model_validate({"x402Version": 2, "accepts": [requirements], "resource": resource})
    payload = await client.create_payment_payload(offered)
    dumped = payload.model_dump(by_alias=True, exclude_none=True)
    return {"x402Version": 2, "paymentPayload": dumped, "paymentRequirements": requirements}


def moved(sandbox: Sandbox, transaction: str) -> list[tuple[str, str, int]]:
    receipt = rpc(sandbox, "eth_getTransactionReceipt", transaction)
    assert (receipt["status"], receipt["transactionHash"]) == ("0x1", transaction)
    return [
        ("0x" + log["topics"][1][-40:], "0x" + log["topics"][2][-40:], int(log["data"], 16))
        for log in receipt["logs"]
        if log["topics"][0] == TRANSFER
    ]


def test_it_says_what_it_supports(sandbox: Sandbox) -> None:
    gas_account = facilitator_key().public_key.to_checksum_address()
    assert get(f"{sandbox.facilitator_url}/supported").json() == {
        "kinds": [{"x402Version": 2, "scheme": "exact", "network": "eip155:84532"}],
        "extensions": [],
        "signers": {"eip155:*": [gas_account]},
    }


async def test_an_authorization_of_a_buyer_without_gas_is_verified_and_settled_once(sandbox: Sandbox) -> None:
    buyer, seller = buyer_with(sandbox, PRICE), Account.create().address
    body = await request(buyer, seller)
    assert post(f"{sandbox.facilitator_url}/verify", body).json() == {"isValid": True, "payer": buyer.address}
    assert balance(sandbox, seller) == 0
    settled = post(f"{sandbox.facilitator_url}/settle", body).json()
    assert settled == {
        "success": True,
        "payer": buyer.address,
        "transaction": settled["transaction"],
        "network": "eip155:84532",
    }
    assert moved(sandbox, settled["transaction"]) == [(buyer.address.lower(), seller.lower(), PRICE)]
    assert rpc(sandbox, "eth_getBalance", buyer.address, "latest") == "0x0"
    before = rpc(sandbox, "eth_blockNumber")
    again = post(f"{sandbox.facilitator_url}/settle", body).json()
    assert (again["success"], again["errorReason"]) == (False, "invalid_exact_evm_nonce_already_used")
    assert (rpc(sandbox, "eth_blockNumber"), balance(sandbox, seller)) == (before, PRICE)


async def test_what_was_signed_cannot_be_changed_and_what_is_not_there_cannot_be_paid(sandbox: Sandbox) -> None:
    seller, thief = Account.create().address, Account.create().address
    good = await request(buyer_with(sandbox, PRICE), seller)
    poor = await request(buyer_with(sandbox, 0), seller)
    value, recipient, forged = deepcopy(good), deepcopy(good), deepcopy(good)
    value["paymentPayload"]["payload"]["authorization"]["value"] = "1"
    recipient["paymentPayload"]["payload"]["authorization"]["to"] = thief
    forged["paymentPayload"]["payload"]["signature"] = poor["paymentPayload"]["payload"]["signature"]
    expected = {
        "invalid_exact_evm_payload_authorization_value_mismatch": value,
        "invalid_exact_evm_payload_recipient_mismatch": recipient,
        "invalid_exact_evm_payload_signature": forged,
        "invalid_exact_evm_insufficient_balance": poor,
    }
    before = rpc(sandbox, "eth_blockNumber")
    for reason, body in expected.items():
        assert post(f"{sandbox.facilitator_url}/verify", body).json()["invalidReason"] == reason
        assert post(f"{sandbox.facilitator_url}/settle", body).json()["errorReason"] == reason
    assert rpc(sandbox, "eth_blockNumber") == before
    assert post(f"{sandbox.facilitator_url}/settle", good).json()["success"] is True


async def test_five_settlements_at_once_all_settle(sandbox: Sandbox) -> None:
    seller = Account.create().address
    bodies = [await request(buyer_with(sandbox, PRICE), seller) for _ in range(5)]
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=60) as client:
        url = f"{sandbox.facilitator_url}/settle"
        replies = await asyncio.gather(*(client.post(url, json=body) for body in bodies))
    assert [reply.json()["success"] for reply in replies] == [True] * 5
    assert len({reply.json()["transaction"] for reply in replies}) == 5
    assert balance(sandbox, seller) == 5 * PRICE


async def test_one_authorization_settled_five_times_at_once_pays_once(sandbox: Sandbox) -> None:
    seller = Account.create().address
    body = await request(buyer_with(sandbox, 5 * PRICE), seller)
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=60) as client:
        url = f"{sandbox.facilitator_url}/settle"
        replies = await asyncio.gather(*(client.post(url, json=body) for _ in range(5)))
    assert sorted(reply.json()["success"] for reply in replies) == [False] * 4 + [True]
    assert balance(sandbox, seller) == PRICE


async def test_hostile_requests_are_answered_and_the_next_honest_one_settles(sandbox: Sandbox) -> None:
    good = await request(buyer_with(sandbox, PRICE), Account.create().address)
    assert {
        post(f"{sandbox.facilitator_url}/{path}", body).status_code
        for path in ("verify", "settle")
        for body in (
            b"",
            b"{",
            b"[]",
            b"null",
            {},
            {"paymentPayload": 1, "paymentRequirements": 2},
            {"paymentPayload": {}},
        )
    } == {400}
    assert post(f"{sandbox.facilitator_url}/settle", b" " * (2**20 + 1)).status_code == 413
    for change in ({}, {"signature": "0x"}, {"signature": "zz", "authorization": {}}, {"authorization": []}):
        odd = deepcopy(good)
        odd["paymentPayload"]["payload"] = change
        verified = post(f"{sandbox.facilitator_url}/verify", odd)
        settled = post(f"{sandbox.facilitator_url}/settle", odd)
        assert (verified.status_code, verified.json()["isValid"]) == (200, False)
        assert (settled.status_code, settled.json()["success"]) == (200, False)
    elsewhere = deepcopy(good)
    elsewhere["paymentRequirements"]["network"] = elsewhere["paymentPayload"]["accepted"]["network"] = "eip155:8453"
    assert post(f"{sandbox.facilitator_url}/settle", elsewhere).json()["success"] is False
    assert post(f"{sandbox.facilitator_url}/settle", good).json()["success"] is True


async def test_trade_restart_the_old_settlement_still_verifies_and_the_next_payment_settles(tmp_path: Path) -> None:
    seller = Account.create().address
    first = start_sandbox(tmp_path, 0)
    try:
        body = await request(buyer_with(first, PRICE), seller)
        old = post(f"{first.facilitator_url}/settle", body).json()["transaction"]
        before = rpc(first, "eth_getTransactionReceipt", old)
    finally:
        first.process.kill()
        first.stop()
    second = start_sandbox(tmp_path, 0)
    try:
        assert rpc(second, "eth_getTransactionReceipt", old) == before
        replayed = post(f"{second.facilitator_url}/settle", body).json()
        assert replayed["errorReason"] == "invalid_exact_evm_nonce_already_used"
        following = await request(buyer_with(second, PRICE), seller)
        new = post(f"{second.facilitator_url}/settle", following).json()["transaction"]
        assert len(moved(second, new)) == 1
        assert balance(second, seller) == 2 * PRICE
    finally:
        second.stop()
