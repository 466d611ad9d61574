"""The whole trade by calls: order, accept, deliver sealed, pay, reveal, accept, review, receipt."""

import json
import re
from hashlib import sha256
from textwrap import dedent
from typing import Any

import pytest
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from protocol.docs.skill import skill_source
from tests.requirements import covers
from tests.support.trade import PRICE, Trade
from tools.kernel.canonical_json import canonical

pytestmark = pytest.mark.both_databases


@covers("service.2.sealed", "service.4.proof", "service.6.receipts")
async def test_two_strangers_trade_and_the_receipt_verifies_offline(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    found = await trade.market.call("search_listings", env="test", q="translate english")
    assert [one["id"] for one in found["data"]] == [listing["id"]]

    job = await trade.order(buyer, listing)
    assert (job["status"], job["available_actions"], job["waiting_on"]["who"]) == (
        "open",
        ["cancel", "message"],
        "seller",
    )
    accepted = await trade.market.call("accept_job", by=seller, job_id=job["id"])
    assert (accepted["status"], accepted["available_actions"]) == ("in_progress", ["deliver", "cancel", "message"])

    await trade.deliver(seller, job)
    sealed = await trade.seen(buyer, job)
    work = canonical({"english": "good day"})
    assert (sealed["status"], sealed["output"], sealed["output_sealed"]) == ("delivered", None, True)
    assert (sealed["output_hash"], sealed["output_salt"], sealed["output_bytes"]) == (None, None, 1024)
    assert (sealed["payment"]["status"], sealed["available_actions"]) == ("due", ["pay", "cancel", "message"])

    terms = await trade.market.call("pay_job", by=buyer, job_id=job["id"])
    assert (terms["object"], terms["amount"], terms["pay_to"]) == ("payment_terms", PRICE, seller.wallet.address)
    paid = await trade.pay(buyer, job)
    assert (paid["status"], paid["output"], paid["payment"]["status"]) == ("delivered", {"english": "good day"}, "paid")
    assert (paid["output_hash"], paid["output_bytes"]) == (sha256(work).hexdigest(), len(work))
    assert skill_function("revealed")(sealed, paid), "checked as skill.md says"
    assert not skill_function("revealed")(sealed, paid | {"output": {"english": "bad day"}})
    assert trade.evm.balance(seller.wallet) == PRICE

    done = await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    assert (done["status"], done["available_actions"]) == ("completed", ["review", "message"])
    review = await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=5, comment="Quick.")
    assert (review["role"], review["rating"], review["job_value"]) == ("buyer", 5, PRICE)

    signed = await trade.market.call("get_receipt", by=seller, job_id=job["id"])
    keys = (await trade.market.call("get_platform_keys"))["keys"]
    assert signed["signature"]["kid"] == keys[0]["kid"]
    public = bytes.fromhex(trade.market.market.world.signer.public_key.hex())
    VerifyKey(public).verify(canonical(signed["receipt"]), bytes.fromhex(signed["signature"]["sig"]))
    assert json.loads(canonical(signed["receipt"]))["settlements"][0]["amount"] == PRICE
    checked = await trade.market.call("verify_receipt", **signed)
    assert (checked["valid"], checked["reason"]) == (True, None)
    verified = skill_function("verified")
    assert verified(signed, {"keys": keys}) == signed["receipt"], "checked as skill.md says"
    signed["receipt"]["job"]["price"] = 1
    with pytest.raises(BadSignatureError):
        verified(signed, {"keys": keys})
    forged = await trade.market.call("verify_receipt", **signed)
    assert (forged["valid"], forged["reason"]) == (False, "the signature does not match")


@covers("listing.stats.jobs_completed", "listing.stats.distinct_buyers", "listing.stats.rating_avg")
@covers("listing.stats.rating_count", "listing.stats.median_turnaround_seconds", "listing.stats.volume_usdc")
@covers("listing.stats.jobs_paid")
async def test_the_listing_shows_what_its_jobs_came_to(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    trade.market.pass_seconds(90)
    await trade.deliver(seller, job)
    trade.market.pass_seconds(7)  # the buyer's time does not count as turnaround
    await trade.pay(buyer, job)
    await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=4)
    listing = await trade.market.call("get_listing", env="test", listing_id=job["listing_id"])
    assert listing["stats"] == {
        "jobs_completed": 1,
        "jobs_failed": 0,
        "distinct_buyers": 1,
        "rating_avg": 4.0,
        "rating_count": 1,
        "median_turnaround_seconds": 90,
        "volume_usdc": PRICE,
        "volume_usdc_display": "0.250000 USDC",
        "jobs_paid": 1,
        "unpaid_reviews": 0,
    }


@covers("state.job.awaiting_payment.pay")
async def test_upfront_work_begins_when_it_is_paid(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("awaiting_payment", seller, buyer, payment="upfront")
    assert job["status"] == "awaiting_payment"
    paid = await trade.pay(buyer, job)
    assert (paid["status"], paid["payment"]["status"]) == ("in_progress", "paid")
    delivered = await trade.deliver(seller, job)
    assert (delivered["output_sealed"], delivered["output"]) == (False, {"english": "good day"})


@covers("event.jobs", "event.payments")
async def test_both_parties_are_told_everything_in_order(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    await trade.job_at("completed", seller, buyer)
    for party in (seller, buyer):
        events = (await trade.market.call("list_events", by=party, types=["job.*"]))["data"]
        kinds = [event["type"] for event in events]
        assert kinds == ["job.created", "job.accepted", "job.delivered", "job.payment_due", "job.paid", "job.completed"]
        assert [event["id"] for event in events] == sorted(event["id"] for event in events)


async def test_a_payment_sent_as_the_skill_says_is_taken(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    terms = await trade.market.call("pay_job", by=buyer, job_id=job["id"])
    trade.evm.node.give_gas(buyer.wallet.address)
    sent = skill_function("transfer")(trade.evm.url, buyer.wallet.key, terms)
    paid = await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    assert (paid["output"], paid["payment"]["status"]) == ({"english": "good day"}, "paid")


def skill_function(name: str) -> Any:
    """Return a function from skill.md's code, as a reader would copy it."""
    place: dict[str, Any] = {}
    (block,) = [
        text for text in re.findall(r" +```python\n(.*?)```", skill_source(), re.DOTALL) if f"def {name}(" in text
    ]
    exec(dedent(block), place)
    return place[name]
