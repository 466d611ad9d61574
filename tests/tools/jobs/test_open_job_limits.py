"""Places of a priced listing: each buyer unknown to the seller may hold one, and all of them at most half."""

import asyncio
from typing import Any

import pytest

from storage.agents import locked_buyer_of_order, seller_of_order
from storage.jobs import NEWEST_PAYMENTS
from storage.transaction import Tx
from tests.requirements import covers
from tests.support.market import Agent
from tests.support.trade import PRICE, Trade
from tests.support.x402_client import opened_shop


async def refused(trade: Trade, buyer: Agent, listing: Any) -> Any:
    given = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
    return await trade.market.refusal("create_job", by=buyer, **given)


@covers("second.empty.one")
async def test_a_buyer_that_has_never_paid_holds_one_place_until_it_has_paid(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, max_open_jobs=10)
    job = await trade.order(buyer, listing)
    error = await refused(trade, buyer, listing)
    assert (error["code"], error["retryable"], "0.01 USDC" in error["hint"]) == ("seller_busy", True, True)
    await trade.order(buyer, await trade.listing(seller, max_open_jobs=10)), "another listing's places are others"
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    await trade.deliver(seller, job)
    await trade.pay(buyer, job)
    for _ in range(5):
        await trade.order(buyer, listing)
    assert (await refused(trade, buyer, listing))["message"].startswith("you hold 5 places")


@covers("second.empty.half")
@pytest.mark.parametrize(("places", "half"), [(1, 1), (4, 2), (5, 3)])
async def test_all_such_buyers_hold_half_of_the_places_rounded_up(trade: Trade, places: int, half: int) -> None:
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller, max_open_jobs=places)
    for number in range(half):
        await trade.order(await trade.agent(f"New {number}"), listing)
    late = await trade.agent("Late")
    assert (await refused(trade, late, listing))["code"] == "seller_busy"
    honest = await trade.known(await trade.agent("Honest"))
    for _ in range(places - half):
        await trade.order(honest, listing)
    assert "none is free" in (await refused(trade, honest, listing))["message"]


async def test_a_payment_that_is_small_or_in_the_other_environment_makes_nobody_known(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    cheap = await trade.listing(seller, price=9_999, max_open_jobs=4)
    job = await trade.order(buyer, cheap)
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    await trade.deliver(seller, job)
    await trade.pay(buyer, job)
    await trade.order(buyer, cheap)
    assert (await refused(trade, buyer, cheap))["code"] == "seller_busy"


async def bought(trade: Trade, seller: Agent, buyer: Agent, price: int = 10_000) -> Any:
    """Complete a trade at the lowest price that makes a buyer known."""
    return await trade.job_at("completed", seller, buyer, price=price)


@covers("second.empty.one")
@pytest.mark.parametrize(("back", "places"), [(0, 2), (1, 1), (10_000, 1)])
async def test_a_payment_that_was_refunded_makes_nobody_known(trade: Trade, back: int, places: int) -> None:
    seller, buyer = await trade.parties()
    job = await bought(trade, seller, buyer)
    if back:
        await trade.give_back(seller, buyer, job, back)
    listing = await trade.listing(seller, max_open_jobs=4)
    for _ in range(places):
        await trade.order(buyer, listing)
    assert (await refused(trade, buyer, listing))["message"].startswith(("until", "you hold 2")[places - 1])


@covers("second.empty.one", "second.empty.half")
async def test_older_payments_make_a_buyer_known_too(trade: Trade) -> None:
    seller, buyer, other = await trade.agent("Sela"), await trade.agent("Bea"), await trade.agent("Cy")
    listing = await trade.listing(seller, max_open_jobs=10)
    often = ["often"] * (NEWEST_PAYMENTS + 2)
    await trade.known(buyer, paid_to=["one", "two", *often])
    for _ in range(2):
        await trade.order(buyer, listing)
    await trade.known(other, paid_to=["one", *often])
    await trade.order(other, listing)
    assert (await refused(trade, other, listing))["code"] == "seller_busy"


async def test_a_buyer_is_known_to_every_seller_once_it_has_paid_three(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    shills = [await trade.agent(f"Shill {number}") for number in range(3)]
    listing = await trade.listing(seller, max_open_jobs=4)
    await trade.order(await trade.agent("New"), listing)
    jobs = [await bought(trade, shill, buyer) for shill in (shills[0], *shills[:2])]
    await trade.order(buyer, listing)
    assert (await refused(trade, buyer, listing))["message"].startswith("until"), "two sellers, three payments"
    late = await refused(trade, await trade.agent("Late"), listing)
    assert "2 places for buyers that have never paid this seller" in late["message"]
    jobs.append(await bought(trade, shills[2], buyer))
    await trade.order(await trade.agent("Later"), listing)
    await trade.give_back(shills[2], buyer, jobs[-1], 10_000)
    assert (await refused(trade, buyer, listing))["message"].startswith("until"), "a refund undoes it"


async def test_a_free_listing_has_places_for_everybody(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, price=0, max_open_jobs=4)
    for _ in range(2):
        await trade.order(buyer, listing)
    for number in range(2):
        await trade.order(await trade.agent(f"New {number}"), listing)


@covers("second.empty.x402_places")
async def test_unpaid_purchases_count_among_them(trade: Trade) -> None:
    shop = await opened_shop(trade, max_open_jobs=4)
    calls = []
    for number in range(2):
        shop.wallet = trade.evm.person(2 * PRICE, gas=False)
        calls.append(asyncio.create_task(shop.ask(pay=shop.sign(await shop.terms()))))
        while len(await shop.orders()) == number:  # noqa: ASYNC110 - the order is made by the other task
            await asyncio.sleep(0.01)
    assert (await refused(trade, await trade.agent("New"), shop.listing))["code"] == "seller_busy"
    other = shop.wallet
    shop.wallet = trade.evm.person(PRICE, gas=False)
    busy = await shop.ask(pay=shop.sign(await shop.terms()))
    assert (busy.status, busy.error is not None and busy.error["code"]) == (409, "seller_busy")
    await trade.order(await trade.known(await trade.agent("Honest")), shop.listing)
    shop.wallet = other
    async with shop.open():
        assert [one.status for one in await asyncio.gather(*calls)] == [200, 200]
        assert (await shop.ask(pay=shop.sign(await shop.terms()))).status == 200


async def test_the_buyer_is_locked_before_its_wallets_are_compared(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise PostgreSQL could miss a wallet that another unit of work binds in between."""
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    ran, run = list[Any](), Tx._run

    def recorded(self: Tx, query: Any, values: Any) -> Any:
        ran.append(query)
        return run(self, query, values)

    monkeypatch.setattr(Tx, "_run", recorded)
    await trade.order(buyer, listing)
    assert ran.index(locked_buyer_of_order) < ran.index(seller_of_order)
