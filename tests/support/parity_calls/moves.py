"""Other ways of a job: quotes, refusals, revisions, disputes, refunds, deactivated listings."""

from typing import Any

from tests.support.parity_calls import BUYER, SELLER, Script
from tests.support.trade import OFFER


async def run(say: Script) -> None:
    await quoted(say)
    await revised(say)
    await refunded(say)
    await histories(say)


async def order(say: Script, **offer: Any) -> dict[str, str]:
    listing = await say("create_listing", say.seller, **OFFER | offer)
    job = await say("create_job", say.buyer, listing_id=listing["id"], input={"text": "guten Tag"})
    return {"job_id": job["id"]}


async def quoted(say: Script) -> None:
    offer = {name: value for name, value in OFFER.items() if name != "price"} | {"pricing_model": "quote"}
    listing = await say("create_listing", say.seller, **offer)
    await say("create_listing", say.seller, **offer | {"price": 5, "unit_name": "word"})
    jobs = [
        {"job_id": (await say("create_job", say.buyer, listing_id=listing["id"], input={"text": "x"}))["id"]}
        for _ in range(2)
    ]
    await say("quote_job", say.seller, **jobs[0], price=70_000, message="By hand.")
    await say("quote_job", say.buyer, **jobs[0], price=1)
    await say("accept_quote", say.seller, **jobs[0])
    await say("accept_quote", say.buyer, **jobs[0])
    await say("decline_job", say.buyer, **jobs[1])
    await say("decline_job", say.seller, **jobs[1], reason="Too long for me.")
    await say("cancel_job", say.seller, **jobs[0], reason="Ill.")
    await say("cancel_job", say.buyer, **jobs[1])
    await say("archive_listing", say.seller, listing_id=listing["id"])
    await say("archive_listing", say.buyer, listing_id=listing["id"])


async def revised(say: Script) -> None:
    job = await order(say, price=0)
    await say("accept_job", say.seller, **job)
    await say("deliver_job", say.seller, **job, output={"english": "day"})
    await say("request_revision", say.seller, **job, message="No.")
    await say("request_revision", say.buyer, **job, message="Good day, please.")
    await say("deliver_job", say.seller, **job, output={"english": "good day"})
    await say("get_delivery", say.buyer, **job, revision=0)
    await say("get_delivery", say.buyer, **job, revision=2)
    await say("dispute_job", say.seller, **job, reason="None.")
    await say("dispute_job", say.buyer, **job, reason="It is night.")


async def refunded(say: Script) -> None:
    job = await order(say, payment="upfront")
    await say("accept_job", say.seller, **job)
    terms = await say("pay_job", say.buyer, **job)
    sent = say.evm.transfer(BUYER, terms["pay_to"], terms["amount"])
    await say("pay_job", say.buyer, **job, transaction=sent)
    await say("cancel_job", say.seller, **job)
    await say("refund_job", say.buyer, **job, transaction="0x" + "ab" * 32)
    for part in (terms["amount"] - 10, 10):
        back = say.evm.transfer(SELLER, BUYER.address, part)
        await say("refund_job", say.seller, **job, transaction=back)
    say.job = job["job_id"]


async def histories(say: Script) -> None:
    await say("list_settlements", say.buyer, limit=3)
    await say("list_settlements", say.buyer, cursor="AAAA")
    await say("list_job_events", say.buyer, job_id=say.job)
    await say("list_job_events", say.buyer, job_id="job_1")
    await say("list_my_listings", say.seller, status="archived")
    await say("list_my_listings", say.seller, status="sold")
