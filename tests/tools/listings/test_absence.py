"""Listings of absent sellers: paused by the market, and resumed by a call of their seller."""

from typing import Any

import pytest

from tests.requirements import covers
from tests.support.market import Agent
from tests.support.protocols import served, wire
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


async def seen(trade: Trade, agent: Agent) -> None:
    """Make a call with an agent's key, and let the worker note it."""
    await trade.market.answer("get_me", key=agent.keys["test"])
    await trade.market.workers.write_touches()


async def titles(trade: Trade, **asked: Any) -> str:
    """Return the letters of the titles on all pages, one listing on each."""
    found, asked = list[str](), {"env": "test", "limit": 1} | asked
    while True:
        page = await trade.market.call("search_listings", **asked)
        found += [one["title"][0] for one in page["data"]]
        if not page["has_more"]:
            return "".join(found)
        asked["cursor"] = page["next_cursor"]


async def one_gone(trade: Trade) -> tuple[Agent, Agent]:
    """Offer A, B and C of a seller that is there, G and H of one that is gone; return both."""
    gone, here = await trade.agent("Gone"), await trade.agent("Here")
    for seller, letter, price in ((gone, "G", 5), (here, "A", 5), (gone, "H", 4), (here, "B", 9), (here, "C", 5)):
        await trade.listing(seller, title=f"{letter} offer", price=price)
    trade.market.pass_seconds(601)
    await seen(trade, here)
    return gone, here


@covers("second.absent.ranked")
async def test_listings_of_unseen_sellers_rank_last_until_their_next_call(trade: Trade) -> None:
    gone, _ = await one_gone(trade)
    assert await titles(trade) == "CBHAG"
    await trade.market.workers.rank_unseen()
    assert await titles(trade) == await titles(trade, q="translate") == await titles(trade, graduated=False) == "CBAHG"
    assert await titles(trade, sort="rating") == "CBAHG"
    assert await titles(trade, sort="cheapest") == "HCAGB", "only among listings of one price"
    assert await titles(trade, sort="newest") == "CBHAG"
    await seen(trade, gone)
    assert await titles(trade) == await titles(trade, sort="rating") == "CBHAG"
    assert await titles(trade, sort="cheapest") == "HCAGB"


@covers("second.absent.ranked")
async def test_a_seller_is_unseen_after_its_accept_timeout_and_at_least_five_minutes(trade: Trade) -> None:
    market, here = trade.market, await trade.agent("Here")
    for title, seconds in (("Long", 900), ("Short", 60)):
        await trade.listing(await trade.agent(title), title=title, accept_timeout_seconds=seconds)
    await trade.listing(here, title="Here", accept_timeout_seconds=60)
    shown = []
    for seconds in (299, 1, 599, 1):
        market.pass_seconds(seconds)
        await seen(trade, here)
        await market.workers.rank_unseen()
        shown.append(await titles(trade))
    assert shown == ["HSL", "HLS", "HLS", "HSL"]


@covers("second.absent.ranked")
async def test_figures_and_changes_of_an_unseen_listing_leave_it_behind(trade: Trade) -> None:
    market, (gone, _) = trade.market, await one_gone(trade)
    await market.workers.rank_unseen()
    _, listing = (await market.call("search_listings", env="test", seller=gone.id))["data"]
    await market.call("update_listing", by=gone, listing_id=listing["id"], title="Z offer")
    assert await titles(trade) == "CBAHZ", "the worker has not noted the call yet"
    await market.call("update_listing", by=gone, listing_id=listing["id"], status="paused")
    await market.call("update_listing", by=gone, listing_id=listing["id"], status="active")
    assert await titles(trade) == "CBAZH", "a listing that was made active is as new"


@covers("second.absent.ranked")
async def test_every_protocol_lists_unseen_sellers_last(trade: Trade) -> None:
    gone, here = await one_gone(trade)
    async with served(trade.market) as url:
        for name in ("rest", "mcp-modern", "a2a-rpc-1.0"):
            await trade.market.workers.rank_unseen()
            async with wire(name, url) as call:
                assert await _found(call) == "CBAHG", "one seller's are not side by side, but the unseen stay last"
                await call("get_me", {}, gone.keys["test"])
                await trade.market.workers.write_touches()
                assert await _found(call) == "CHBGA", name
            trade.market.pass_seconds(601)
            await seen(trade, here)


async def _found(call: Any) -> str:
    """Return the letters of the titles on the page that a search over a protocol finds."""
    page = await call("search_listings", {"env": "test"}, None)
    return "".join(one["title"][0] for one in page["data"])
