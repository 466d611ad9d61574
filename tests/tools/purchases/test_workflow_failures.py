"""Signed payments when the facilitator, chain, seller or client fails: none is paid twice, none is lost."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from server.workers import Workers
from tests.support.trade import PRICE, Trade
from tests.support.x402_client import WORK, Shop, opened_shop
from tools.purchases.quotes import header

SIGNED_FOR = 900  # seconds


@pytest.fixture
async def shop(trade: Trade) -> Shop:
    return await opened_shop(trade)


async def paying(shop: Shop, paid: str, **given: Any) -> tuple[int, Any]:
    async with shop.open():
        answer = await shop.ask(pay=paid, **given)
    return answer.status, orjson.loads(answer.body)


async def left_behind(shop: Shop, paid: str) -> Any:
    """Order, then disconnect the client before the work is done; return the job."""
    gone = asyncio.Event()
    call = asyncio.create_task(shop.ask(pay=paid, gone=gone.is_set))
    job = await shop.ordered()
    gone.set()
    await call
    return job


async def until_over(shop: Shop) -> None:
    """Pass the expiry of every authorization and run the workers."""
    shop.trade.market.pass_seconds(SIGNED_FOR + 61)
    shop.trade.evm.warp(SIGNED_FOR + 61)
    await shop.trade.market.workers.follow_up_purchases()


async def marks(shop: Shop) -> Any:
    """Return the seller's counts of failures."""
    record = (await shop.trade.market.call("get_reputation", agent_id=shop.seller.id))["test"]["as_seller"]
    names = ("jobs_failed", "jobs_cancelled", "jobs_unpaid", "deliveries_unpaid", "refunds_due", "jobs_disputed")
    return {name: record[name] for name in names}


UNMARKED = dict.fromkeys(
    ("jobs_failed", "jobs_cancelled", "jobs_unpaid", "deliveries_unpaid", "refunds_due", "jobs_disputed"), 0
)


async def test_a_facilitator_that_is_down_is_said_and_the_same_payment_goes_on(shop: Shop) -> None:
    shop.relay.told, paid, income = ["down"], shop.sign(await shop.terms()), shop.income
    status, refused = await paying(shop, paid)
    assert (status, refused["error"]["code"], refused["error"]["retryable"]) == (409, "x402_settle_failed", True)
    assert "nothing was charged" in refused["error"]["message"]
    assert (await paying(shop, paid))[1]["output"] == WORK
    assert (shop.income - income, len(await shop.orders())) == (PRICE, 1)


async def test_a_wallet_without_money_is_said_and_may_be_filled(shop: Shop) -> None:
    shop.wallet = shop.trade.evm.person(gas=False)
    paid = shop.sign(await shop.terms())
    shop.relay.checks, shop.relay.told = ["yes"], ["refuses"]  # as if the wallet was emptied meanwhile
    status, refused = await paying(shop, paid)
    assert (status, refused["error"]["code"]) == (409, "x402_insufficient_funds")
    assert refused["error"]["details"]["reason"] == "invalid_exact_evm_insufficient_balance"
    shop.trade.evm.fund(shop.wallet, PRICE)
    assert (await paying(shop, paid))[0] == 200


async def test_a_wallet_whose_payments_nobody_takes_gets_no_more_work(shop: Shop) -> None:
    shop.relay.told = ["refuses"] * 5
    signed = [shop.sign(await shop.terms()) for _ in range(6)]
    for paid in signed[:5]:
        assert (await paying(shop, paid))[1]["error"]["code"] == "x402_insufficient_funds"
    refused = (await paying(shop, signed[5]))[1]["error"]
    assert (refused["code"], len(await shop.orders())) == ("x402_authorization_in_use", 5)
    assert (await paying(shop, signed[0]))[0] == 200
    assert (await paying(shop, signed[5]))[0] == 200


async def test_who_signs_anew_after_a_refusal_pays_once(shop: Shop) -> None:
    shop.relay.told, income = ["refuses"] * 2, shop.income
    for _ in range(2):
        assert (await paying(shop, shop.sign(await shop.terms())))[0] == 409
    assert (await paying(shop, shop.sign(await shop.terms())))[0] == 200
    for seconds in (11, 60, 300, 400):
        shop.trade.market.pass_seconds(seconds)
        await shop.trade.market.workers.follow_up_purchases()
    assert (shop.income - income, len(shop.relay.bodies)) == (PRICE, 3), "what was refused is not handed over by itself"


@pytest.mark.parametrize("word", ["lost", "denies"])
async def test_a_payment_that_was_sent_is_found_whatever_the_facilitator_says(shop: Shop, word: str) -> None:
    shop.relay.told, income = [word], shop.income
    status, result = await paying(shop, shop.sign(await shop.terms()))
    assert (status, result["paid"]["transaction"]) == (200, shop.relay.sent[0])
    assert shop.income - income == PRICE


@pytest.mark.parametrize(
    "shown",
    [lambda _: None, lambda true: true | {"logs": []}, lambda true: true | {"transactionHash": "0x" + "11" * 32}],
)
async def test_a_payment_whose_receipt_a_node_hides_is_not_passed_over(shop: Shop, shown: Callable[[Any], Any]) -> None:
    shop.relay.told, paid, income = ["lost"], shop.sign(await shop.terms()), shop.income
    shop.node.receipts = shown
    status, refused = await paying(shop, paid)
    assert (status, refused["error"]["code"]) == (502, "chain_unavailable")
    await until_over(shop)
    shop.node.receipts = None
    assert (await paying(shop, paid))[1]["output"] == WORK
    assert shop.income - income == PRICE


async def test_a_payment_that_was_forgotten_is_handed_over_again(shop: Shop) -> None:
    shop.relay.told, paid, income = ["forgets"], shop.sign(await shop.terms()), shop.income
    status, refused = await paying(shop, paid)
    assert (status, refused["error"]["code"]) == (409, "x402_settle_failed")
    assert "sign no other" in refused["error"]["hint"]
    await shop.trade.market.workers.follow_up_purchases()
    assert len(shop.relay.bodies) == 1, "it was tried a moment ago"
    shop.trade.market.pass_seconds(11)
    await shop.trade.market.workers.follow_up_purchases()
    assert (shop.income - income, len(shop.relay.bodies)) == (PRICE, 2)
    assert (await paying(shop, paid))[1]["output"] == WORK
    assert len(shop.relay.bodies) == 2


async def test_a_hash_of_another_transfer_pays_nothing(shop: Shop) -> None:
    evm, stranger = shop.trade.evm, shop.trade.evm.person(PRICE)
    _, first = await shop.bought()
    evm.node.give_gas(shop.wallet.address)
    lies = [
        evm.transfer(stranger, shop.seller.wallet, PRICE),  # another wallet's
        evm.transfer(shop.wallet, shop.seller.wallet, PRICE),  # the payer's own, but not with this authorization
        first["paid"]["transaction"],  # of another purchase
        "0x" + "ab" * 32,  # no transaction
    ]
    for lie in lies[:3]:
        paid, sent = shop.sign(await shop.terms()), len(shop.relay.sent)
        shop.relay.told, shop.relay.lie = ["lies"], lie
        status, refused = await paying(shop, paid)
        assert (status, refused["error"]["code"]) == (409, "x402_settle_failed"), refused
        assert len(shop.relay.sent) == sent
        status, result = await paying(shop, paid)
        assert (status, result["paid"]["transaction"]) == (200, shop.relay.sent[-1])


async def test_a_hash_that_no_block_ever_shows_is_forgotten(shop: Shop) -> None:
    paid = shop.sign(await shop.terms())
    shop.relay.told, shop.relay.lie = ["lies"], "0x" + "ab" * 32
    task = asyncio.create_task(paying(shop, paid))
    while not shop.relay.bodies:  # noqa: ASYNC110 - it is asked by the other task
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    shop.trade.market.pass_seconds(100)
    status, refused = await task
    assert (status, refused["error"]["code"]) == (409, "x402_settle_failed")
    assert (await paying(shop, paid))[0] == 200


async def test_a_refused_payment_ends_with_its_authorization_and_leaves_no_mark(shop: Shop) -> None:
    shop.relay.told, paid, income = ["refuses"] * 200, shop.sign(await shop.terms()), shop.income
    await paying(shop, paid)
    (job,) = await shop.orders()
    assert job["status"] == "delivered"
    await until_over(shop)
    (job,) = await shop.orders()
    assert (job["status"], job["output_sealed"], shop.income) == ("cancelled", True, income)
    assert await marks(shop) == UNMARKED
    status, refused = await paying(shop, paid)
    assert (status, refused["error"]["code"]) == (409, "x402_authorization_used")
    assert "nothing was charged" in refused["error"]["message"]
    assert (await shop.trade.market.workers.follow_up_purchases(), shop.income) == (0, income)


async def test_a_client_that_has_gone_is_not_charged_until_it_comes_back(shop: Shop) -> None:
    paid, income = shop.sign(await shop.terms()), shop.income
    await left_behind(shop, paid)
    async with shop.open():
        await shop.ordered("delivered")
    assert (shop.income, shop.relay.bodies) == (income, [])
    shop.trade.market.pass_seconds(91)
    await shop.trade.market.workers.follow_up_purchases()
    assert ((await shop.orders())[0]["status"], shop.relay.bodies) == ("delivered", [])
    assert (await paying(shop, paid))[1]["output"] == WORK
    assert shop.income - income == PRICE


async def test_a_client_that_never_comes_back_is_never_charged(shop: Shop) -> None:
    paid, income = shop.sign(await shop.terms()), shop.income
    await left_behind(shop, paid)
    async with shop.open():
        await shop.ordered("delivered")
    for seconds in (91, SIGNED_FOR - 101):
        shop.trade.market.pass_seconds(seconds)
        await shop.trade.market.workers.follow_up_purchases()
    (job,) = await shop.orders()
    assert (job["status"], shop.income, shop.relay.bodies) == ("cancelled", income, [])
    assert await marks(shop) == UNMARKED


@pytest.mark.parametrize("begun", [False, True])
async def test_work_that_does_not_come_in_time_is_called_off_for_nothing(shop: Shop, begun: bool) -> None:
    call = asyncio.create_task(shop.ask(pay=shop.sign(await shop.terms())))
    job = await shop.ordered()
    if begun:
        await shop.trade.market.call("accept_job", by=shop.seller, job_id=job["id"])
    shop.trade.market.pass_seconds(91)
    answer = await call
    assert orjson.loads(answer.body)["error"]["code"] == "x402_timeout"
    refused = await shop.trade.market.refusal("deliver_job", by=shop.seller, job_id=job["id"], output=WORK)
    assert (refused["code"], (await shop.orders())[0]["status"]) == ("invalid_transition", "cancelled")
    assert (await marks(shop), shop.relay.bodies) == (UNMARKED, [])


async def test_a_process_that_dies_while_the_facilitator_works_is_followed_by_the_step(shop: Shop) -> None:
    shop.relay.told, paid, income = ["waits"], shop.sign(await shop.terms()), shop.income
    async with shop.open():
        call = asyncio.create_task(shop.ask(pay=paid))
        await shop.relay.at_it.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
    other = Workers(shop.trade.market.market)
    await other.follow_up_purchases()
    assert len(shop.relay.bodies) == 1, "for a moment it is the other's"
    shop.trade.market.pass_seconds(16)
    await other.follow_up_purchases()
    assert (shop.income - income, len(shop.relay.bodies)) == (PRICE, 2)
    (job,) = await shop.orders()
    assert job["status"] == "completed"
    assert (await paying(shop, paid))[1]["output"] == WORK


async def test_a_chain_that_fails_right_after_the_transfer_loses_nothing(shop: Shop) -> None:
    shop.relay.told, paid, income = ["waits"], shop.sign(await shop.terms()), shop.income
    async with shop.open():
        call = asyncio.create_task(shop.ask(pay=paid))
        await shop.relay.at_it.wait()
        shop.node.down = True
        shop.relay.go_on.set()
        answer = await call
    error = orjson.loads(answer.body)["error"]
    assert (answer.status, error["code"], error["retryable"]) == (502, "chain_unavailable", True)
    assert shop.income - income == PRICE
    assert (await paying(shop, paid))[0] == 502
    shop.node.down = False
    assert (await paying(shop, paid))[1]["output"] == WORK
    assert (len(shop.relay.sent), shop.income - income) == (1, PRICE)


async def test_a_chain_that_is_down_before_the_transfer_is_said_and_nothing_is_handed_over(shop: Shop) -> None:
    paid, shop.node.down = shop.sign(await shop.terms()), True
    status, refused = await paying(shop, paid)
    assert (status, refused["error"]["code"], shop.relay.bodies) == (502, "chain_unavailable", [])
    assert "nothing was charged" in refused["error"]["message"]
    shop.node.down = False
    assert (await paying(shop, paid))[0] == 200


async def test_a_job_that_was_paid_by_hash_is_not_paid_again(shop: Shop) -> None:
    buyer = await shop.trade.agent("Bo", 2 * PRICE)
    shop.wallet, income = buyer.wallet, shop.income
    paid = shop.sign(await shop.terms())
    job = await left_behind(shop, paid)
    await shop.trade.market.call("accept_job", by=shop.seller, job_id=job["id"])
    await shop.trade.deliver(shop.seller, job)
    await shop.trade.pay(buyer, job)
    status, refused = await paying(shop, paid)
    assert (status, refused["error"]["code"]) == (409, "x402_authorization_used")
    assert (shop.relay.bodies, shop.income - income) == ([], PRICE)


async def test_a_payment_that_somebody_sent_before_the_work_was_there_counts(shop: Shop) -> None:
    whole, income = shop.payload(await shop.terms()), shop.income
    call = asyncio.create_task(shop.ask(pay=header(whole)))
    await shop.ordered()
    await asyncio.to_thread(shop.relay.send, {"paymentPayload": whole})
    async with shop.open():
        result = orjson.loads((await call).body)
    assert (result["output"], result["paid"]["transaction"]) == (WORK, shop.relay.sent[0])
    assert shop.income - income == PRICE


async def test_on_a_chain_that_stands_still_a_payment_is_waited_for_an_hour(shop: Shop) -> None:
    shop.relay.told, paid = ["refuses"] * 20, shop.sign(await shop.terms())
    await paying(shop, paid)
    for seconds, status in ((SIGNED_FOR + 61, "delivered"), (3540, "cancelled")):
        shop.trade.market.pass_seconds(seconds)
        await shop.trade.market.workers.sweep()
        await shop.trade.market.workers.follow_up_purchases()
        assert (await shop.orders())[0]["status"] == status
    assert await marks(shop) == UNMARKED
