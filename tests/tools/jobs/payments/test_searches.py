"""Gas-free payments that the market finds itself: by pay_job with gasless, and by a worker."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from server.adapters.chain import WatchedChain
from storage.query import Query
from storage.tables import PaymentSearchRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tests.support import payment_flows
from tests.support.market import Agent, TestMarket
from tests.support.payment_flows import Authorization
from tests.support.refusals import chain_down, confirmations
from tests.support.trade import PRICE, Trade
from tests.tools.jobs.payments.test_gasless import due, name_facilitator, signed, terms_of
from tools.chain.transfer_verification import ChainDown
from tools.jobs.payments import searches

ROWS: Query[PaymentSearchRow] = Query(select(PaymentSearchRow).order_by(PaymentSearchRow.job_id))
VALID_SECONDS = 900


async def rows(trade: Trade) -> list[PaymentSearchRow]:
    return await trade.market.store.read(lambda tx: tx.all(ROWS))


async def asked(trade: Trade, buyer: Agent, job: Any) -> tuple[int, Any]:
    """Call pay_job with gasless; return the status and the record or the error."""
    answer = await trade.market.answer("pay_job", {"job_id": job["id"], "gasless": True}, key=buyer.keys["test"])
    return answer.status, answer.error or await trade.seen(buyer, job)


async def relayed(trade: Trade, buyer: Agent, job: Any) -> str:
    """Let a facilitator send what the terms give to sign; its answer is lost."""
    terms = await terms_of(trade, buyer, job)
    return payment_flows.relayed(trade.evm, trade.evm.person(), signed(buyer, terms["gasless"]))


async def sweep(trade: Trade) -> int:
    """Search as a worker does, so much later that every search is due."""
    trade.market.clock.pass_seconds(searches.LEASE.total_seconds())
    return await trade.market.workers.search_payments()


def paid(job: Any) -> tuple[str, str, str]:
    return job["status"], job["payment"]["status"], (job["payment"]["settlement"] or {}).get("transaction")


async def test_the_market_finds_the_payment_at_once(trade: Trade) -> None:
    seller, buyer, job = await due(trade)
    sent = await relayed(trade, buyer, job)
    assert len(await rows(trade)) == 1
    status, record = await asked(trade, buyer, job)
    assert (status, paid(record)) == (200, ("delivered", "paid", sent))
    assert (record["output"], trade.evm.balance(seller.wallet)) == ({"english": "good day"}, PRICE)
    assert await rows(trade) == []
    assert await asked(trade, buyer, job) == (200, record)


@pytest.mark.both_databases
async def test_a_worker_finds_and_settles_the_payment_once(trade: Trade) -> None:
    seller, buyer, job = await due(trade)
    sent = await relayed(trade, buyer, job)
    assert [await sweep(trade), await sweep(trade)] == [1, 0]
    assert paid(await trade.seen(buyer, job)) == ("delivered", "paid", sent)
    (one,) = (await trade.market.call("list_settlements", by=seller))["data"]
    assert (one["transaction"], one["status"], one["amount"]) == (sent, "settled", PRICE)
    kinds = [one["type"] for one in (await trade.market.call("list_job_events", by=buyer, job_id=job["id"]))["data"]]
    assert (kinds.count("paid"), await rows(trade)) == (1, [])


async def test_terms_that_came_while_hire_waited_are_searched_for(trade: Trade) -> None:
    name_facilitator(trade.market)
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}, "wait_seconds": 20}
    hiring = asyncio.create_task(trade.market.call("hire", by=buyer, **order))
    while not (found := (await trade.market.call("list_jobs", by=seller))["data"]):  # noqa: ASYNC110 - the database has no event for it
        await asyncio.sleep(0.01)
    assert await rows(trade) == []
    await trade.market.call("deliver_job", by=seller, job_id=found[0]["id"], output={"english": "good day"})
    hired = await hiring
    sent = payment_flows.relayed(trade.evm, trade.evm.person(), signed(buyer, hired["terms"]["gasless"]))
    assert await sweep(trade) == 1
    assert paid(await trade.seen(buyer, hired["job"])) == ("delivered", "paid", sent)


async def test_terms_in_the_answer_to_an_authorization_are_searched_for(trade: Trade) -> None:
    _, buyer, job = await due(trade)
    answer = await trade.market.answer("pay_job", {"job_id": job["id"]}, key=buyer.keys["test"], payment="AAAA")
    assert answer.error is not None
    gasless = answer.error["details"]["gasless"]
    payment_flows.relayed(trade.evm, trade.evm.person(), signed(buyer, gasless))
    assert (await asked(trade, buyer, job))[0] == 200


@pytest.mark.parametrize("by_worker", [True, False], ids=["worker", "call"])
async def test_a_failed_transaction_with_the_nonce_is_skipped(trade: Trade, by_worker: bool) -> None:
    _, buyer, job = await due(trade)
    right = signed(buyer, (await terms_of(trade, buyer, job))["gasless"])
    relayer = trade.evm.person()
    forged = Authorization(right.arguments, bytes(65))
    stray = trade.evm.send(relayer, trade.evm.person().address, right.arguments[5])  # only mentions the nonce
    failed = payment_flows.relayed(trade.evm, relayer, forged)
    assert [trade.evm.receipt(one)["status"] for one in (stray, failed)] == ["0x1", "0x0"]
    status, error = await asked(trade, buyer, job)
    assert (status, error["code"]) == (409, "transaction_not_found")
    sent = payment_flows.relayed(trade.evm, relayer, right)
    if by_worker:
        assert await sweep(trade) == 1
    else:
        assert (await asked(trade, buyer, job))[0] == 200
    assert paid(await trade.seen(buyer, job)) == ("delivered", "paid", sent)


async def test_of_many_transactions_with_the_nonce_in_one_block_only_some_are_judged(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "MATCHES", 2)
    _, buyer, job = await due(trade)
    right = signed(buyer, (await terms_of(trade, buyer, job))["gasless"])
    relayers = [trade.evm.person() for _ in range(4)]
    trade.evm.hold()
    for one in relayers[:3]:
        trade.evm.send(one, one.address, right.arguments[5])
    trade.evm.release()
    reads: list[str] = []
    watch(trade, lambda method: reads.append(method))
    assert (await asked(trade, buyer, job))[0] == 409
    assert reads.count("receipt") == 2
    payment_flows.relayed(trade.evm, relayers[3], right)
    assert (await asked(trade, buyer, job))[0] == 200


def watch(trade: Trade, see: Any) -> None:
    """Call `see` with the name of each read of the chain."""

    async def watched(env: Env, method: str, asked: Any) -> Any:
        see(method)
        return await asked

    world = trade.market.market.world
    chains = {Env.TEST: WatchedChain(world.chains[Env.TEST], Env.TEST, watched)}
    trade.market.market.services.world = replace(world, chains=chains)


async def test_an_authorization_pays_its_own_job_whatever_nonce_is_sent_beside_it(trade: Trade) -> None:
    """The seller knows both nonces and may send one job's authorization with the other's nonce."""
    seller, buyer, wrong = await due(trade)
    beside = (await terms_of(trade, buyer, wrong))["gasless"]["typed_data"]["message"]["nonce"]
    right = await trade.job_at("delivered", seller, buyer)
    given = signed(buyer, (await terms_of(trade, buyer, right))["gasless"])
    call = payment_flows.relaying(given) + bytes.fromhex(beside[2:])
    sent = trade.evm.send(trade.evm.person(), trade.evm.usdc, call)
    assert trade.evm.receipt(sent)["status"] == "0x1"
    assert (await asked(trade, buyer, wrong))[0] == 409
    assert await sweep(trade) == 1
    assert (await trade.seen(buyer, wrong))["payment"]["status"] == "due"
    assert paid(await trade.seen(buyer, right)) == ("delivered", "paid", sent)


async def test_nothing_found_says_when_to_ask_again(trade: Trade) -> None:
    _, buyer, job = await due(trade)
    terms = await terms_of(trade, buyer, job)
    status, error = await asked(trade, buyer, job)
    assert (status, error["code"], error["retryable"]) == (409, "transaction_not_found", True)
    assert error["details"] == {"retry_after_seconds": 3, "valid_before": terms["gasless"]["valid_before"]}
    assert "gasless: true" in error["hint"]


async def test_a_payment_counts_once_it_is_confirmed(trade: Trade) -> None:
    _, buyer, job = await due(trade)
    confirmations(trade, 3)
    await relayed(trade, buyer, job)
    for _ in range(2):
        assert (await asked(trade, buyer, job))[1]["code"] == "transaction_not_found"
        assert await sweep(trade) == 0
        trade.evm.mine()
    assert await sweep(trade) == 1


async def test_after_the_end_pay_job_answers_new_terms(trade: Trade) -> None:
    _, buyer, job = await due(trade)
    before = (await terms_of(trade, buyer, job))["gasless"]["typed_data"]["message"]
    confirmations(trade, 3)
    trade.market.clock.pass_seconds(VALID_SECONDS - 10)
    trade.evm.warp(VALID_SECONDS - 10)
    assert (await asked(trade, buyer, job))[0] == 409
    trade.evm.warp(15)
    assert (await asked(trade, buyer, job))[0] == 409, "the block after the end is not confirmed"
    trade.evm.mine(2)
    status, error = await asked(trade, buyer, job)
    assert (status, error["code"]) == (402, "payment_required")
    (row,) = await rows(trade)
    assert row.nonce == before["nonce"], "so that what was signed twice pays once"
    assert row.valid_before == int(trade.market.clock.now().timestamp()) + VALID_SECONDS
    sent = await relayed(trade, buyer, job)
    trade.evm.mine(2)
    assert paid((await asked(trade, buyer, job))[1]) == ("delivered", "paid", sent)


async def test_without_new_blocks_the_end_comes_by_the_clock(trade: Trade) -> None:
    _, buyer, job = await due(trade)
    await terms_of(trade, buyer, job)
    trade.market.clock.pass_seconds(VALID_SECONDS + 59)
    assert (await asked(trade, buyer, job))[0] == 409
    trade.market.clock.pass_seconds(1)
    assert (await asked(trade, buyer, job))[0] == 402
    trade.market.clock.pass_seconds(VALID_SECONDS + 60)
    assert await sweep(trade) == 0
    assert len(await rows(trade)) == 1, "a chain that stood still may go on with the old time"
    trade.market.clock.pass_seconds(3600)
    assert (await sweep(trade), await rows(trade)) == (0, [])


async def test_a_worker_ends_a_search_that_is_over(trade: Trade) -> None:
    _, buyer, job = await due(trade)
    await terms_of(trade, buyer, job)
    trade.evm.warp(VALID_SECONDS + 30)
    assert (await sweep(trade), await rows(trade)) == (0, [])
    status, error = await asked(trade, buyer, job)
    assert (status, error["code"]) == (402, "payment_required")


async def test_a_payment_by_its_hash_ends_the_search(trade: Trade) -> None:
    _, buyer, job = await due(trade)
    await trade.pay(buyer, job)
    assert await rows(trade) == []


async def test_a_payment_found_after_the_job_expired_revives_it(trade: Trade) -> None:
    _, buyer, job = await due(trade)
    sent = await relayed(trade, buyer, job)
    trade.market.pass_seconds(1000)
    await trade.market.workers.sweep()
    assert (await trade.seen(buyer, job))["status"] == "expired"
    assert await sweep(trade) == 1
    assert paid(await trade.seen(buyer, job)) == ("delivered", "paid", sent)


async def test_less_than_the_price_with_the_nonce_is_recorded_as_a_part(trade: Trade) -> None:
    """The buyer may sign another amount with the same nonce; the rest then has another one."""
    _, buyer, job = await due(trade)
    gasless = (await terms_of(trade, buyer, job))["gasless"]
    gasless["typed_data"]["message"]["value"] = 100_000
    payment_flows.relayed(trade.evm, trade.evm.person(), signed(buyer, gasless))
    status, error = await asked(trade, buyer, job)
    assert (status, error["code"], error["details"]["remaining"]) == (402, "payment_invalid", PRICE - 100_000)
    assert (await asked(trade, buyer, job))[0] == 409, "what is recorded is not found again"
    sent = await relayed(trade, buyer, job)
    assert await sweep(trade) == 1
    assert (await trade.seen(buyer, job))["payment"]["settlement"]["transaction"] == sent


async def test_gasless_and_transaction_exclude_each_other(trade: Trade) -> None:
    _, buyer, job = await due(trade)
    error = await trade.market.refusal(
        "pay_job", by=buyer, job_id=job["id"], gasless=True, transaction="0x" + "ab" * 32
    )
    assert (error["type"], "gasless and transaction exclude each other" in error["message"]) == (
        "validation_error",
        True,
    )


async def test_only_the_buyer_asks(trade: Trade) -> None:
    seller, buyer, job = await due(trade)
    await relayed(trade, buyer, job)
    error = await trade.market.refusal("pay_job", by=seller, job_id=job["id"], gasless=True)
    assert error["code"] == "invalid_transition"
    stranger = await trade.market.register("Eve")
    assert (await trade.market.refusal("pay_job", by=stranger, job_id=job["id"], gasless=True))["code"] == "not_found"


async def test_without_a_facilitator_nothing_is_searched_for(trade: Trade) -> None:
    _, buyer, job = await due(trade, None)
    status, error = await asked(trade, buyer, job)
    assert (status, error["code"], await rows(trade)) == (402, "payment_required", [])


async def test_while_the_chain_is_silent_the_search_stays_where_it_is(trade: Trade) -> None:
    _, buyer, job = await due(trade)
    await relayed(trade, buyer, job)
    before = await rows(trade)
    async with chain_down(trade):
        status, error = await asked(trade, buyer, job)
        assert (status, error["code"]) == (502, "chain_unavailable")
        assert await sweep(trade) == 0
    assert [one.scanned_to for one in await rows(trade)] == [one.scanned_to for one in before]
    assert await sweep(trade) == 1


async def test_a_restart_keeps_the_search(trade: Trade) -> None:
    _, buyer, job = await due(trade)
    sent = await relayed(trade, buyer, job)
    again = TestMarket(trade.market.store, trade.market.market.world.chains)
    again.clock.at = trade.market.clock.at
    assert await again.workers.search_payments() == 1
    assert paid(await trade.seen(buyer, job)) == ("delivered", "paid", sent)


@pytest.mark.both_databases
async def test_two_processes_and_the_buyer_record_one_payment(trade: Trade) -> None:
    seller, buyer, job = await due(trade)
    sent = await relayed(trade, buyer, job)
    other = TestMarket(trade.market.store, trade.market.market.world.chains)
    other.clock.at = trade.market.clock.at
    workers = trade.market.workers, other.workers
    found = await asyncio.gather(*(one.search_payments() for one in workers), asked(trade, buyer, job))
    assert (sum(found[:2]) <= 1, found[2][0]) == (True, 200)
    assert paid(await trade.seen(buyer, job)) == ("delivered", "paid", sent)
    assert len((await trade.market.call("list_settlements", by=seller))["data"]) == 1


async def several(trade: Trade, count: int) -> tuple[list[Agent], list[Any]]:
    """Return buyers and their jobs, whose terms were answered a second apart."""
    name_facilitator(trade.market)
    seller, buyers, jobs = await trade.agent("Sela"), [], []
    for number in range(count):
        buyer = await trade.agent(f"Bo {number}", PRICE)
        buyers.append(buyer)
        jobs.append(await trade.job_at("delivered", seller, buyer))
        await terms_of(trade, buyer, jobs[-1])
        trade.market.clock.pass_seconds(1)
    return buyers, jobs


@pytest.mark.both_databases
async def test_beyond_the_limit_searches_wait_and_the_oldest_come_first(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "OPEN", 2)
    buyers, jobs = await several(trade, 3)
    for buyer, job in zip(buyers, jobs, strict=True):
        terms = await trade.market.call("get_job", by=buyer, job_id=job["id"])
        assert terms["payment"]["status"] == "due"
    gasless = (await terms_of(trade, buyers[2], jobs[2]))["gasless"]
    sent = payment_flows.relayed(trade.evm, trade.evm.person(), signed(buyers[2], gasless))
    status, error = await asked(trade, buyers[2], jobs[2])
    assert (status, error["code"]) == (409, "transaction_not_found")
    assert (error["details"]["retry_after_seconds"], "2 earlier payments" in error["message"]) == (30, True)
    assert await sweep(trade) == 0
    await terms_of(trade, buyers[0], jobs[0])  # a later end, so it goes to the end of the line
    assert await sweep(trade) == 1
    assert paid(await trade.seen(buyers[2], jobs[2])) == ("delivered", "paid", sent)


async def test_a_block_is_read_once_for_all_searches(trade: Trade) -> None:
    buyers, jobs = await several(trade, 3)
    trade.evm.mine(5)
    reads: list[str] = []
    watch(trade, lambda method: reads.append(method))
    began = min(one.scanned_to for one in await rows(trade))
    assert await sweep(trade) == 0
    assert reads.count("whole_block") == trade.evm.head() - began
    assert (await asked(trade, buyers[0], jobs[0]))[0] == 409
    assert reads.count("whole_block") == trade.evm.head() - began
    assert await sweep(trade) == 0
    assert reads.count("whole_block") == trade.evm.head() - began


async def test_many_transactions_with_the_nonce_end_a_step_and_not_the_search(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "MATCHES", 2)
    _, buyer, job = await due(trade)
    right = signed(buyer, (await terms_of(trade, buyer, job))["gasless"])
    relayer = trade.evm.person()
    for _ in range(3):
        trade.evm.send(relayer, relayer.address, right.arguments[5])
    sent = payment_flows.relayed(trade.evm, relayer, right)
    trade.market.clock.pass_seconds(1)
    found = [await trade.market.workers.search_payments() for _ in range(2)]
    assert (found, paid(await trade.seen(buyer, job))) == ([0, 1], ("delivered", "paid", sent))


async def test_a_search_that_is_behind_goes_on_at_once(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "BLOCKS_AT_ONCE", 4)
    _, buyer, job = await due(trade)
    await terms_of(trade, buyer, job)
    trade.evm.mine(9)
    sent = await relayed(trade, buyer, job)
    trade.market.clock.pass_seconds(1)
    found = [await trade.market.workers.search_payments() for _ in range(3)]
    assert (found, paid(await trade.seen(buyer, job))) == ([0, 0, 1], ("delivered", "paid", sent))


async def test_a_transaction_that_cannot_be_judged_stops_only_its_own_search(trade: Trade) -> None:
    buyers, jobs = await several(trade, 2)
    for buyer, job in zip(buyers, jobs, strict=True):
        await relayed(trade, buyer, job)
    trade.market.sanctions.listed.add(buyers[0].wallet.address.lower())
    assert await sweep(trade) == 1
    assert [(await trade.seen(*one))["payment"]["status"] for one in zip(buyers, jobs, strict=True)] == ["due", "paid"]
    trade.market.sanctions.listed.clear()
    assert await sweep(trade) == 1


async def test_a_node_that_answers_another_block_ends_nothing(trade: Trade) -> None:
    _, buyer, job = await due(trade)
    await relayed(trade, buyer, job)
    chain, world = trade.market.market.world.chains[Env.TEST], trade.market.market.world
    reader = chain.whole_block
    answers = iter([None, {"number": "0x1", "timestamp": "0x1"}, {"number": "0xzz"}, ChainDown("whole_block")])

    async def lies(number: int) -> object:
        answer = next(answers, "the truth")
        if isinstance(answer, ChainDown):
            raise answer
        return await reader(number) if answer == "the truth" else answer

    chain.whole_block = lies  # type: ignore[method-assign]
    assert world.chains[Env.TEST] is chain
    codes = [(await asked(trade, buyer, job))[1].get("code") for _ in range(4)]
    assert codes == ["chain_unavailable"] * 4
    assert (await asked(trade, buyer, job))[0] == 200


async def test_a_search_row_outside_its_bounds_is_not_stored(trade: Trade) -> None:
    right = {
        "job_id": "job_1", "env": "test", "nonce": "0x" + "ab" * 32, "scanned_to": 1, "valid_before": 1,
        "look_at": trade.market.clock.now(),
    }  # fmt: skip

    def write(tx: Tx) -> None:
        for wrong in ({"nonce": "0x" + "AB" * 32}, {"nonce": "0xab"}, {"scanned_to": -1}, {"valid_before": 0}):
            with tx.alone() as kept:
                tx.add(PaymentSearchRow(**(right | wrong)))
            assert kept.error is not None, wrong

    await trade.market.store.write(write)
