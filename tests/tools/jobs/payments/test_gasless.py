"""Payment without gas: one authorization, shown in three places, that a third party submits and that is paid once."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from eth_utils.crypto import keccak
from x402.schemas import PaymentRequired

from storage.vocabulary import Env
from tests.requirements import covers
from tests.support import payment_flows
from tests.support.market import Agent, TestMarket
from tests.support.trade import PRICE, Trade

FACILITATOR = "https://facilitator.example"


def name_facilitator(market: TestMarket, url: str | None = FACILITATOR) -> None:
    house = market.market.config
    networks = {env: replace(network, facilitator_url=url) for env, network in house.networks.items()}
    market.market.services.config = replace(house, networks=networks)


async def due(trade: Trade, url: str | None = FACILITATOR) -> tuple[Agent, Agent, Any]:
    name_facilitator(trade.market, url)
    seller, buyer = await trade.parties()
    return seller, buyer, await trade.job_at("delivered", seller, buyer)


async def terms_of(trade: Trade, buyer: Agent, job: Any) -> Any:
    return await trade.market.call("pay_job", by=buyer, job_id=job["id"])


def signed(buyer: Agent, gasless: Any) -> payment_flows.Authorization:
    return payment_flows.signed_terms(buyer.wallet, gasless["typed_data"])


@covers("pay.9.terms")
async def test_terms_typed_data_and_settle_body_say_exactly_the_same(trade: Trade) -> None:
    seller, buyer, job = await due(trade)
    terms = await terms_of(trade, buyer, job)
    gasless, network = terms["gasless"], trade.market.market.config.networks[Env.TEST]
    until = int(trade.market.clock.now().timestamp()) + 900
    said = f"service:eip3009:v1:{job['id']}:{buyer.wallet.address.lower()}:{PRICE}:0"
    assert gasless["typed_data"]["domain"] == {
        "name": "USDC", "version": "2", "chainId": 84532, "verifyingContract": network.asset,
    }  # fmt: skip
    message = {
        "from": buyer.wallet.address,
        "to": seller.wallet.address,
        "value": PRICE,
        "validAfter": 0,
        "validBefore": until,
        "nonce": f"0x{keccak(text=said).hex()}",
    }
    assert gasless["typed_data"]["message"] == message
    assert gasless["typed_data"]["primaryType"] == "TransferWithAuthorization"
    (accepted,) = terms["x402"]["accepts"]
    assert accepted == {
        "scheme": "exact",
        "network": "eip155:84532",
        "amount": str(terms["amount"]),
        "asset": terms["asset"],
        "payTo": terms["pay_to"],
        "maxTimeoutSeconds": 900,
        "extra": {"name": "USDC", "version": "2"},
    }
    payload = gasless["settle_body"]["paymentPayload"]
    assert gasless["settle_body"]["paymentRequirements"] == payload["accepted"] == accepted
    assert (gasless["settle_body"]["x402Version"], payload["x402Version"], terms["x402"]["x402Version"]) == (2, 2, 2)
    assert payload["resource"] == terms["x402"]["resource"]
    assert payload["resource"]["url"] == job["payment"]["pay_url"]
    assert payload["payload"]["authorization"] == {name: str(value) for name, value in message.items()}
    assert payload["payload"]["signature"] == gasless["signature_placeholder"]
    assert datetime.fromisoformat(gasless["valid_before"]).timestamp() == until
    assert (gasless["settle_url"], gasless["facilitator"]) == (f"{FACILITATOR}/settle", FACILITATOR)
    assert terms["facilitator"]["url"] == FACILITATOR
    assert gasless["method"] == "eip3009_transfer_with_authorization"
    assert {"viem", "ethers", "eth_account", "MetaMask", "client"} == gasless["sign_with"].keys()
    assert PaymentRequired.model_validate(terms["x402"]).accepts[0].amount == str(PRICE), (
        "the published library reads it"
    )


async def test_what_the_terms_give_to_sign_pays_the_job_from_a_wallet_without_gas(trade: Trade) -> None:
    name_facilitator(trade.market)
    seller, buyer = await trade.agent("Sela"), await trade.market.register("Bo")
    buyer.wallet = trade.evm.person(PRICE, gas=False)
    await trade.bind(buyer)
    job = await trade.job_at("delivered", seller, buyer)
    terms = await terms_of(trade, buyer, job)
    sent = payment_flows.relayed(trade.evm, trade.evm.person(), signed(buyer, terms["gasless"]))
    paid = await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    assert (paid["payment"]["status"], paid["payment"]["settlement"]["amount"]) == ("paid", PRICE)
    assert (trade.evm.balance(buyer.wallet), trade.evm.balance(seller.wallet)) == (0, PRICE)


async def test_signing_the_same_terms_twice_pays_once(trade: Trade) -> None:
    seller, buyer, job = await due(trade)
    first = (await terms_of(trade, buyer, job))["gasless"]
    trade.market.clock.pass_seconds(60)
    second = (await terms_of(trade, buyer, job))["gasless"]
    before, after = first["typed_data"]["message"], second["typed_data"]["message"]
    assert (before["nonce"], before["validBefore"] + 60) == (after["nonce"], after["validBefore"])
    relayer = trade.evm.person()
    sent = [payment_flows.relayed(trade.evm, relayer, signed(buyer, one)) for one in (first, second)]
    assert [trade.evm.receipt(one)["status"] for one in sent] == ["0x1", "0x0"]
    assert trade.evm.balance(seller.wallet) == PRICE


async def test_after_a_part_was_paid_the_rest_is_another_authorization(trade: Trade) -> None:
    _, buyer, job = await due(trade)
    whole = (await terms_of(trade, buyer, job))["gasless"]["typed_data"]["message"]
    part = await trade.send(buyer, job, 100_000)
    await trade.market.refusal("pay_job", by=buyer, job_id=job["id"], transaction=part)
    terms = await terms_of(trade, buyer, job)
    rest = terms["gasless"]["typed_data"]["message"]
    said = f"service:eip3009:v1:{job['id']}:{buyer.wallet.address.lower()}:{PRICE - 100_000}:1"
    assert (rest["value"], terms["x402"]["accepts"][0]["amount"]) == (PRICE - 100_000, str(PRICE - 100_000))
    assert (rest["nonce"], rest["nonce"] != whole["nonce"]) == (f"0x{keccak(text=said).hex()}", True)


async def test_without_a_wallet_or_a_facilitator_no_authorization_is_offered(trade: Trade) -> None:
    _, buyer, job = await due(trade, None)
    terms = await terms_of(trade, buyer, job)
    assert (terms["gasless"], terms["facilitator"]) == (None, None)
    assert terms["x402"]["accepts"][0]["payTo"] == terms["pay_to"], "whoever knows a facilitator may use it"
    name_facilitator(trade.market)
    walletless = await trade.market.register("Cy")
    another = await trade.job_at("delivered", await trade.agent("Sel"), walletless)
    terms = await terms_of(trade, walletless, another)
    assert (terms["gasless"], terms["facilitator"]["url"]) == (None, FACILITATOR)


async def test_an_authorization_sent_to_the_market_is_refused_with_what_to_send_to_whom(trade: Trade) -> None:
    seller, buyer, job = await due(trade)
    terms = await terms_of(trade, buyer, job)
    refused = {}
    for name, agent in {"buyer": buyer, "seller": seller}.items():
        answer = await trade.market.answer("pay_job", {"job_id": job["id"]}, key=agent.keys["test"], payment="AAAA")
        assert (answer.status, answer.error and answer.error["code"]) == (402, "settle_it_yourself")
        refused[name] = answer.error and answer.error.get("details")
    assert refused["buyer"] == {
        "settle_body": terms["gasless"]["settle_body"],
        "gasless": terms["gasless"],
        "facilitator": terms["facilitator"],
    }
    assert "gasless" not in refused["seller"]


async def test_where_nothing_could_be_verified_there_is_nothing_to_sign_either(trade: Trade) -> None:
    _, buyer, job = await due(trade)
    chains = trade.market.market.world.chains
    trade.market.market.services.world = replace(trade.market.market.world, chains={})
    answers = [
        await trade.market.answer("pay_job", {"job_id": job["id"]}, key=buyer.keys["test"], payment=header)
        for header in (None, "AAAA")
    ]
    trade.market.market.services.world = replace(trade.market.market.world, chains=chains)
    assert [answer.status for answer in answers] == [502, 402]
    assert not any(b"typed_data" in answer.body for answer in answers)


@covers("payments.gasless", "payments.x402")
async def test_how_to_pay_without_gas_is_told_before_anything_is_due(market: TestMarket) -> None:
    name_facilitator(market)
    info = await market.call("get_payments_info", env="test")
    gasless, x402 = info["gasless"], info["x402"]
    assert (gasless["recommended"], gasless["no_eth_needed"]) == (True, True)
    assert (gasless["facilitator"], gasless["settle_url"]) == (FACILITATOR, f"{FACILITATOR}/settle")
    assert (gasless["method"], bool(gasless["how"]), bool(gasless["caveats"])) == (
        "eip3009_transfer_with_authorization", True, True,
    )  # fmt: skip
    assert (x402["x402_version"], x402["scheme"], x402["network"]) == (2, "exact", "eip155:84532")
    assert (x402["asset"], x402["extra"]) == (info["network"]["asset"]["address"], {"name": "USDC", "version": "2"})
    name_facilitator(market, None)
    info = await market.call("get_payments_info", env="test")
    assert (info["gasless"]["recommended"], info["gasless"]["settle_url"]) == (False, None)
