"""Listings of absent sellers: paused by the market, and resumed by a call of their seller."""

from typing import Any

import pytest

from tests.requirements import covers
from tests.support.market import Agent
from tests.support.trade import Trade

pytestmark = pytest.mark.both_databases
DAY = 86_400


async def ignored(trade: Trade, buyer: Agent, listing: Any) -> None:
    """Order, and let the order expire."""
    await trade.order(buyer, listing)
    trade.market.pass_seconds(601)
    await trade.market.workers.sweep()


async def status(trade: Trade, listing: Any) -> tuple[str, str | None]:
    seen = await trade.market.call("get_listing", listing_id=listing["id"], env="test")
    return seen["status"], seen["paused_by"]


async def deserted(trade: Trade) -> tuple[Agent, Any]:
    """Return a seller that is gone for a day, and its listing after two ignored orders."""
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller, price=0)
    await trade.market.workers.write_touches()
    trade.market.pass_seconds(DAY)
    for name in ("Ada", "Bo"):
        await ignored(trade, await trade.agent(name), listing)
    return seller, listing


@covers("second.absent.paused", "second.absent.told", "second.absent.resumed")
async def test_a_deserted_listing_is_paused_until_its_sellers_next_call(trade: Trade) -> None:
    seller, listing = await deserted(trade)
    assert await status(trade, listing) == ("active", None)
    await ignored(trade, await trade.agent("Cy"), listing)
    assert await status(trade, listing) == ("paused", "market")
    found = await trade.market.call("search_listings", env="test", q="translate")
    assert found["data"] == []
    (told,) = (await trade.market.call("list_events", by=seller, types=["listing.paused"]))["data"]
    assert (told["data"]["listing_id"], told["data"]["paused_by"]) == (listing["id"], "market")
    assert len(told["data"]["expired"]) == 3
    await trade.market.workers.write_touches()
    assert await status(trade, listing) == ("active", None)
    assert len((await trade.market.call("search_listings", env="test", q="translate"))["data"]) == 1


@covers("second.absent.paused")
async def test_one_buyer_alone_or_a_seller_that_calls_leaves_it_active(trade: Trade) -> None:
    seller, listing = await deserted(trade)
    again = await trade.agent("Cy")
    await trade.market.call("get_me", by=seller)
    await trade.market.workers.write_touches()
    await ignored(trade, again, listing)
    assert await status(trade, listing) == ("active", None)
    trade.market.pass_seconds(DAY)
    await ignored(trade, again, listing)
    assert await status(trade, listing) == ("active", None), "the last two are of one buyer"


@covers("second.absent.resumed")
async def test_what_its_seller_has_paused_stays_paused(trade: Trade) -> None:
    seller, listing = await deserted(trade)
    await ignored(trade, await trade.agent("Cy"), listing)
    paused = await trade.market.call("update_listing", by=seller, listing_id=listing["id"], status="paused")
    assert paused["paused_by"] == "seller"
    await trade.market.workers.write_touches()
    assert await status(trade, listing) == ("paused", "seller")
    shown = await trade.market.call("update_listing", by=seller, listing_id=listing["id"], status="active")
    assert (shown["status"], shown["paused_by"]) == ("active", None)
