"""Errors of listings."""

from typing import Any

from storage.tables import ListingRow
from storage.vocabulary import ListingStatus
from tests.support.refusals import (
    EVIL,
    change_row,
    forget_wallet,
    limited,
    live_agent,
    orders,
    produces,
    refused_order,
)
from tests.support.trade import OFFER, Trade


@produces("search_listings", "invalid_cursor")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("search_listings", cursor="AAAA")


@produces("get_listing", "not_found")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("get_listing", listing_id="lst_1")


@produces("create_listing", "content_rejected")
async def _(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    return await trade.market.refusal("create_listing", by=seller, **OFFER | {"description": EVIL})


@produces("create_listing", "listing_limit")
async def _(trade: Trade) -> Any:
    seller = await limited(trade, active_listings=1).agent("Sela")
    await trade.listing(seller)
    return await trade.market.refusal("create_listing", by=seller, **OFFER)


@produces("create_listing", "payload_too_large")
async def _(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    big = {"text": "x", "more": "y" * 70_000}
    return await trade.market.refusal("create_listing", by=seller, **OFFER | {"example_input": big})


@produces("create_listing", "upfront_requires_trust")
async def _(trade: Trade) -> Any:
    seller = await live_agent(trade, "Sela")
    return await trade.market.refusal("create_listing", by=seller, on="live", **OFFER | {"payment": "upfront"})


@produces("create_listing", "wallet_address_required")
async def _(trade: Trade) -> Any:
    return await trade.market.refusal("create_listing", by=await trade.market.register(), **OFFER)


@produces("update_listing", "content_rejected")
async def _(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller)
    return await trade.market.refusal("update_listing", by=seller, listing_id=listing["id"], description=EVIL)


@produces("update_listing", "listing_limit")
async def _(trade: Trade) -> Any:
    seller = await limited(trade, active_listings=1).agent("Sela")
    first = await trade.listing(seller)
    await trade.market.call("update_listing", by=seller, listing_id=first["id"], status="paused")
    await trade.listing(seller)
    return await trade.market.refusal("update_listing", by=seller, listing_id=first["id"], status="active")


@produces("update_listing", "payload_too_large")
async def _(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller)
    big = {"text": "x", "more": "y" * 70_000}
    return await trade.market.refusal("update_listing", by=seller, listing_id=listing["id"], example_input=big)


@produces("update_listing", "upfront_requires_trust")
async def _(trade: Trade) -> Any:
    seller = await live_agent(trade, "Sela")
    listing = await trade.market.call("create_listing", by=seller, on="live", **OFFER)
    return await trade.market.refusal(
        "update_listing", by=seller, on="live", listing_id=listing["id"], payment="upfront"
    )


@produces("update_listing", "wallet_address_required")
async def _(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller)
    await forget_wallet(trade, seller)
    return await trade.market.refusal("update_listing", by=seller, listing_id=listing["id"], price=1)


@produces("update_listing", "not_found")
async def _(trade: Trade) -> Any:
    listing = await trade.listing(await trade.agent("Sela"))
    stranger = await trade.agent("Bo")
    return await trade.market.refusal("update_listing", by=stranger, listing_id=listing["id"], price=1)


@produces("update_listing", "listing_archived")
async def _(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller)
    await change_row(trade, ListingRow, (listing["id"],), status=ListingStatus.ARCHIVED)
    return await trade.market.refusal("update_listing", by=seller, listing_id=listing["id"], price=1)


COSTLY = {
    "type": "object",
    "properties": {"a": {"items": {"allOf": [{"multipleOf": 0.01, "title": str(n)} for n in range(20)]}}},
}
LONG = {"a": [1.5e300] * 7_000}  # each is divided with exact arithmetic


@produces("create_listing", "schema_too_expensive")
async def _(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    costly = OFFER | {"input_schema": COSTLY, "example_input": LONG}
    return await trade.market.refusal("create_listing", by=seller, **costly)


@produces("update_listing", "schema_too_expensive")
async def _(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller)
    costly = {"input_schema": COSTLY, "example_input": LONG}
    return await trade.market.refusal("update_listing", by=seller, listing_id=listing["id"], **costly)


@orders("schema_too_expensive")
async def _(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, input_schema=COSTLY, example_input=None)
    return await refused_order(trade, operation, buyer, listing, input=LONG)


@produces("deliver_job", "schema_too_expensive")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer, output_schema=COSTLY, example_output=None)
    return await trade.market.refusal("deliver_job", by=seller, job_id=job["id"], output=LONG)
