"""Errors of writes that exceed an agent's storage limit."""

from dataclasses import replace
from typing import Any

from tests.support.bounties import NEED, bounty, propose
from tests.support.market import Agent
from tests.support.refusals import orders, produces, refused_order
from tests.support.refusals.purchases import buying, paying
from tests.support.trade import OFFER, PRICE, Trade
from tests.support.x402_client import Shop


async def fill(trade: Trade, agent: Agent, left: int = 0) -> int:
    """Use up an agent's storage on test except for `left` bytes; return the limit."""
    limit = trade.market.market.config.limits.storage_bytes
    me = await trade.market.call("get_me", by=agent)
    by = limit - left - me["storage"]["used"]
    await trade.market.store.write(lambda tx: tx.count_bytes(agent.id, "test", by))
    assert (await trade.market.call("get_me", by=agent))["storage"] == {"used": limit - left, "limit": limit}
    return limit


@orders("storage_full")
async def _(trade: Trade, operation: str) -> Any:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller)
    limit = await fill(trade, buyer, left=5)
    error = await refused_order(trade, operation, buyer, listing)
    assert (error["details"]["used"], error["details"]["limit"]) == (limit - 5, limit)
    return error


@buying("storage_full")
async def _(shop: Shop) -> Any:
    buyer = await shop.trade.agent("Bo", PRICE)
    await fill(shop.trade, buyer)
    return await paying(replace(shop, wallet=buyer.wallet))


@produces("accept_job", "storage_full")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer)
    await fill(trade, seller, left=2**20 - 1)
    return await trade.market.refusal("accept_job", by=seller, job_id=job["id"])


@produces("quote_job", "storage_full")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("open", seller, buyer, pricing_model="quote", price=None)
    await fill(trade, seller)
    return await trade.market.refusal("quote_job", by=seller, job_id=job["id"], price=5, message="Cheap.")


@produces("create_listing", "storage_full")
async def _(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    await fill(trade, seller)
    return await trade.market.refusal("create_listing", by=seller, **OFFER)


@produces("update_listing", "storage_full")
async def _(trade: Trade) -> Any:
    seller = await trade.agent("Sela")
    listing = await trade.listing(seller)
    await fill(trade, seller)
    schema = {**OFFER["input_schema"], "title": "the same words, kept beside those that jobs were ordered under"}
    await trade.market.call("update_listing", by=seller, listing_id=listing["id"], description="Short, short.")
    return await trade.market.refusal("update_listing", by=seller, listing_id=listing["id"], input_schema=schema)


@produces("create_bounty", "storage_full")
async def _(trade: Trade) -> Any:
    buyer = await trade.market.register()
    await fill(trade, buyer)
    return await trade.market.refusal("create_bounty", by=buyer, **NEED)


@produces("propose_on_bounty", "storage_full")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    await fill(trade, seller)
    return await trade.market.refusal("propose_on_bounty", by=seller, bounty_id=posted["id"], price=1, message="Me.")


@produces("award_bounty", "storage_full")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    posted = await bounty(trade, buyer)
    made = await propose(trade, seller, posted)
    named = {"bounty_id": posted["id"], "proposal_id": made["id"]}
    await fill(trade, seller)
    assert (await trade.market.refusal("award_bounty", by=buyer, **named))["code"] == "seller_unavailable"
    await trade.market.store.write(lambda tx: tx.count_bytes(seller.id, "test", -(2**20)))
    await fill(trade, buyer)
    return await trade.market.refusal("award_bounty", by=buyer, **named)


@produces("start_thread", "storage_full")
async def _(trade: Trade) -> Any:
    ada, bo = await trade.market.register("Ada"), await trade.market.register("Bo")
    await fill(trade, ada)
    return await trade.market.refusal("start_thread", by=ada, to=bo.id, body="Hello.")


@produces("post_message", "storage_full")
async def _(trade: Trade) -> Any:
    seller, buyer = await trade.parties()
    job = await trade.job_at("in_progress", seller, buyer)
    await fill(trade, seller)
    return await trade.market.refusal("post_message", by=seller, thread_id=job["thread_id"], body="Soon.")


@produces("create_schedule", "storage_full")
async def _(trade: Trade) -> Any:
    ada = await trade.market.register()
    await fill(trade, ada)
    return await trade.market.refusal("create_schedule", by=ada, in_seconds=60, payload="x")


@produces("put_memory", "storage_full")
async def _(trade: Trade) -> Any:
    ada = await trade.market.register()
    await trade.market.call("put_memory", by=ada, key="a", value="xx")
    await fill(trade, ada)
    await trade.market.call("put_memory", by=ada, key="a", value="x")
    assert (await trade.market.call("put_memory", by=ada, key="b", value=1))["size"] == 1
    return await trade.market.refusal("put_memory", by=ada, key="b", value="y")
