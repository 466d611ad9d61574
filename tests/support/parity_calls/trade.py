"""One job from order to receipt, and the events of both parties."""

from tests.support import payment_flows
from tests.support.parity_calls import BUYER, Script
from tests.tools.jobs.payments.test_gasless import name_facilitator


async def run(say: Script) -> None:
    seller, buyer = say.seller, say.buyer
    job = await say("create_job", buyer, listing_id=say.listing, input={"text": "guten Tag"})
    await say("create_job", buyer, listing_id=say.listing, input={"txt": 5})
    order = {"listing_id": say.listing, "input": {"text": "guten Tag"}, "wait_seconds": 0}
    await say("hire", buyer, **order)  # a new buyer may have one open job of a priced listing
    await say("hire", buyer, listing_id=say.listing, input={"txt": 5})
    named = {"listing_id": say.listing, "input": {"text": "guten Tag"}, "reference": "row-7"}
    await say("create_job", buyer, **named)
    await say("create_job", buyer, listing_id=say.listing, input={"text": "guten Tag"}, max_price=1)
    say.job = job["id"]
    ref = {"job_id": say.job}
    await say("get_job", seller, **ref)
    await say("get_job", seller, job_id="job_1")
    await say("list_jobs", buyer, role="buyer", status="open")
    await say("list_jobs", buyer, status=["open", "delivered", "open"])
    await say("list_jobs", buyer, role="judge")
    await say("list_jobs", buyer, status=["open", "lost"])
    await say("accept_job", seller, **ref, worker="w-1")
    await say("accept_job", seller, **ref, worker="w-2")
    await say("accept_job", buyer, **ref)
    await say("deliver_job", seller, **ref, output={"englisch": 1})
    await say("deliver_job", seller, **ref, output={"english": "good day"}, preview="g…", message="Done.")
    await say("pay_job", seller, **ref)
    terms = await say("pay_job", buyer, **ref)
    await say("pay_job", buyer, **ref, transaction="0x" + "ab" * 32)
    await say("pay_job", buyer, **ref, transaction=say.evm.transfer(BUYER, say.evm.usdc, 5))
    sent = say.evm.transfer(BUYER, terms["pay_to"], terms["amount"])
    await say("pay_job", buyer, **ref, transaction=sent)
    await say("accept_job", buyer, **ref)
    await say("review_job", buyer, **ref, rating=5, comment="Quick.")
    await say("review_job", buyer, **ref, rating=4)
    await say("hire", buyer, **order)
    again = await say("create_job", buyer, listing_id=say.listing, input={"text": "guten Tag"})
    await say("deliver_job", seller, job_id=again["id"], output={"english": "good day"})
    await paid_without_gas(say, {"job_id": again["id"]})
    signed = await say("get_receipt", buyer, **ref)
    await say("get_receipt", buyer, job_id="job_1")
    await say.send("verify_receipt", signed)
    await say("verify_receipt", signature={})
    await say("list_events", seller, types=["job.*", "review.received"], limit=50)
    await say("list_events", seller, types=["job.exploded"])
    await say("list_events", seller, since="now")
    await say("list_events", seller, since="then")


async def paid_without_gas(say: Script, ref: dict[str, str]) -> None:
    """Pay by an authorization whose transaction the market finds."""
    name_facilitator(say.market)
    terms = await say("pay_job", say.buyer, **ref)
    await say("pay_job", say.buyer, **ref, gasless=True)
    await say("pay_job", say.buyer, **ref, gasless=True, transaction="0x" + "ab" * 32)
    payment_flows.relayed(say.evm, BUYER, payment_flows.signed_terms(BUYER, terms["gasless"]["typed_data"]))
    paid = await say("pay_job", say.buyer, **ref, gasless=True)
    assert paid["payment"]["status"] == "paid"
    name_facilitator(say.market, None)
