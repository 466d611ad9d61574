"""Proof of payment by calls, each verdict caused by a real transaction."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any

import orjson
import pytest
from sqlalchemy import select

from storage.query import Query
from storage.tables import SettlementRow
from tests.requirements import covers
from tests.support.market import Agent
from tests.support.payment_flows import allow, pay_and_return
from tests.support.trade import PRICE, Trade, binding
from tools.kernel.keys import binding_message

settlements = Query(select(SettlementRow).order_by(SettlementRow.id))


async def rows(trade: Trade) -> list[tuple[str, int]]:
    found = await trade.market.store.read(lambda tx: tx.all(settlements))
    return [(row.status.value, row.amount) for row in sorted(found, key=lambda row: row.block_number)]


async def prove(trade: Trade, buyer: Agent, job: Any, sent: str) -> tuple[int, Any]:
    answer = await trade.market.answer("pay_job", {"job_id": job["id"], "transaction": sent}, key=buyer.keys["test"])
    return answer.status, orjson.loads(answer.body)


@covers("pay.4.idempotent")
async def test_the_same_hash_again_is_the_same_answer(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    sent = await trade.send(buyer, job)
    first, again = await prove(trade, buyer, job, sent), await prove(trade, buyer, job, sent[2:].upper())
    assert first == again
    assert await rows(trade) == [("settled", PRICE)]


@covers("state.settlement.partial", "state.settlement.partials_add_up", "pay.2.partials", "pay.6.amount_too_low")
async def test_m3_parts_add_up_and_the_last_one_settles_all(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    first = await trade.send(buyer, job, 100_000)
    status, body = await prove(trade, buyer, job, first)
    details = {
        "reason": "amount_too_low",
        "transferred": 100_000,
        "required": PRICE,
        "remaining": 150_000,
        "recorded": True,
    }
    assert (status, body["error"]["code"], body["error"]["details"]) == (402, "payment_invalid", details)
    assert (await prove(trade, buyer, job, first))[1]["error"]["details"] == details, "a repeat never counts twice"
    terms = await trade.market.call("pay_job", by=buyer, job_id=job["id"])
    assert (terms["amount"], terms["already_paid"]) == (150_000, 100_000)
    status, body = await prove(trade, buyer, job, await trade.send(buyer, job))
    assert (status, body["output_sealed"]) == (200, False)
    assert await rows(trade) == [("settled", 100_000), ("settled", 150_000)]


async def test_a_partial_transfer_shown_again_after_the_job_expired_is_owed_back_and_nothing_more_asked(
    trade: Trade,
) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    first = await trade.send(buyer, job, 100_000)
    await prove(trade, buyer, job, first)
    trade.market.pass_seconds(8 * 86_400)
    status, body = await prove(trade, buyer, job, first)
    assert (status, body["error"]["code"], body["error"]["details"]["status"]) == (409, "job_not_payable", "expired")
    assert body["error"]["details"]["settlement"]["amount"] == 100_000
    assert await rows(trade) == [("partial", 100_000)]


@covers("state.settlement.orphaned.second", "refund.due.orphaned")
async def test_m3_a_second_transfer_is_recorded_and_owed_back(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    terms = await trade.market.call("pay_job", by=buyer, job_id=job["id"])
    await trade.pay(buyer, job)
    status, body = await prove(trade, buyer, job, trade.evm.transfer(buyer.wallet, terms["pay_to"], PRICE))
    assert (status, body["refund_due"], body["refund_expected"]) == (200, True, PRICE)
    assert await rows(trade) == [("settled", PRICE), ("orphaned", PRICE)]


async def test_an_overpayment_settles_in_full_and_nothing_is_owed_back(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    status, body = await prove(trade, buyer, job, await trade.send(buyer, job, PRICE + 1))
    assert (status, body["refund_due"]) == (200, False)


@covers("pay.2.net")
async def test_m4_money_that_returns_in_the_same_transaction_does_not_pay(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    splitter = trade.evm.shared("Splitter")
    for holder in (buyer.wallet, seller.wallet):
        allow(trade.evm, holder, splitter)
    status, body = await prove(
        trade, buyer, job, pay_and_return(trade.evm, buyer.wallet, seller.wallet, PRICE, PRICE - 1)
    )
    assert (status, body["error"]["details"]["remaining"]) == (402, PRICE - 1)


async def test_m5_a_payment_mined_in_the_grace_revives_an_expired_job(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    sent = await trade.send(buyer, job)
    trade.market.pass_seconds(900 + 1)
    assert await trade.market.workers.sweep() == 1
    expired = await trade.seen(buyer, job)
    assert (expired["status"], expired["unpaid"], expired["available_actions"]) == ("expired", True, ["pay", "message"])
    trade.market.pass_seconds(30 * 86_400)  # the hash is submitted late, but the block's time decides
    status, body = await prove(trade, buyer, job, sent)
    assert (status, body["status"], body["output"], body["unpaid"]) == (
        200,
        "delivered",
        {"english": "good day"},
        False,
    )


@covers("state.settlement.orphaned.closed")
async def test_m5_a_payment_mined_after_the_grace_is_owed_back(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    terms = await trade.market.call("pay_job", by=buyer, job_id=job["id"])
    trade.evm.warp(900 + 3600 + 60)
    trade.market.clock.at += timedelta(seconds=900 + 3600 + 120)
    status, body = await prove(trade, buyer, job, trade.evm.transfer(buyer.wallet, terms["pay_to"], PRICE))
    assert (status, body["error"]["code"]) == (409, "job_not_payable")
    assert body["error"]["details"]["settlement"]["status"] == "orphaned"
    assert await rows(trade) == [("orphaned", PRICE)]


async def test_m2_the_seller_may_change_the_wallet_while_a_transfer_is_in_flight(trade: Trade) -> None:
    from nacl.signing import SigningKey

    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    sent = await trade.send(buyer, job)
    seller.wallet = trade.evm.person()
    text = binding_message("service", seller.id, seller.wallet.address)
    proof = SigningKey(seller.seed).sign(text.encode()).signature.hex()
    await trade.bind(seller, proof=proof)
    assert (await prove(trade, buyer, job, sent))[0] == 200


@covers("pay.2.sender", "pay.6.wrong_sender")
async def test_m1_a_strangers_transfer_pays_nobodys_job(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    stranger = trade.evm.person(PRICE)
    status, body = await prove(trade, buyer, job, trade.evm.transfer(stranger, seller.wallet, PRICE))
    assert (status, body["error"]["details"]["reason"]) == (402, "wrong_sender")
    assert await rows(trade) == []


@covers("pay.2.mined_after", "pay.6.too_old")
async def test_a_transfer_made_before_the_order_pays_nothing(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    sent = trade.evm.transfer(buyer.wallet, seller.wallet, PRICE)
    await trade.market.workers.check_health()  # the head is known before the order
    job = await trade.job_at("delivered", seller, buyer)
    status, body = await prove(trade, buyer, job, sent)
    assert (status, body["error"]["details"]["reason"]) == (402, "too_old")


@covers("auth.5.leaked_key")
async def test_changing_a_wallet_needs_the_agent_keys_proof(trade: Trade) -> None:
    agent = await trade.agent("Ada")
    agent.wallet = trade.evm.person()
    error = await trade.market.refusal(
        "set_wallet_address", by=agent, address=agent.wallet.address, signature=binding(agent)
    )
    assert (error["code"], error["param"]) == ("invalid_request", "proof")


@pytest.mark.parametrize("parallel", [20])
@covers("pay.2.unused", "pay.4.other_job")
async def test_twenty_parallel_pays_of_one_hash_on_each_of_two_jobs_settle_once(trade: Trade, parallel: int) -> None:
    seller, buyer = await trade.parties()
    one, other = [await trade.job_at("delivered", seller, buyer) for _ in range(2)]
    sent = await trade.send(buyer, one)
    calls = [prove(trade, buyer, job, sent) for _ in range(parallel) for job in (one, other)]
    answers = await asyncio.gather(*calls)
    codes = Counter("paid" if status == 200 else body["error"]["code"] for status, body in answers)
    assert codes == {"paid": parallel, "transaction_already_used": parallel}
    assert await rows(trade) == [("settled", PRICE)]
    events = (await trade.market.call("list_events", by=buyer, types=["job.paid"]))["data"]
    assert len(events) == 1
