"""The errors that operations of listings declare: a call produces each."""

from typing import Any

from storage.tables import ListingRow
from storage.vocabulary import ListingStatus
from tests.requirements import covers
from tests.support.refusals import COSTLY, EVIL, LONG, change_row, fill, forget_wallet, limited, live_agent, refusal
from tests.support.trade import OFFER, Trade


@refusal
@covers("error.more.invalid_cursor")
async def test_search_listings_invalid_cursor(trade: Trade) -> Any:
    return await trade.market.refusal("search_listings", cursor="AAAA")


@refusal
async def test_get_listing_not_found(trade: Trade) -> Any:
    return await trade.market.refusal("get_listing", listing_id="lst_1")


@refusal
@covers("error.code.content_rejected")
async def test_create_listing_content_rejected(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    return await trade.market.refusal("create_listing", by=seller, **OFFER | {"description": EVIL})


@refusal
@covers("error.more.listing_limit")
async def test_create_listing_listing_limit(trade: Trade) -> Any:
    seller = await limited(trade, active_listings=1).agent("Sela")
    await trade.listing(seller)
    return await trade.market.refusal("create_listing", by=seller, **OFFER)


@refusal
async def test_create_listing_payload_too_large(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    big = {"text": "x", "more": "y" * 70_000}
    return await trade.market.refusal("create_listing", by=seller, **OFFER | {"example_input": big})


@refusal
@covers("error.code.upfront_requires_trust")
async def test_create_listing_upfront_requires_trust(trade: Trade) -> Any:
    seller = await live_agent(trade, "Sela")
    return await trade.market.refusal("create_listing", by=seller, on="live", **OFFER | {"payment": "upfront"})


@refusal
async def test_create_listing_wallet_address_required(trade: Trade) -> Any:
    return await trade.market.refusal("create_listing", by=await trade.market.register(), **OFFER)


@refusal
@covers("error.code.content_rejected")
async def test_update_listing_content_rejected(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller)
    return await trade.market.refusal("update_listing", by=seller, listing_id=listing["id"], description=EVIL)


@refusal
@covers("error.more.listing_limit")
async def test_update_listing_listing_limit(trade: Trade) -> Any:
    seller = await limited(trade, active_listings=1).agent("Sela")
    first = await trade.listing(seller)
    await trade.market.call("update_listing", by=seller, listing_id=first["id"], status="paused")
    await trade.listing(seller)
    return await trade.market.refusal("update_listing", by=seller, listing_id=first["id"], status="active")


@refusal
async def test_update_listing_payload_too_large(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller)
    big = {"text": "x", "more": "y" * 70_000}
    return await trade.market.refusal("update_listing", by=seller, listing_id=listing["id"], example_input=big)


@refusal
@covers("error.code.upfront_requires_trust")
async def test_update_listing_upfront_requires_trust(trade: Trade) -> Any:
    seller = await live_agent(trade, "Sela")
    listing = await trade.market.call("create_listing", by=seller, on="live", **OFFER)
    return await trade.market.refusal(
        "update_listing", by=seller, on="live", listing_id=listing["id"], payment="upfront"
    )


@refusal
async def test_update_listing_wallet_address_required(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller)
    await forget_wallet(trade, seller)
    return await trade.market.refusal("update_listing", by=seller, listing_id=listing["id"], price=1)


@refusal
async def test_update_listing_not_found(trade: Trade) -> Any:
    listing = await trade.listing(await trade.agent("Sela"))
    stranger = await trade.agent("Bo")
    return await trade.market.refusal("update_listing", by=stranger, listing_id=listing["id"], price=1)


@refusal
@covers("error.more.listing_archived")
async def test_update_listing_listing_archived(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller)
    await change_row(trade, ListingRow, (listing["id"],), status=ListingStatus.ARCHIVED)
    return await trade.market.refusal("update_listing", by=seller, listing_id=listing["id"], price=1)


@refusal
async def test_create_listing_schema_too_expensive(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    costly = OFFER | {"input_schema": COSTLY, "example_input": LONG}
    return await trade.market.refusal("create_listing", by=seller, **costly)


@refusal
async def test_update_listing_schema_too_expensive(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller)
    costly = {"input_schema": COSTLY, "example_input": LONG}
    return await trade.market.refusal("update_listing", by=seller, listing_id=listing["id"], **costly)


@refusal
async def test_archive_listing_not_found(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    foreign = await trade.market.refusal("archive_listing", by=buyer, listing_id=listing["id"])
    assert foreign == await trade.market.refusal("archive_listing", by=buyer, listing_id="lst_1")
    return foreign


@refusal
@covers("error.more.invalid_cursor")
async def test_list_my_listings_invalid_cursor(trade: Trade) -> Any:
    return await trade.market.refusal("list_my_listings", by=await trade.market.register(), cursor="AAAA")


@refusal
async def test_create_listing_storage_full(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    await fill(trade, seller)
    return await trade.market.refusal("create_listing", by=seller, **OFFER)


@refusal
async def test_update_listing_storage_full(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller)
    await fill(trade, seller)
    schema = {**OFFER["input_schema"], "title": "the same words, kept beside those that jobs were ordered under"}
    await trade.market.call("update_listing", by=seller, listing_id=listing["id"], description="Short, short.")
    return await trade.market.refusal("update_listing", by=seller, listing_id=listing["id"], input_schema=schema)
