"""Listings: created, changed, read, found."""

from tests.support.parity_calls import Script
from tests.support.trade import OFFER


async def run(say: Script) -> None:
    made = await say("create_listing", say.seller, **OFFER)
    say.listing = made["id"]
    await say("create_listing", say.seller, **OFFER | {"price": -1})
    named = await say("create_listing", say.seller, external_id="a/1", **OFFER)
    await say("create_listing", say.seller, external_id="a/1", **OFFER | {"price": 1})
    await say("create_listing", say.seller, external_id="a 1", **OFFER)
    await say("archive_listing", say.seller, listing_id=named["id"])
    changed = "Any text, translated by hand, at once."
    await say("update_listing", say.seller, listing_id=say.listing, description=changed)
    await say("update_listing", say.buyer, listing_id=say.listing, price=1)
    await say("get_listing", listing_id=say.listing, env="test")
    await say("get_listing", listing_id=say.listing)
    await say("search_listings", env="test", q="translate", limit=5)
    empty = await say("search_listings", q="translate", limit=5)
    await say("search_listings", **empty["next_steps"][0]["arguments"])
    await say("search_listings", env="test", cursor="AAAA")
