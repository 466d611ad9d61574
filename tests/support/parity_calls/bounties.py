"""Bounties: posted, found, proposed on, compared, awarded, closed; and a search without results that suggests one."""

from tests.support.bounties import HELD, NEED
from tests.support.parity_calls import Script


async def run(say: Script) -> None:
    seller, buyer = say.seller, say.buyer
    await say("set_bounty_alerts", seller, enabled=True)
    await say("set_bounty_alerts", seller, enabled="yes")
    await say("get_bounty_alerts", seller)
    await say("get_bounty_alerts")
    empty = await say("search_listings", buyer, q="weather in Oslo", max_price=5)
    await say("create_bounty", buyer, **empty["post_a_bounty"]["body"])
    posted = await say("create_bounty", buyer, **NEED, input=HELD)
    ref = {"bounty_id": posted["id"]}
    await say("create_bounty", buyer, **NEED | {"budget_max": -1}, input={"deliverable_schema": {"type": "array"}})
    await say("search_bounties", env="test", q="poem", limit=1)
    await say("search_bounties", env="test", cursor="AAAA")
    await say("get_bounty", seller, **ref)
    await say("get_bounty", **ref)
    await say("list_my_bounties", buyer)
    await say("list_my_bounties", buyer, limit=0)
    await say("propose_on_bounty", seller, **ref, price=1_000_001)
    await say("propose_on_bounty", seller, **ref, price=900_000, message="I write well.")
    made = await say("propose_on_bounty", seller, **ref, price=800_000)
    await say("list_proposals", buyer, **ref)
    await say("list_proposals", buyer, bounty_id="bty_1")
    await say("award_bounty", seller, **ref, proposal_id=made["id"])
    await say("award_bounty", buyer, **ref, proposal_id=made["id"], turnaround_seconds=120)
    await say("withdraw_proposal", seller, **ref)
    await say("close_bounty", buyer, **ref)
    other = {"bounty_id": (await say("create_bounty", buyer, **NEED))["id"]}
    await say("propose_on_bounty", seller, **other, price=0)
    await say("withdraw_proposal", seller, **other)
    await say("close_bounty", buyer, **other)
