"""Clauses of the contract about refunds and the list of transfers."""

import asyncio
from typing import Any

import pytest
from nacl.signing import SigningKey

from tests.requirements import covers
from tests.support.panels import Court, evaluator
from tests.support.trade import PRICE, Trade


async def settlements(trade: Trade, agent: Any, **given: Any) -> Any:
    return (await trade.market.call("list_settlements", by=agent, **given))["data"]


@covers("route.jobs.refund", "refund.transfer", "job.action.refund", "open.refund", "open_record.job_refund")
@covers("event.kind.job.refunded", "wallet_required.refund")
async def test_a_seller_sends_back_what_it_owes(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.failed(seller, buyer)
    assert (job["refund_expected"], job["available_actions"]) == (PRICE, ["refund", "message"])
    done = await trade.give_back(seller, buyer, job)
    assert (done["refund_due"], done["refund_expected"], done["available_actions"]) == (False, None, ["message"])
    refund = done["refund"]
    assert (refund["kind"], refund["status"], refund["amount"], refund["direction"]) == (
        "refund", "settled", PRICE, "out",
    )  # fmt: skip
    assert (refund["payer_agent_id"], refund["payee_agent_id"]) == (seller.id, buyer.id)
    assert done["payment"]["refund"] == refund
    again = await trade.market.call("refund_job", by=seller, job_id=job["id"], transaction=refund["transaction"])
    assert again == done, "the same hash again is safe"
    told = (await trade.market.call("list_events", by=buyer, types=["job.refunded"]))["data"]
    assert [(one["data"]["amount"], one["data"]["remaining"]) for one in told] == [(PRICE, 0)]
    assert (await trade.market.refusal(
        "refund_job", by=seller, job_id=job["id"], transaction="0x" + "ab" * 32))["code"] == "transaction_not_found"  # fmt: skip


async def test_m8_short_refunds_add_up_and_say_what_is_left(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.failed(seller, buyer)
    short = await trade.give_back(seller, buyer, job, 100_000)
    assert (short["code"], short["details"]["reason"]) == ("payment_invalid", "amount_too_low")
    assert (short["details"]["remaining"], short["details"]["recorded"]) == (PRICE - 100_000, True)
    assert (await trade.seen(buyer, job))["refund_expected"] == PRICE - 100_000
    done = await trade.give_back(seller, buyer, job, PRICE - 100_000)
    assert done["refund_due"] is False


async def test_m9_several_obligations_are_each_owed_and_none_twice(trade: Trade) -> None:
    """An orphaned payment and a failed job are both owed in full, and neither is owed again."""
    seller, buyer = await trade.parties()
    job = await trade.job_at("awaiting_payment", seller, buyer, payment="upfront")
    await trade.pay(buyer, job)
    stray = trade.evm.transfer(buyer.wallet, seller.wallet, 40_000)
    await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=stray)
    assert (await trade.seen(seller, job))["refund_expected"] == 40_000
    assert (await trade.give_back(seller, buyer, job, 40_000))["refund_due"] is False
    failed = await trade.market.call("cancel_job", by=seller, job_id=job["id"])
    assert failed["refund_expected"] == PRICE
    assert (await trade.give_back(seller, buyer, job))["refund_expected"] is None


async def test_more_than_is_owed_settles_it_and_nothing_is_owed_the_other_way(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    first, second = [await trade.failed(seller, buyer) for _ in range(2)]
    done = await trade.give_back(seller, buyer, first, PRICE + 5)
    assert (done["refund_expected"], done["refund"]["amount"]) == (None, PRICE + 5)
    assert (await trade.seen(seller, second))["refund_expected"] == PRICE


async def test_a_refund_may_come_from_either_wallet_and_go_to_whichever_paid(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.failed(seller, buyer)
    paid_from = buyer.wallet
    for agent in (seller, buyer):
        old, agent.wallet = agent.wallet, trade.evm.person(10_000_000)
        text = f"service:wallet:{agent.id}:{agent.wallet.address.lower()}"
        await trade.bind(agent, proof=SigningKey(agent.seed).sign(text.encode()).signature.hex())
        assert old != agent.wallet
    sent = trade.evm.transfer(seller.wallet, paid_from, PRICE)
    done = await trade.market.call("refund_job", by=seller, job_id=job["id"], transaction=sent)
    assert done["refund_due"] is False


async def test_a_transfer_from_before_the_payment_is_no_refund(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    trade.evm.fund(seller.wallet, PRICE)
    early = trade.evm.transfer(seller.wallet, buyer.wallet, PRICE)
    job = await trade.failed(seller, buyer)
    error = await trade.market.refusal("refund_job", by=seller, job_id=job["id"], transaction=early)
    assert (error["code"], error["details"]["reason"]) == ("payment_invalid", "too_old")


@covers("invariant.7.at_refund")
@pytest.mark.parametrize("listed", ["seller", "buyer"])
async def test_a_refund_from_or_to_a_listed_wallet_is_refused_before_the_chain_is_asked(
    trade: Trade, listed: str
) -> None:
    parties = dict(zip(("seller", "buyer"), await trade.parties(), strict=True))
    job = await trade.failed(parties["seller"], parties["buyer"])
    trade.market.sanctions.listed.add(parties[listed].wallet.address.lower())
    error = await trade.market.refusal(
        "refund_job", by=parties["seller"], job_id=job["id"], transaction="0x" + "ab" * 32
    )
    assert error["code"] == "address_sanctioned"


async def test_twenty_parallel_refunds_by_one_hash_are_one(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    jobs = [await trade.failed(seller, buyer) for _ in range(2)]
    sent = trade.evm.transfer(seller.wallet, buyer.wallet, PRICE)
    given = [{"job_id": jobs[n % 2]["id"], "transaction": sent} for n in range(40)]
    answers = await asyncio.gather(*(trade.market.answer("refund_job", one, key=seller.keys["test"]) for one in given))
    assert sorted({answer.status for answer in answers}) == [200, 409]
    owed = [(await trade.seen(buyer, job))["refund_expected"] for job in jobs]
    assert sorted(owed, key=str) == [PRICE, None]


@covers("settlements.route")
async def test_settlements_are_listed_newest_first_from_both_sides(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.failed(seller, buyer)
    await trade.give_back(seller, buyer, job)
    for agent, directions in ((seller, ["out", "in"]), (buyer, ["in", "out"])):
        listed = await settlements(trade, agent)
        assert [one["kind"] for one in listed] == ["refund", "payment"]
        assert [one["direction"] for one in listed] == directions
        pages, cursor = [], {}
        for _ in range(2):
            page = await trade.market.call("list_settlements", by=agent, limit=1, **cursor)
            pages += page["data"]
            cursor = {"cursor": page["next_cursor"]}
        assert (pages, page["has_more"]) == (listed, False)
    assert await settlements(trade, await trade.market.register("Cy")) == []
    assert (await trade.market.call("list_settlements", by=seller, on="live"))["data"] == []


async def test_a_stray_transfer_sent_back_leaves_a_listings_volume_as_it_was(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    stray = trade.evm.transfer(buyer.wallet, seller.wallet, 10_000)
    await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=stray)
    await trade.give_back(seller, buyer, job, 10_000)
    listing = await trade.market.call("get_listing", env="test", listing_id=job["listing_id"])
    assert listing["stats"]["volume_usdc"] == PRICE


async def test_more_sent_back_than_was_stray_lowers_the_volume(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    stray = trade.evm.transfer(buyer.wallet, seller.wallet, 10_000)
    await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=stray)
    await trade.give_back(seller, buyer, job, 60_000)
    listing = await trade.market.call("get_listing", env="test", listing_id=job["listing_id"])
    assert listing["stats"]["volume_usdc"] == PRICE - 50_000


async def test_more_sent_back_than_was_paid_lowers_the_volume_to_nothing_and_no_further(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    stray = trade.evm.transfer(buyer.wallet, seller.wallet, 10_000)
    await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=stray)
    trade.evm.fund(seller.wallet, 20 * PRICE)
    await trade.give_back(seller, buyer, job, 20 * PRICE)
    listing = await trade.market.call("get_listing", env="test", listing_id=job["listing_id"])
    sold = (await trade.market.call("get_reputation", agent_id=seller.id))["test"]["as_seller"]
    assert listing["stats"]["volume_usdc"] == sold["volume_usdc"] == 0


async def test_a_stray_transfer_that_went_back_takes_nothing_from_the_markets_volume(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("revealed", seller, buyer)
    stray = trade.evm.transfer(buyer.wallet, seller.wallet, 40_000)
    await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=stray)
    assert (await trade.give_back(seller, buyer, job, 40_000))["refund_due"] is False
    await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    stats = await trade.market.call("get_stats", env="test")
    assert (stats["volume_usdc_completed"], stats["settlements"]) == (PRICE, 2)


async def test_what_a_verdict_by_deadline_owes_is_sent_back_before_a_sweep_has_written_it(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    judges = {one.id: one for one in [await evaluator(trade) for _ in range(6)]}
    court = await Court.of(trade, seller, buyer, judges, price=PRICE)
    first, *_ = await court.panel()
    await court.vote(first, "buyer")
    await court.window_passes()
    await court.window_passes(swept=False)
    seen = await trade.seen(seller, court.job)
    assert (seen["status"], seen["refund_due"], "refund" in seen["available_actions"]) == ("resolved", True, True)
    after = await trade.give_back(seller, buyer, court.job)
    assert (after["status"], after["refund_due"]) == ("resolved", False)
