"""Voluntary refunds: recorded and counted, without a negative effect on either party."""

from typing import Any

import pytest

from tests.requirements import covers
from tests.support.market import Agent
from tests.support.trade import PRICE, Trade
from tests.tools.operator.test_aggregate_checks import differing


async def standing(trade: Trade, agent: Agent, side: str = "as_seller") -> Any:
    return (await trade.market.call("get_reputation", agent_id=agent.id))["test"][side]


@covers("second.voluntary.recorded")
async def test_a_refund_of_what_nobody_owes_is_recorded_and_told(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    trade.market.pass_seconds(1)
    done = await trade.give_back(seller, buyer, job, 100_000)
    refund = done["refund"]
    assert (refund["voluntary"], refund["amount"], refund["expected_amount"]) == (True, 100_000, 0)
    assert (done["status"], done["refund_due"], done["refund_expected"]) == ("completed", False, None)
    again = await trade.market.call("refund_job", by=seller, job_id=job["id"], transaction=refund["transaction"])
    assert again == done
    for party in (seller, buyer):
        told = (await trade.market.call("list_events", by=party, types=["job.refunded"]))["data"]
        assert [(one["data"]["voluntary"], one["data"]["remaining"]) for one in told] == [(True, 0)]
        listed = (await trade.market.call("list_settlements", by=party))["data"]
        assert [(one["kind"], one["voluntary"]) for one in listed] == [("refund", True), ("payment", False)]
    receipt = await trade.market.call("get_receipt", by=buyer, job_id=job["id"])
    assert [one["voluntary"] for one in receipt["receipt"]["settlements"]] == [False, True]
    owed = await trade.give_back(seller, buyer, await trade.failed(seller, buyer))
    assert owed["refund"]["voluntary"] is False
    assert await differing(trade.market.store) == {}


@covers("second.voluntary.lowers", "second.voluntary.no_mark")
async def test_it_lowers_the_volume_and_is_no_mark_against_the_seller(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    before = await standing(trade, seller)
    await trade.give_back(seller, buyer, job, PRICE)
    after = await standing(trade, seller)
    assert (before["volume_usdc"], after["volume_usdc"]) == (PRICE, 0)
    assert (before["distinct_counterparties"], after["distinct_counterparties"]) == (1, 0)
    for name in ("jobs_failed", "refunds_due", "refunds_made"):
        assert (before[name], after[name]) == (0, 0), name
    assert (await standing(trade, buyer, "as_buyer"))["volume_usdc"] == 0
    listing = await trade.market.call("get_listing", env="test", listing_id=job["listing_id"])
    assert listing["stats"]["volume_usdc"] == 0
    assert (await trade.market.call("get_stats", env="test"))["volume_usdc_completed"] == 0
    assert await differing(trade.market.store) == {}


@covers("second.voluntary.no_mark")
async def test_one_that_is_owed_beside_a_voluntary_one_counts_as_made(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("awaiting_payment", seller, buyer, payment="upfront")
    await trade.pay(buyer, job)
    assert (await trade.give_back(seller, buyer, job, 50_000))["refund"]["voluntary"] is True
    failed = await trade.market.call("cancel_job", by=seller, job_id=job["id"])
    assert failed["refund_expected"] == PRICE - 50_000, "what was sent back is not owed again"
    trade.market.pass_seconds(1)
    done = await trade.give_back(seller, buyer, job, PRICE - 50_000)
    assert (done["refund_due"], done["refund"]["voluntary"]) == (False, False)
    found = await standing(trade, seller)
    assert (found["refunds_due"], found["refunds_made"], found["jobs_failed"]) == (0, 1, 1)
    assert await differing(trade.market.store) == {}


@covers("second.voluntary.too_much")
@pytest.mark.parametrize("before", [0, 100_000])
async def test_more_than_was_paid_is_refused_and_nothing_is_recorded(trade: Trade, before: int) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer)
    trade.evm.fund(seller.wallet, 4 * PRICE)
    if before:
        await trade.give_back(seller, buyer, job, before)
    error = await trade.give_back(seller, buyer, job, PRICE - before + 1)
    assert (error["code"], error["details"]["reason"]) == ("payment_invalid", "amount_too_high")
    assert (error["details"]["required"], error["details"]["recorded"]) == (PRICE - before, False)
    rows = (await trade.market.call("list_settlements", by=seller))["data"]
    assert sum(one["amount"] for one in rows if one["kind"] == "refund") == before
    assert (await trade.give_back(seller, buyer, job, PRICE - before))["refund_due"] is False
    assert (await standing(trade, seller))["volume_usdc"] == 0


@covers("second.voluntary.not_paid")
@pytest.mark.parametrize("status", ["open", "in_progress", "delivered"])
async def test_a_job_that_was_never_paid_has_nothing_to_give_back(trade: Trade, status: str) -> None:
    seller, buyer = await trade.parties()
    trade.evm.fund(seller.wallet, PRICE)
    job = await trade.job_at(status, seller, buyer)
    error = await trade.give_back(seller, buyer, job)
    assert (error["code"], error["details"]["status"]) == ("not_paid", status)
    assert (await trade.market.call("list_settlements", by=seller))["data"] == []


async def test_a_part_of_the_price_of_a_job_that_goes_on_is_not_given_back(trade: Trade) -> None:
    """The rest of the price is still due, and the part counts towards it."""
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    part = await trade.send(buyer, job, 100_000)
    await trade.market.refusal("pay_job", by=buyer, job_id=job["id"], transaction=part)
    assert (await trade.give_back(seller, buyer, job, 100_000))["code"] == "not_paid"
    trade.market.pass_seconds(8 * 86_400)
    given_back = trade.evm.transfer(buyer.wallet, seller.wallet, 100_000)
    assert given_back
    done = await trade.give_back(seller, buyer, job, 100_000)
    assert (done["status"], done["refund"]["voluntary"]) == ("expired", False), "owed since it expired"


@covers("second.voluntary.proof")
async def test_the_proof_is_that_of_any_refund(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    trade.evm.fund(seller.wallet, 4 * PRICE)
    early = trade.evm.transfer(seller.wallet, buyer.wallet, 10_000)
    job = await trade.job_at("completed", seller, buyer)
    paid_with = (await trade.seen(buyer, job))["payment"]["settlement"]["transaction"]
    for sent, code, reason in (
        (early, "payment_invalid", "too_old"),
        (trade.evm.transfer(seller.wallet, trade.evm.person(), 10_000), "payment_invalid", "wrong_recipient"),
        (trade.evm.transfer(trade.evm.person(10_000), buyer.wallet, 10_000), "payment_invalid", "wrong_sender"),
        (trade.evm.transfer(buyer.wallet, buyer.wallet, 10_000), "payment_invalid", "wrong_sender"),
        (paid_with, "transaction_already_used", None),
        ("0x" + "ab" * 32, "transaction_not_found", None),
    ):
        error = await trade.market.refusal("refund_job", by=seller, job_id=job["id"], transaction=sent)
        assert (error["code"], error.get("details", {}).get("reason")) == (code, reason)
    assert (await trade.market.refusal("refund_job", by=buyer, job_id=job["id"], transaction=early))["code"] == (
        "invalid_transition"
    )
