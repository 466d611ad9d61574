"""Clauses of the contract about payments: terms, every check of a transaction, settlements, the record."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_account.messages import encode_defunct

from server.adapters.chain import JsonRpcChain
from storage.vocabulary import Env
from tests.requirements import covers, named
from tests.requirements.probes import forget_wallet
from tests.support import payment_flows
from tests.support.market import Agent, TestMarket
from tests.support.payment_flows import Wallet
from tests.support.trade import PRICE, Trade, binding
from tools.kernel.ids import is_id
from tools.kernel.records import stamp

UNKNOWN = "0x" + "ab" * 32


async def sealed(trade: Trade) -> tuple[Agent, Agent, Any]:
    seller, buyer = await trade.parties()
    return seller, buyer, await trade.job_at("delivered", seller, buyer)


async def prove(trade: Trade, buyer: Agent, job: Any, transaction: str) -> Any:
    return await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=transaction)


async def refused(trade: Trade, buyer: Agent, job: Any, transaction: str) -> Any:
    return await trade.market.refusal("pay_job", by=buyer, job_id=job["id"], transaction=transaction)


def confirmations(trade: Trade, count: int) -> None:
    house = trade.market.market.config
    networks = {**house.networks, Env.TEST: replace(house.networks[Env.TEST], confirmations=count)}
    trade.market.market.services.config = replace(house, networks=networks)


@covers("settlement.field.*", "id.stl", "state.settlement.settled", "record.money", "record.timestamps")
@covers("open_record.job_settlement", "job.payment.settlement", "job.payment.paid_at")
async def test_a_settlement_is_the_transfer_as_the_chain_tells_it(trade: Trade) -> None:
    seller, buyer, job = await sealed(trade)
    sent = await trade.send(buyer, job)
    receipt = trade.evm.receipt(sent)
    block = trade.evm.rpc("eth_getBlockByNumber", receipt["blockNumber"], False)
    now = stamp(trade.market.clock.now())
    paid = await prove(trade, buyer, job, sent)
    found = paid["payment"]["settlement"]
    settlement = {
        "object": "settlement",
        "id": found["id"],
        "job_id": job["id"],
        "kind": "payment",
        "voluntary": False,
        "status": "settled",
        "direction": "out",
        "payer_agent_id": buyer.id,
        "payee_agent_id": seller.id,
        "payer_address": buyer.wallet.address,
        "pay_to": seller.wallet.address,
        "amount": PRICE,
        "expected_amount": PRICE,
        "expected_amount_display": "0.250000 USDC",
        "currency": "USDC",
        "display": "0.250000 USDC",
        "network": "eip155:84532",
        "asset": trade.evm.usdc,
        "transaction": sent,
        "explorer_url": f"https://sepolia.basescan.org/tx/{sent}",
        "block_number": int(receipt["blockNumber"], 16),
        "block_time": stamp(datetime.fromtimestamp(int(block["timestamp"], 16), UTC)),
        "settled_at": now,
        "created_at": now,
    }
    assert found == settlement
    assert set(found) - {"expected_amount_display", "voluntary"} == named("settlement.field")
    assert is_id("stl_", found["id"])
    assert paid["payment"]["paid_at"] == now
    assert (await trade.seen(seller, job))["payment"]["settlement"] == settlement | {"direction": "in"}


@covers("pay.1.terms", "route.jobs.pay", "route.jobs.pay.terms", "error.code.payment_required", "invariant.5.no_fee")
@covers("invariant.5.separate")
@covers(
    "limit.platform_fee", "invariant.1.moves_no_money", "job.action.pay", "payment.status.paid", "payment.status.due"
)
async def test_the_terms_name_the_transfer_and_that_transfer_pays_the_job_whole(trade: Trade) -> None:
    seller, buyer, job = await sealed(trade)
    answer = await trade.market.answer("pay_job", {"job_id": job["id"]}, key=buyer.keys["test"])
    assert (answer.status, answer.error and answer.error["code"]) == (402, "payment_required")
    terms = await trade.market.call("pay_job", by=buyer, job_id=job["id"])
    shown = [terms[name] for name in ("amount", "pay_to", "pay_from", "network", "chain_id", "asset", "pay_by")]
    by = job["payment"]["pay_by"]
    addresses = [seller.wallet.address, buyer.wallet.address]
    assert shown == [PRICE, *addresses, "eip155:84532", 84532, trade.evm.usdc, by]
    assert trade.evm.balance(buyer.wallet) == 10_000_000, "asking moves nothing"
    sent = trade.evm.transfer(buyer.wallet, terms["pay_to"], terms["amount"])
    paid = await prove(trade, buyer, job, sent)
    assert (paid["payment"]["status"], trade.evm.balance(seller.wallet)) == ("paid", PRICE)
    assert trade.evm.balance(buyer.wallet) == 10_000_000 - PRICE


Sends = Callable[[Trade, Agent, Agent], str]
NO_PAYMENT: dict[str, tuple[Sends, str]] = {
    "reverted": (lambda t, s, b: payment_flows.reverted(t.evm, b.wallet, s.wallet), "reverted"),
    "another token": (lambda t, s, b: payment_flows.other_token(t.evm, b.wallet, s.wallet, PRICE), "wrong_asset"),
    "to a stranger": (lambda t, s, b: payment_flows.plain(t.evm, b.wallet, t.evm.person(), PRICE), "wrong_recipient"),
    "by a stranger": (lambda t, s, b: payment_flows.plain(t.evm, t.evm.person(PRICE), s.wallet, PRICE), "wrong_sender"),
}


@pytest.mark.parametrize("name", NO_PAYMENT)
@covers("pay.2.succeeded", "pay.2.asset", "pay.2.recipient", "pay.2.sender", "error.code.payment_invalid")
@covers("pay.6.reverted", "pay.6.wrong_asset", "pay.6.wrong_recipient", "pay.6.wrong_sender")
async def test_a_transaction_that_is_no_payment_is_named_and_leaves_the_job_due(trade: Trade, name: str) -> None:
    send, reason = NO_PAYMENT[name]
    seller, buyer, job = await sealed(trade)
    error = await refused(trade, buyer, job, send(trade, seller, buyer))
    details = error["details"]
    expected = {"wrong_recipient": seller, "wrong_sender": buyer}.get(reason)
    if expected:
        assert details.pop("expected") == [expected.wallet.address]
        (seen,) = details.pop("seen")
        assert seen not in (seller.wallet.address, buyer.wallet.address)
        assert "details.expected" in error["hint"]
    assert (error["code"], details) == ("payment_invalid", {"reason": reason})
    assert await trade.seen(buyer, job) == job
    assert (await trade.pay(buyer, job))["payment"]["status"] == "paid"


@covers("pay.6.self_payment")
async def test_a_buyer_that_took_the_sellers_wallet_pays_itself(trade: Trade) -> None:
    seller, _ = await trade.parties()
    buyer = await trade.market.register("Di")
    job = await trade.job_at("delivered", seller, buyer)
    buyer.wallet = seller.wallet
    await trade.market.call("set_wallet_address", by=buyer, address=buyer.wallet.address, signature=binding(buyer))
    trade.evm.fund(seller.wallet, PRICE)
    sent = payment_flows.self_transfer(trade.evm, seller.wallet, PRICE)
    error = await refused(trade, buyer, job, sent)
    assert (error["code"], error["details"]) == ("payment_invalid", {"reason": "self_payment"})


@covers("pay.2.confirmations", "pay.5.pending", "error.code.transaction_pending")
async def test_the_same_hash_succeeds_once_it_is_confirmed_often_enough(trade: Trade) -> None:
    _, buyer, job = await sealed(trade)
    sent = await trade.send(buyer, job)
    confirmations(trade, 3)
    for confirmed in (1, 2):
        error = await refused(trade, buyer, job, sent)
        told = (error["code"], error["details"]["confirmations"], error["details"]["required"], error["retryable"])
        assert told == ("transaction_pending", confirmed, 3, True)
        trade.evm.mine()
    assert (await prove(trade, buyer, job, sent))["payment"]["status"] == "paid"


@covers("pay.5.not_found", "error.code.transaction_not_found")
async def test_the_same_hash_succeeds_once_it_is_mined(trade: Trade) -> None:
    _, buyer, job = await sealed(trade)
    trade.evm.hold()
    try:
        sent = await trade.send(buyer, job)
        error = await refused(trade, buyer, job, sent)
    finally:
        trade.evm.release()
    assert (error["code"], error["retryable"]) == ("transaction_not_found", True)
    trade.market.clock.pass_seconds(error["details"]["retry_after_seconds"])
    assert (await prove(trade, buyer, job, sent))["payment"]["status"] == "paid"


@covers("pay.7.chain_unavailable", "error.code.chain_unavailable", "error.type.payment_error_502")
async def test_a_chain_that_is_down_refuses_for_now_and_the_payment_stands(trade: Trade) -> None:
    _, buyer, job = await sealed(trade)
    sent = await trade.send(buyer, job)
    kept, down = trade.market.market.world, JsonRpcChain("http://127.0.0.1:9", 84532)
    trade.market.market.services.world = replace(kept, chains={Env.TEST: down})
    answer = await trade.market.answer("pay_job", {"job_id": job["id"], "transaction": sent}, key=buyer.keys["test"])
    await down.close()
    assert answer.error is not None
    assert (answer.status, answer.error["type"], answer.error["code"]) == (502, "payment_error", "chain_unavailable")
    trade.market.market.services.world = kept
    assert (await prove(trade, buyer, job, sent))["payment"]["status"] == "paid"


async def test_where_no_chain_is_configured_nobody_is_told_to_send_anything(trade: Trade) -> None:
    seller, buyer, job = await sealed(trade)
    trade.market.market.services.world = replace(trade.market.market.world, chains={})
    unpaid = await trade.market.refusal("pay_job", by=buyer, job_id=job["id"])
    assert (unpaid["code"], "pay_to" in unpaid) == ("chain_unavailable", False)
    assert unpaid["hint"].startswith("Send nothing")
    ordered = await trade.order(buyer, await trade.listing(seller))
    assert [one["code"] for one in ordered["warnings"]] == ["no_chain"]
    assert "send nothing" in (await trade.market.call("get_payments_info", by=buyer))["summary"]


@covers("invariant.13.stands")
async def test_a_payment_mined_while_the_service_was_down_is_taken_afterwards(trade: Trade) -> None:
    _, buyer, job = await sealed(trade)
    sent = await trade.send(buyer, job)
    again = TestMarket(trade.market.store, trade.market.market.world.chains)
    again.clock.at = trade.market.clock.at
    again.pass_seconds(600)
    paid = await again.call("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    assert (paid["status"], paid["payment"]["status"]) == ("delivered", "paid")


@covers("pay.4.idempotent", "pay.4.other_job", "pay.2.unused", "error.code.transaction_already_used")
async def test_a_hash_pays_one_job_and_may_be_sent_again_for_it(trade: Trade) -> None:
    seller, buyer, job = await sealed(trade)
    other = await trade.job_at("delivered", seller, buyer)
    sent = await trade.send(buyer, job)
    paid = await prove(trade, buyer, job, sent)
    for spelling in (sent, sent[2:], "0x" + sent[2:].upper()):
        assert await prove(trade, buyer, job, spelling) == paid
    assert (await refused(trade, buyer, other, sent))["code"] == "transaction_already_used"
    assert await trade.seen(buyer, other) == other
    for wrong in ("0x" + "ab" * 31, "0x" + "zz" * 32, "ab"):
        error = await refused(trade, buyer, other, wrong)
        assert (error["code"], error["param"]) == ("invalid_request", "transaction")


@covers("pay.8.smart_wallet")
async def test_a_smart_wallet_pays_by_the_mined_transaction_its_owner_sent(trade: Trade) -> None:
    seller, wallet = await trade.agent("Sela"), payment_flows.smart_wallet(trade.evm, 10 * PRICE)
    buyer = await contract_agent(trade, wallet)
    job = await trade.job_at("delivered", seller, buyer)
    sent = payment_flows.smart_wallet_pays(trade.evm, wallet, seller.wallet, PRICE)
    paid = await prove(trade, buyer, job, sent)
    assert paid["payment"]["settlement"]["payer_address"] == wallet.address


@covers("pay.9.authorization")
async def test_a_transfer_that_a_relayer_sent_for_the_buyer_pays_by_its_hash(trade: Trade) -> None:
    seller, buyer, job = await sealed(trade)
    signed = payment_flows.authorization(trade.evm, buyer.wallet, seller.wallet, PRICE)
    sent = payment_flows.relayed(trade.evm, trade.evm.person(), signed)
    paid = await prove(trade, buyer, job, sent)
    assert paid["payment"]["settlement"]["payer_address"] == buyer.wallet.address


@covers("invariant.6.payment_signature", "invariant.6.x_payment", "invariant.6.never_relayed")
@covers("error.code.settle_it_yourself")
async def test_a_payment_authorization_is_refused_with_or_without_a_hash(trade: Trade) -> None:
    _, buyer, job = await sealed(trade)
    sent = await trade.send(buyer, job)
    for given in ({"job_id": job["id"]}, {"job_id": job["id"], "transaction": sent}):
        answer = await trade.market.answer("pay_job", given, key=buyer.keys["test"], payment="AAAA")
        assert (answer.status, answer.error and answer.error["code"]) == (402, "settle_it_yourself")
    assert await trade.seen(buyer, job) == job


@covers("invariant.7.at_payment", "error.code.address_sanctioned")
@pytest.mark.parametrize("side", ["buyer", "seller"])
async def test_a_payment_of_a_listed_wallet_is_refused_and_the_wallet_named(trade: Trade, side: str) -> None:
    seller, buyer, job = await sealed(trade)
    sent = await trade.send(buyer, job)
    listed = (buyer if side == "buyer" else seller).wallet.address.lower()
    trade.market.sanctions.listed.add(listed)
    error = await refused(trade, buyer, job, sent)
    assert (error["code"], error["details"]) == ("address_sanctioned", {"address": listed})
    assert await trade.seen(buyer, job) == job


@covers("wallet_required.pay", "error.code.wallet_address_required", "error.code.seller_has_no_wallet_address")
async def test_paying_needs_a_wallet_on_both_sides(trade: Trade) -> None:
    seller, buyer = await trade.agent("Sela"), await trade.market.register("Bo")
    job = await trade.job_at("delivered", seller, buyer)
    assert (await refused(trade, buyer, job, UNKNOWN))["code"] == "wallet_address_required"
    buyer.wallet = trade.evm.person()
    await trade.bind(buyer)
    other = await trade.job_at("open", seller, buyer)
    await forget_wallet(trade.market, seller)
    trade.market.pass_seconds(601)  # it expires before terms were frozen
    assert (await refused(trade, buyer, other, UNKNOWN))["code"] == "seller_has_no_wallet_address"


@covers("error.code.job_not_payable", "invariant.4.frozen")
async def test_before_payment_is_due_nothing_is_frozen_and_nothing_taken(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    assert (await refused(trade, buyer, job, UNKNOWN))["code"] == "job_not_payable"
    assert (job["payment"]["pay_to"], job["payment"]["pay_from"]) == (None, None)
    await trade.deliver(seller, job)
    frozen = (await trade.seen(buyer, job))["payment"]["pay_to"]
    await forget_wallet(trade.market, seller)
    assert frozen == seller.wallet.address == (await trade.seen(buyer, job))["payment"]["pay_to"]


async def test_who_pays_too_early_is_told_to_wait_and_how(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    terms = await trade.market.refusal("pay_job", by=buyer, job_id=job["id"])
    hashed = await refused(trade, buyer, job, UNKNOWN)
    assert (terms["code"], hashed["code"]) == ("invalid_transition", "job_not_payable")
    assert terms["hint"].startswith("The job waits for the seller to accept.")
    assert terms["hint"].endswith("Available now: cancel, message.")
    for told in (terms, hashed):
        (step,) = told["next_steps"]
        assert (step["tool"], step["arguments"]) == ("get_job", {"job_id": job["id"], "wait_seconds": 20})
    quoted = await trade.order(buyer, await trade.listing(seller, pricing_model="quote", price=None))
    await trade.market.call("quote_job", by=seller, job_id=quoted["id"], price=PRICE)
    mine = await trade.market.refusal("pay_job", by=buyer, job_id=quoted["id"])
    assert ("next_steps" in mine, mine["hint"]) == (False, "Available now: accept_quote, cancel, message.")


async def contract_agent(trade: Trade, wallet: Wallet) -> Agent:
    """Return a buyer whose wallet is a contract."""
    buyer = await trade.market.register("Bo")
    buyer.wallet = wallet.owner
    text = f"service:wallet:{buyer.id}:{wallet.address.lower()}"
    signature = "0x" + bytes(wallet.owner.sign_message(encode_defunct(text=text)).signature).hex()
    await trade.market.call("set_wallet_address", by=buyer, address=wallet.address, signature=signature)
    return buyer
