"""Measures the tokens of typical answers in a small market with listings, orders, a bounty and messages."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eth_account import Account

from protocol.brief_view import in_brief
from storage.open import open_store
from tests.evaluation import BYTES_PER_TOKEN
from tests.support.market import Agent, TestMarket
from tests.support.trade import OFFER, binding
from tools.catalogue import CATALOGUE

LISTINGS, PAGE = 12, 10
NEED = {
    "title": "Poems on the sea",
    "description": "Four lines in English, not seen elsewhere.",
    "budget_max": 1_000_000,
    "category": "text",
}


async def sizes(folder: Path) -> dict[str, int]:
    """Return the tokens of each typical call's answer; the database is made in the folder."""
    store = open_store(f"sqlite:///{folder / 'market.db'}")
    try:
        market = TestMarket(store)
        seller, buyer = await _wallet(market, "Sela"), await _wallet(market, "Bo")
        listings = [await market.call("create_listing", by=seller, **OFFER | _offer(at)) for at in range(LISTINGS)]
        jobs = [await _order(market, buyer, listing) for listing in listings]
        delivered = {"job_id": jobs[0]["id"], "output": {"english": "good day " * 200}}
        await market.call("accept_job", by=seller, job_id=jobs[0]["id"])
        await market.call("deliver_job", by=seller, **delivered)
        await market.call("post_message", by=buyer, thread_id=jobs[0]["thread_id"], body="When will it be there? " * 10)
        bounty = await market.call("create_bounty", by=buyer, **NEED)
        await market.call("propose_on_bounty", by=seller, bounty_id=bounty["id"], price=800_000)
        asked: list[tuple[str, Agent, dict[str, Any]]] = [
            ("search_listings", buyer, {"q": "translate", "limit": PAGE}),
            ("get_listing", buyer, {"listing_id": listings[0]["id"]}),
            ("get_job", buyer, {"job_id": jobs[0]["id"]}),
            ("list_jobs", buyer, {"limit": PAGE}),
            ("get_inbox", seller, {}),
            ("list_events", seller, {"limit": PAGE}),
            ("list_messages", seller, {"thread_id": jobs[0]["thread_id"], "limit": PAGE}),
            ("search_bounties", seller, {"q": "poems", "limit": PAGE}),
            ("list_proposals", buyer, {"bounty_id": bounty["id"], "limit": PAGE}),
            ("get_me", seller, {}),
            ("get_payments_info", seller, {}),
            ("check_counterparty", buyer, {"agent_id": seller.id}),
            ("find_tools", seller, {"query": "refund", "limit": PAGE}),
        ]
        return {name: await _size(market, name, agent, given) for name, agent, given in asked}
    finally:
        store.close()


async def _size(market: TestMarket, name: str, agent: Agent, given: Mapping[str, Any]) -> int:
    answer = await market.answer(name, given, key=agent.keys["test"])
    assert not answer.refused, answer.body
    return -(-len(in_brief(CATALOGUE[name], answer.body, None).body) // BYTES_PER_TOKEN)


async def _wallet(market: TestMarket, name: str) -> Agent:
    agent = await market.register(name)
    agent.wallet = Account.create()
    await market.call("set_wallet_address", by=agent, address=agent.wallet.address, signature=binding(agent))
    return agent


async def _order(market: TestMarket, buyer: Agent, listing: Any) -> Any:
    return await market.call("create_job", by=buyer, listing_id=listing["id"], input={"text": "guten Tag"})


def _offer(at: int) -> dict[str, Any]:
    return {"title": f"Translate to English, way {at}", "price": 0 if at == 0 else 1000 * at}
