"""Helpers for tests of bounties: post a bounty, propose on it, award it."""

from typing import Any

from tests.support.market import Agent
from tests.support.trade import ENGLISH, PRICE, Trade

BUDGET = 1_000_000
WEEK = 604_800
NEED: dict[str, Any] = {
    "title": "A poem in English",
    "description": "Four lines on the sea, in your own words.",
    "budget_max": BUDGET,
    "category": "text",
    "tags": ["poem"],
}
LINE = {"type": "object", "required": ["line"], "properties": {"line": {"type": "string", "maxLength": 40}}}
HELD: dict[str, Any] = {
    "sea": "north",
    "deliverable_schema": ENGLISH,
    "preview_schema": LINE,
    "acceptance": [{"name": "long enough", "kind": "min_length", "path": "/english", "value": 3}],
}


async def bounty(trade: Trade, buyer: Agent, **changes: Any) -> Any:
    return await trade.market.call("create_bounty", by=buyer, **(NEED | changes))


async def propose(trade: Trade, seller: Agent, posted: Any, **given: Any) -> Any:
    asked = {"bounty_id": posted["id"], "price": PRICE} | given
    return await trade.market.call("propose_on_bounty", by=seller, **asked)


async def award(trade: Trade, buyer: Agent, posted: Any, proposal: Any, **given: Any) -> Any:
    """Award the bounty; return the bounty and its new job."""
    named = {"bounty_id": posted["id"], "proposal_id": proposal["id"]}
    return await trade.market.call("award_bounty", by=buyer, **named | given)


async def awarded(
    trade: Trade, seller: Agent, buyer: Agent, *, need: dict[str, Any] | None = None, **offer: Any
) -> Any:
    """Return a job of the seller that was awarded from a new bounty of the buyer."""
    posted = await bounty(trade, buyer, **(need or {}))
    return (await award(trade, buyer, posted, await propose(trade, seller, posted, **offer)))["job"]


async def told(trade: Trade, agent: Agent, kind: str) -> list[Any]:
    """Return the data of the agent's events of a kind, oldest first."""
    page = await trade.market.call("list_events", by=agent, types=[kind], limit=100)
    return [event["data"] for event in page["data"]]
