"""Facilitators that are down, slow, broken or dishonest, over real HTTP.

A buyer never pays twice, no payment is lost, and each answer gives the next step.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.end_to_end.processes.pair import Pair, Wired
from tests.end_to_end.processes.till import WORK, Between, Bought, Till, comes, opened, outcome
from tests.support.faulty_node import FaultyNode, Silence, error
from tests.support.market import OPERATOR_SECRET
from tests.support.trade import PRICE
from tools.purchases.logic import LEASE


@pytest.fixture
async def node(forged: Pair) -> AsyncIterator[FaultyNode]:
    """The faulty node that the market reads. The facilitator uses the chain itself."""
    async with FaultyNode(forged.chain.url) as made:
        yield made


@pytest.fixture
async def till(forged: Pair, node: FaultyNode, sqlite_url: str, tmp_path: Path) -> AsyncIterator[Till]:
    forge = forged.forges[0]
    async with Between(forged.chain.sandbox.facilitator_url) as between:
        given = {"data_dir": str(tmp_path), "test_facilitator_url": between.url, "operator_secret": OPERATOR_SECRET}
        await asyncio.to_thread(forge.start, "whole", url=sqlite_url, rpc_url=node.url, **given)
        try:
            async with (
                Wired([f"http://127.0.0.1:{forge.port}"]) as market,
                opened(market, forged.chain, between, sqlite_url) as made,
            ):
                yield made
        finally:
            await asyncio.to_thread(forge.kill)


def check_says_same_again(answer: httpx.Response, code: str, *said: str) -> None:
    """Check for a temporary refusal that requests the same payment again."""
    told = answer.json()["error"]
    assert (told["code"], told["retryable"], told["details"]["retry_after_seconds"]) == (code, True, 5)
    assert all(one in told["message"] for one in said), told["message"]
    assert "same payment again; sign no other" in told["hint"]


async def check_paid(till: Till, one: Bought, posts: int) -> None:
    """Check the result of a repeat, the number of posts to the facilitator, and one payment."""
    for _ in range(2):
        answer = await till.buy(one)
        assert (outcome(answer), answer.json().get("output")) == ((200, None), WORK)
    assert len(till.between.bodies[one.wallet.address]) == posts
    assert len({str(body) for body in till.between.bodies[one.wallet.address]}) == 1, "it is always the same payment"
    till.check_paid_once(one)


async def test_a_facilitator_that_is_down_charges_nothing_and_is_asked_when_it_is_up(till: Till) -> None:
    one = await till.signed()
    await till.between.close()
    unchecked = await till.buy(one)
    told = unchecked.json()["error"]
    assert (outcome(unchecked), told["retryable"]) == ((502, "chain_unavailable"), True)
    assert "nothing was begun and nothing was charged" in told["message"]
    assert till.rows("jobs") == [], "before any work the facilitator looks at the payment"
    await till.between.open()
    call = till.begin(one)
    await till.job_of(one, "open")
    await till.between.close()
    await till.work(one)
    refused = await call
    check_says_same_again(refused, "x402_settle_failed", "nothing was charged, and the payment was not handed over")
    assert outcome(await till.buy(one)) == (409, "x402_settle_failed")
    assert till.held(one.wallet) == PRICE
    await till.between.open()
    await check_paid(till, one, posts=1)


@pytest.mark.verify
async def test_a_facilitator_that_takes_longer_than_a_lease_is_asked_once(till: Till) -> None:
    one = await till.signed("late")
    first = till.begin(one)
    await till.work(one)
    await till.row_of(one, "settling")
    second = till.begin(one)
    await asyncio.sleep(LEASE.total_seconds() + 3)  # real time, until the lease expires
    assert len(till.between.bodies[one.wallet.address]) == 1
    till.between.go_on.set()
    assert (await first).json()["paid"] == (await second).json()["paid"]
    await check_paid(till, one, posts=1)


@pytest.mark.parametrize("word", ["fails", "lost"])
async def test_what_was_sent_and_not_said_is_found_on_the_chain(till: Till, word: str) -> None:
    one = await till.signed(word)
    answer = await till.done(one)
    assert (outcome(answer), answer.json().get("output")) == ((200, None), WORK)
    await check_paid(till, one, posts=1)


async def test_what_was_neither_sent_nor_said_is_handed_over_again(till: Till) -> None:
    one, alone = await till.signed("drops"), await till.signed("drops")
    refused, _ = await till.done(one), await till.done(alone)
    check_says_same_again(refused, "x402_settle_failed", "may still be taken until Unix second", "sign no other before")
    await check_paid(till, one, posts=2)
    await till.job_of(alone, "completed")  # without another request
    await check_paid(till, alone, posts=2)


async def test_the_hash_of_another_transfer_pays_nothing(till: Till) -> None:
    """A stranger's transfer of the same amount, and another purchase's transfer."""
    stranger, honest = till.chain.person(PRICE), await till.signed()
    theirs = (await till.done(honest)).json()["paid"]["transaction"]
    for lie in (till.chain.transfer(stranger, till.seller.wallet.address, PRICE), theirs):
        till.between.lie = lie
        one = await till.signed("lies")
        refused = await till.done(one)
        check_says_same_again(refused, "x402_settle_failed", "the chain shows no such payment", "sign no other before")
        assert till.held(one.wallet) == PRICE
        await check_paid(till, one, posts=2)
    till.check_paid_once(honest)


@pytest.mark.verify
async def test_a_hash_of_nothing_is_doubted_in_a_while_and_the_payment_handed_over_again(till: Till) -> None:
    till.between.lie = "0x" + "5" * 64
    one = await till.signed("lies")
    answer = await till.done(one)
    if answer.status_code != 200:  # unless the worker, which also distrusts the hash, was faster
        check_says_same_again(answer, "x402_settle_failed", "the chain shows no such payment", "sign no other before")
    await check_paid(till, one, posts=2)


async def test_a_facilitator_that_says_it_sent_what_it_sent_before_pays_nothing_more(till: Till) -> None:
    """The first answer is lost and the market cannot read the chain.

    To the second post, the facilitator names the same transfer.
    """
    one = await till.signed("held", usdc_minor=3 * PRICE)
    call = till.begin(one)
    await till.work(one)
    await comes(lambda: till.held(one.wallet) == 2 * PRICE)
    sent = till.chain.rpc("eth_getBlockByNumber", "latest", True)["transactions"][-1]["hash"]
    till.between.lie = sent
    till.between.told[one.wallet.address].append("lies")
    await till.between.close()
    await till.between.open()
    assert outcome(await call) == (200, None)
    answers = await asyncio.gather(*(till.buy(one) for _ in range(3)))
    assert {each.json()["paid"]["transaction"] for each in answers} == {sent}
    assert till.held(one.wallet) == 2 * PRICE


async def test_a_node_that_fails_after_the_broadcast_leaves_it_open_and_the_same_payment_gets_the_result(
    till: Till, node: FaultyNode
) -> None:
    for fault in (error(-32000, "header not found"), lambda _: Silence.DROP):
        one = await till.signed()
        call = till.begin(one)
        await till.job_of(one, "open")
        node.fault("eth_getTransactionReceipt", fault)
        await till.work(one)
        refused = await call
        assert refused.status_code == 502
        check_says_same_again(refused, "chain_unavailable")
        assert till.held(one.wallet) == 0, "it was sent"
        node.heal()
        await check_paid(till, one, posts=1)
