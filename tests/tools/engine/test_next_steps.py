"""Every answer after which something remains to be done names the next useful calls."""

from typing import Any, get_type_hints

import pytest

from tests.requirements import covers
from tests.support.bounties import NEED, bounty, propose
from tests.support.faucet import open_faucet
from tests.support.market import Agent
from tests.support.trade import OFFER, Trade, binding
from tools.catalogue import CATALOGUE

CHANGES = {op.name: op for op in CATALOGUE.values() if not op.safe and op.auth != "admin"}
NOTHING_LEFT = {  # answers after which nothing remains to be done
    "report_support": "the operator reads it",
    "update_me": "the profile is as it was asked to be",
    "delete_me": "the caller has left",
    "revoke_api_key": "the key has ended",
    "rotate_key": "the new key stands",
    "remove_domain": "the claim has ended",
    "link_erc8004": "the link is made or refused at once",
    "unlink_erc8004": "the link has ended",
    "close_bounty": "the bounty has ended",
    "review_job": "a review is final",
    "mark_thread_read": "nothing waits in it any more",
    "delete_webhook": "it has ended",
    "delete_schedule": "it has ended",
    "delete_memory": "it has ended",
    "buy_with_x402": "the work is in the answer, and so is the claim of the account",
}


@covers("second.next_steps")
def test_every_change_names_what_is_next_or_leaves_nothing_to_do() -> None:
    silent = {
        name for name, op in CHANGES.items() if not all("next_steps" in get_type_hints(kind) for kind in op.output)
    }
    assert silent == {*NOTHING_LEFT}


async def step_of(trade: Trade, operation: str, by: Agent, **given: Any) -> list[str]:
    """Return the tools that an answer names, in order; `call` checks that they can be called."""
    answer = await trade.market.call(operation, by=by, **given)
    return [one["tool"] for one in answer["next_steps"]]


async def test_what_is_next_is_named(trade: Trade) -> None:
    ada, bo = await trade.agent("Ada"), await trade.agent("Bo")
    wallet = {"address": ada.wallet.address, "signature": binding(ada)}
    assert await step_of(trade, "set_wallet_address", ada, **wallet) == [
        "claim_test_funds", "create_listing", "search_listings",
    ]  # fmt: skip
    assert await step_of(trade, "create_listing", ada, **OFFER) == ["list_events", "list_jobs"]
    listing = await trade.listing(ada)
    named = {"listing_id": listing["id"]}
    assert await step_of(trade, "update_listing", ada, **named, status="paused") == ["update_listing"]
    assert await step_of(trade, "update_listing", ada, **named, status="active") == ["list_events", "list_jobs"]
    assert await step_of(trade, "archive_listing", ada, **named) == ["create_listing"]
    assert await step_of(trade, "create_bounty", bo, **NEED) == ["list_events", "list_proposals", "close_bounty"]
    said = {"to": bo.handle, "body": "Hello"}
    assert await step_of(trade, "start_thread", ada, **said) == ["list_events", "list_messages"]
    assert await step_of(trade, "put_memory", ada, key="a", value=1) == ["get_memory"]
    assert await step_of(trade, "create_schedule", ada, in_seconds=60) == ["list_events"]
    assert await step_of(trade, "add_domain", ada, domain="agent.example.com") == ["verify_domain"]
    assert await step_of(trade, "set_evaluator", ada, enabled=True) == ["list_events"]
    assert await step_of(trade, "set_evaluator", ada, enabled=False) == ["list_disputes"]
    assert await step_of(trade, "create_api_key", ada, env="test") == ["list_api_keys"]
    posted = await bounty(trade, bo)
    made = await propose(trade, ada, posted)
    award = {"bounty_id": posted["id"], "proposal_id": made["id"]}
    assert await step_of(trade, "award_bounty", bo, **award) == ["get_job"]


async def test_a_seller_hears_of_its_order_by_the_steps_of_its_listing(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    made = await trade.market.call("create_listing", by=seller, **OFFER)
    wait, look = made["next_steps"]
    job = await trade.order(buyer, made)
    heard = await trade.market.call(wait["tool"], by=seller, **wait["arguments"])
    assert [event["data"]["job_id"] for event in heard["data"]] == [job["id"]]
    found = await trade.market.call(look["tool"], by=seller, **look["arguments"])
    assert [one["id"] for one in found["data"]] == [job["id"]]


async def test_a_message_has_no_deadline_and_what_the_clock_ends_has_one(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    seen = await trade.seen(seller, job)
    deadlines = {one["action"]: one["deadline"] for one in seen["next_steps"]}
    assert deadlines == {
        **dict.fromkeys(("accept", "deliver", "decline"), seen["deadlines"]["accept_by"]),
        "message": None,
    }


async def test_a_step_that_waits_waits_for_what_comes_after_the_answer(trade: Trade) -> None:
    ada, bo = await trade.agent("Ada"), await trade.agent("Bo")
    await trade.market.call("start_thread", by=bo, to=ada.handle, body="An old message.")
    said = await trade.market.call("start_thread", by=ada, to=bo.handle, body="An answer.")
    waits = said["next_steps"][0]["arguments"]
    asked = {name: value for name, value in waits.items() if name != "wait_seconds"}
    assert (await trade.market.call("list_events", by=ada, **asked))["data"] == []
    await trade.market.call("start_thread", by=bo, to=ada.handle, body="A new message.")
    assert len((await trade.market.call("list_events", by=ada, **asked))["data"]) == 1
    for operation, given in (
        ("set_bounty_alerts", {"enabled": True}),
        ("set_evaluator", {"enabled": True}),
        ("create_bounty", NEED),
        ("create_schedule", {"in_seconds": 60}),
    ):
        found = (await trade.market.call(operation, by=ada, **given))["next_steps"]
        (wait,) = [one for one in found if one["tool"] == "list_events"]
        assert wait["arguments"]["since"] > asked["since"], operation


async def test_a_step_that_sells_names_the_price(trade: Trade) -> None:
    made = await trade.market.call("register_agent", name="Cleo")
    (sells,) = [one for one in made["next_steps"] if one["tool"] == "create_listing"]
    assert sells["body"]["price"].startswith("<minor units")


async def test_funds_are_named_on_test_alone_and_lead_on(trade: Trade) -> None:
    ada = await trade.agent("Ada")
    open_faucet(trade.market)
    assert await step_of(trade, "claim_test_funds", ada) == ["search_listings"]


@pytest.mark.parametrize("operation", ["put_memory", "create_listing"])
async def test_a_dry_run_and_a_repeat_name_the_same(trade: Trade, operation: str) -> None:
    ada = await trade.agent("Ada")
    given = {"key": "a", "value": 1} if operation == "put_memory" else OFFER
    rehearsed = await trade.market.answer(operation, given, key=ada.keys["test"], dry_run=True)
    first, again = [
        await trade.market.answer(operation, given, key=ada.keys["test"], repeat="k" * 22) for _ in range(2)
    ]
    assert b'"next_steps":[{' in rehearsed.body
    assert first.body == again.body
