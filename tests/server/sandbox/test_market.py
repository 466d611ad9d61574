"""The market on its sandbox: an authorization settled by the facilitator pays a job, and a restart loses nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from server.adapters.chain import JsonRpcChain
from server.adapters.clock import SystemClock
from server.adapters.faucet import RpcFaucet
from server.sandbox.process import Sandbox, start_sandbox
from storage.store import Store
from storage.vocabulary import Env
from tests.conftest import Opening
from tests.requirements import covers
from tests.server.sandbox.test_facilitator import balance, post, rpc
from tests.support.market import Agent, TestMarket
from tests.support.trade import OFFER, PRICE, binding
from tests.tools.jobs.payments.test_gasless import name_facilitator


@asynccontextmanager
async def market_on(store: Store, sandbox: Sandbox) -> AsyncIterator[TestMarket]:
    reader = JsonRpcChain(sandbox.url, 84532)
    market = TestMarket(store, {Env.TEST: reader})
    name_facilitator(market, sandbox.facilitator_url)
    market.clock.at = SystemClock().now()
    yield market
    await reader.close()


async def agent(market: TestMarket, name: str) -> Agent:
    made = await market.register(name)
    made.wallet = Account.create()
    await market.call("set_wallet_address", by=made, address=made.wallet.address, signature=binding(made))
    return made


async def delivered(market: TestMarket, seller: Agent, buyer: Agent) -> str:
    listing = await market.call("create_listing", by=seller, **OFFER)
    job = await market.call("create_job", by=buyer, listing_id=listing["id"], input={"text": "guten Tag"})
    await market.call("accept_job", by=seller, job_id=job["id"])
    await market.call("deliver_job", by=seller, job_id=job["id"], output={"english": "good day"})
    return str(job["id"])


async def settled(market: TestMarket, buyer: Agent, job_id: str) -> str:
    """Sign the job's terms and let the facilitator settle them; return the hash."""
    gasless = (await market.call("pay_job", by=buyer, job_id=job_id))["gasless"]
    body = deepcopy(gasless["settle_body"])
    signature = Account.sign_typed_data(buyer.wallet.key, full_message=gasless["typed_data"]).signature
    body["paymentPayload"]["payload"]["signature"] = f"0x{signature.hex()}"
    answer = post(gasless["settle_url"], body).json()
    assert answer["success"], answer
    return str(answer["transaction"])


async def pay(market: TestMarket, buyer: Agent, job_id: str, transaction: str) -> Any:
    return await market.call("pay_job", by=buyer, job_id=job_id, transaction=transaction)


async def test_a_buyer_without_gas_pays_through_the_facilitator_and_a_restart_loses_nothing(
    sqlite_url: str, opening: Opening, tmp_path: Path
) -> None:
    store = opening(sqlite_url)
    first = start_sandbox(tmp_path, 0)
    async with market_on(store, first) as market:
        seller, buyer = await agent(market, "Sela"), await agent(market, "Bo")
        rpc(first, "dev_faucet", buyer.wallet.address, 3 * PRICE)
        old, waiting = await delivered(market, seller, buyer), await delivered(market, seller, buyer)
        hash_of_old = await settled(market, buyer, old)
        paid = await pay(market, buyer, old, hash_of_old)
        assert (paid["output"], paid["payment"]["status"]) == ({"english": "good day"}, "paid")
        hash_of_waiting = await settled(market, buyer, waiting)
    first.process.kill()
    first.stop()

    second = start_sandbox(tmp_path, 0)
    try:
        async with market_on(store, second) as market:
            assert balance(second, seller.wallet.address) == 2 * PRICE
            assert rpc(second, "eth_getTransactionReceipt", hash_of_old)["status"] == "0x1"
            assert (await pay(market, buyer, old, hash_of_old))["payment"]["status"] == "paid"
            assert (await pay(market, buyer, waiting, hash_of_waiting))["payment"]["status"] == "paid"
            market.dice.seed = "after the restart"
            job = await delivered(market, seller, buyer)
            after = await pay(market, buyer, job, await settled(market, buyer, job))
            assert after["payment"]["status"] == "paid"
    finally:
        second.stop()


@covers("second.faucet.sandbox")
@pytest.mark.both_databases
async def test_the_sandboxs_own_faucet_serves_the_market_gas_included(store: Store, tmp_path: Path) -> None:
    sandbox = start_sandbox(tmp_path, 0)
    try:
        async with market_on(store, sandbox) as market:
            faucet = RpcFaucet(sandbox.url, gives_gas=True)
            market.market.world = replace(market.market.world, faucet=faucet)
            ada = await agent(market, "Ada")
            made = await market.call("claim_test_funds", by=ada)
            await faucet.close()
        assert (made["gas_included"], balance(sandbox, ada.wallet.address)) == (True, 1_000_000)
        assert int(rpc(sandbox, "eth_getBalance", ada.wallet.address, "latest"), 16) > 0
        assert rpc(sandbox, "eth_getTransactionReceipt", made["transaction"])["status"] == "0x1"
    finally:
        sandbox.stop()
