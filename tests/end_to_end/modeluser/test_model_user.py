"""A scripted model trades over MCP with a base URL and a wallet; it follows next_steps, and calls are counted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.client import Client

from tests.end_to_end.modeluser.user import ModelUser
from tests.support.panels import Court, evaluator
from tests.support.protocols import served
from tests.support.trade import PRICE, Trade

WORDS: dict[str, Any] = {
    "name": "Bo",
    "q": "translate english",
    "env": "test",
    "input": {"text": "guten Abend"},
    "output": {"english": "good evening"},
    "wait_seconds": 30,
    "message": "Done.",
    "rating": 5,
    "reason": "This is not English.",
}
OFFERED: dict[str, Any] = {
    "title": "Translate to English",
    "description": "Any text up to 100 characters.",
    "category": "text",
    "pricing_model": "fixed",
    "price": PRICE,
}


@asynccontextmanager
async def model(trade: Trade, mode: str = "auto", **words: Any) -> AsyncIterator[ModelUser]:
    """Yield a model with money, connected to the served market."""
    wallet = trade.evm.person(10 * PRICE)
    async with served(trade.market) as url, Client(f"{url}/mcp", mode=mode) as client:  # type: ignore[arg-type]
        user = ModelUser(client, wallet, trade.evm.transfer, WORDS | words)
        await user.look_around()
        yield user


async def serve_orders(trade: Trade, seller: Any) -> None:
    """Accept and deliver every order at once, as a seller's program does."""
    done = set[str]()
    while True:
        for job in (await trade.market.call("list_jobs", by=seller, role="seller", status="open"))["data"]:
            await trade.market.call("accept_job", by=seller, job_id=job["id"])
            await trade.deliver(seller, job)
            done.add(job["id"])
        await asyncio.sleep(0.01)


@asynccontextmanager
async def a_seller(trade: Trade) -> AsyncIterator[Any]:
    seller = await trade.agent("Sela")
    await trade.listing(seller)
    working = asyncio.create_task(serve_orders(trade, seller))
    try:
        yield seller
    finally:
        working.cancel()


async def bought(user: ModelUser) -> Any:
    """Search, register, bind a wallet, hire and pay; return the job with its revealed output."""
    found = await user.call("search_listings", {"q": WORDS["q"], "env": "test"})
    order = found["data"][0]["how_to_order"]
    me = await user.call("register_agent", {"name": WORDS["name"]})
    await user.follow(me, "set_wallet_address")
    hired = await user.call(order["tool"], order["body_example"] | {"input": WORDS["input"], "wait_seconds": 30})
    return await user.follow(hired, "pay")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_stranger_has_the_output_in_five_calls(trade: Trade, mode: str) -> None:
    async with a_seller(trade), model(trade, mode) as user:
        job = await bought(user)
        assert job["output"] == {"english": "good day"}
        assert user.called == ["search_listings", "register_agent", "set_wallet_address", "hire", "pay_job"]
        done = await user.follow(job, "accept")
        reviewed = await user.follow(done, "review")
        assert (done["status"], reviewed["rating"]) == ("completed", 5)


async def test_a_stranger_sells_and_is_paid_in_seven_calls(trade: Trade) -> None:
    async with model(trade, **OFFERED) as user:
        me = await user.call("register_agent", {"name": WORDS["name"]})
        bound = await user.follow(me, "set_wallet_address")
        assert bound["wallet_address"] == user.wallet.address
        listing = await user.call("create_listing", OFFERED)
        buyer = await trade.agent("Bea", PRICE)
        job = await trade.order(buyer, listing)
        inbox = await user.call("get_inbox", {"wait_seconds": 30})
        accepted = await user.follow(inbox, "accept")
        delivered = await user.follow(accepted, "deliver")
        await trade.pay(buyer, job)
        paid = await user.call("get_job", {"job_id": delivered["id"]})
        assert (paid["payment"]["status"], paid["payment"]["settlement"]["amount"]) == ("paid", PRICE)
        assert len(user.called) == 7


async def test_a_stranger_wins_a_bounty_and_delivers_in_six_calls(trade: Trade) -> None:
    buyer = await trade.agent("Bea", PRICE)
    need = {"title": "Translate to English", "description": "One text of 100 characters.", "budget_max": PRICE}
    bounty = await trade.market.call("create_bounty", by=buyer, **need, category="text", input={"text": "guten Tag"})
    async with model(trade, price=PRICE, message="I translate it by hand.") as user:
        found = await user.call("search_bounties", {"env": "test"})
        me = await user.call("register_agent", {"name": WORDS["name"]})
        await user.follow(me, "set_wallet_address")
        made = await user.call(
            "propose_on_bounty",
            {"bounty_id": found["data"][0]["id"], "price": PRICE, "message": "I translate it by hand."},
        )
        await trade.market.call("award_bounty", by=buyer, bounty_id=bounty["id"], proposal_id=made["id"])
        inbox = await user.call("get_inbox", {"wait_seconds": 30})
        delivered = await user.follow(inbox, "deliver")
        assert (delivered["status"], delivered["bounty_id"]) == ("delivered", bounty["id"])
        assert len(user.called) == 6


async def test_a_stranger_disputes_what_it_has_bought_and_is_owed_its_money_back(trade: Trade) -> None:
    offered = {one.id: one for one in [await evaluator(trade) for _ in range(3)]}
    async with a_seller(trade) as seller, model(trade) as user:
        job = await bought(user)
        disputed = await user.follow(job, "dispute")
        court = Court(trade, seller, seller, job, disputed["dispute_id"], offered)
        await court.votes("buyer", "buyer")
        case = await user.follow(disputed, "get_dispute")
        assert (case["status"], case["outcome"]) == ("resolved", "buyer")
        owed = await user.follow(case, "get_job")
        assert (owed["status"], owed["refund_due"], owed["refund_expected"]) == ("resolved", True, PRICE)
        assert user.called[5:] == ["call_tool", "call_tool", "get_job"]


async def test_a_stranger_thinks_better_of_a_dispute(trade: Trade) -> None:
    async with a_seller(trade), model(trade) as user:
        disputed = await user.follow(await bought(user), "dispute")
        case = await user.follow(disputed, "get_dispute")
        ended = await user.follow(case, "withdraw_dispute")
        assert (ended["status"], ended["resolved_by"], len(user.called)) == ("resolved", "buyer", 8)
