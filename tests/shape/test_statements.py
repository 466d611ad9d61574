"""Bounds on the SQL statements and WAL pages of calls; those of a list do not grow with its rows."""

import asyncio
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from storage.sqlite import SQLite
from tests.conftest import Opening
from tests.support.bounties import HELD, NEED, bounty, propose
from tests.support.market import Agent, TestMarket
from tests.support.panels import REASON
from tests.support.statement_counts import statements
from tests.support.trade import OFFER, Trade, binding

# The most statements of one call. Lower a number if the call takes fewer.
AT_MOST = {
    "get_me": 3,
    "get_agent": 1,
    "get_job": 4,
    "list_events": 1,
    "create_job": 12,
    "hire": 17,
    "accept_job": 7,
    "get_listing": 4,
    "search_listings": 2,
    "start_thread": 12,
    "post_message": 10,
    "put_memory": 5,
    "create_schedule": 5,
    "create_bounty": 13,
    "propose_on_bounty": 9,
    "award_bounty": 25,
    # Lists, with any number of rows.
    "list_jobs": 9,
    "get_inbox": 11,
    "list_threads": 3,
    "list_messages": 3,
    "list_my_listings": 5,
    "list_my_bounties": 3,
    "list_proposals": 7,
    "list_disputes": 5,
    "list_settlements": 1,
    "list_reviews": 3,
    "list_job_events": 3,
    "list_webhooks": 1,
    "list_schedules": 1,
    "list_memory": 1,
    "list_api_keys": 1,
    "search_bounties": 5,
    "search_agents": 3,
    "get_leaderboard": 2,
    "get_feed": 4,
    "get_opportunities": 3,
    # The steps of a paid trade.
    "a paid trade": 106,
    "deliver_job": 15,
    "pay_job": 22,
}
# The most 4 KB pages that one job may add to SQLite's WAL, by how many are ordered at once.
PAGES = {1: 30, 16: 12, 32: 9}
NO_ROWS = {"get_inbox", "list_job_events", "get_leaderboard", "get_opportunities"}  # the test adds none to them
FRAME, WAL_HEADER = 4096 + 24, 32


class Lists:
    """A seller and its customers, with as many of everything as a test asks for."""

    def __init__(self, trade: Trade) -> None:
        self.trade, self.market = trade, trade.market
        self.made = 0

    async def begin(self) -> None:
        self.seller, self.buyer = await self.trade.parties()
        await self.trade.known(self.buyer)
        self.posted = await bounty(self.trade, self.buyer, input=HELD)
        self.listing = await self.trade.listing(self.seller, price=0, max_open_jobs=1000)
        self.job = await self.trade.order(self.buyer, self.listing)

    async def add(self) -> None:
        """Add one of everything that a list shows."""
        trade, call, n = self.trade, self.market.call, self.made
        self.made += 1
        customer = await trade.agent(f"Customer {n}")
        listing = await trade.listing(self.seller, title=f"Translate {n}", output_schema=schema(n), price=0)
        job = await trade.order(customer, listing)
        await call("accept_job", by=self.seller, job_id=job["id"])
        job = await trade.deliver(self.seller, job, {"english": "good day", f"n{n}": 1})
        await call("request_revision", by=customer, job_id=job["id"], message="Once more.")
        job = await trade.deliver(self.seller, job, {"english": "good morning", f"n{n}": 1})
        await call("accept_job", by=customer, job_id=job["id"])
        await call("review_job", by=customer, job_id=job["id"], rating=5)
        disputed = await trade.deliver(self.seller, await trade.order(customer, listing), {"english": "x", f"n{n}": 1})
        await call("dispute_job", by=customer, job_id=disputed["id"], reason=REASON)
        await trade.order(customer, listing)
        await trade.failed(self.seller, await trade.agent(f"Payer {n}", 10_000_000))
        await call("start_thread", by=customer, to=self.seller.handle, body="Hello.")
        await call("post_message", by=self.buyer, thread_id=self.job["thread_id"], body="Hello.")
        await bounty(trade, self.seller, title=f"A poem {n}", input={"deliverable_schema": schema(n)})
        await propose(trade, customer, self.posted)
        await propose(trade, customer, await bounty(trade, self.seller, title=f"A song {n}"))
        await call("create_webhook", by=self.seller, url=f"https://agent.example/hook{n}")
        await call("create_schedule", by=self.seller, in_seconds=600)
        await call("put_memory", by=self.seller, key=f"a/{n}", value=1)
        await call("create_api_key", by=self.seller, env="test", name=f"key {n}", scopes=["read"])

    def calls(self) -> dict[str, tuple[Agent, dict[str, Any]]]:
        seller, buyer = self.seller, self.buyer
        return {
            "list_jobs": (seller, {"limit": 100}),
            "get_inbox": (seller, {}),
            "list_events": (seller, {"limit": 100}),
            "list_threads": (seller, {"limit": 100}),
            "list_messages": (seller, {"thread_id": self.job["thread_id"], "limit": 100}),
            "list_my_listings": (seller, {"limit": 100}),
            "list_my_bounties": (seller, {"limit": 100}),
            "list_proposals": (buyer, {"bounty_id": self.posted["id"], "limit": 100}),
            "list_disputes": (seller, {"limit": 100}),
            "list_settlements": (seller, {"limit": 100}),
            "list_reviews": (seller, {"agent_id": seller.id, "limit": 100}),
            "list_job_events": (seller, {"job_id": self.job["id"]}),
            "list_webhooks": (seller, {"limit": 100}),
            "list_schedules": (seller, {"limit": 100}),
            "list_memory": (seller, {"limit": 100}),
            "list_api_keys": (seller, {"limit": 100}),
            "search_listings": (seller, {"limit": 100}),
            "search_bounties": (seller, {"limit": 100}),
            "search_agents": (seller, {"limit": 100}),
            "get_leaderboard": (seller, {"limit": 100}),
            "get_feed": (seller, {"limit": 100}),
            "get_opportunities": (seller, {}),
        }


def schema(n: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"n{n}": {"type": "integer"}, "english": {"type": "string"}}}


async def test_a_call_runs_few_statements(trade: Trade) -> None:
    counted: dict[str, int] = {}
    count = statements(trade.market.store)
    seller, buyer = await trade.parties()
    await trade.known(buyer)
    listing = await trade.listing(seller)
    job = await trade.order(buyer, listing)
    posted, decided = await bounty(trade, buyer), await bounty(trade, buyer)
    made = await propose(trade, seller, decided)
    calls = {
        "get_me": (buyer, {}),
        "get_agent": (buyer, {"agent_id": seller.id}),
        "get_listing": (buyer, {"listing_id": listing["id"]}),
        "create_job": (buyer, {"listing_id": listing["id"], "input": {"text": "guten Tag"}}),
        "hire": (buyer, {"listing_id": listing["id"], "input": {"text": "guten Tag"}, "wait_seconds": 0}),
        "get_job": (buyer, {"job_id": job["id"]}),
        "search_listings": (buyer, {"q": "translate"}),
        "list_events": (buyer, {}),
        "accept_job": (seller, {"job_id": job["id"]}),
        "start_thread": (buyer, {"to": seller.handle, "body": "Hello."}),
        "post_message": (buyer, {"thread_id": job["thread_id"], "body": "Hello."}),
        "list_threads": (seller, {}),
        "list_messages": (seller, {"thread_id": job["thread_id"]}),
        "get_inbox": (seller, {}),
        "put_memory": (buyer, {"key": "a/b", "value": 1}),
        "list_memory": (buyer, {"prefix": "a/"}),
        "create_schedule": (buyer, {"in_seconds": 60}),
        "create_bounty": (buyer, NEED),
        "propose_on_bounty": (seller, {"bounty_id": posted["id"], "price": 1}),
        "award_bounty": (buyer, {"bounty_id": decided["id"], "proposal_id": made["id"]}),
    }
    for name, (agent, given) in calls.items():
        before = next(count)
        await trade.market.call(name, by=agent, **given)
        counted[name] = next(count) - before
    assert {name: cost for name, cost in counted.items() if cost > AT_MOST[name]} == {}


async def test_the_statements_of_a_list_do_not_grow_with_its_rows(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.sqlite.QUICK_SECONDS", 60.0)  # a scan that takes longer is run again in a thread
    count, lists = statements(trade.market.store), Lists(trade)
    seen: list[dict[str, tuple[int, int]]] = []
    await lists.begin()
    for more in (2, 5):
        for _ in range(more):
            await lists.add()
        counted = {}
        for name, (agent, given) in lists.calls().items():
            for _ in range(2):  # the first call fills caches
                before = next(count)
                found = await trade.market.call(name, by=agent, **given)
                counted[name] = (next(count) - before, len(found.get("data", ())))
        seen.append(counted)
    few, many = seen
    assert {name: (few[name], many[name]) for name in few if few[name][0] != many[name][0]} == {}
    assert {name: cost for name, (cost, _) in many.items() if cost > AT_MOST[name]} == {}
    assert {name for name in few if few[name][1] >= many[name][1]} <= NO_ROWS


async def test_a_paid_trade_runs_few_statements(trade: Trade) -> None:
    count, counted = statements(trade.market.store), dict[str, int]()
    seller, buyer = await trade.parties()
    await trade.known(buyer)
    listing = await trade.listing(seller)
    begun = next(count)
    job = await trade.order(buyer, listing)
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    before = next(count)
    await trade.deliver(seller, job)
    counted["deliver_job"] = next(count) - before
    sent = await trade.send(buyer, job)
    before = next(count)
    await trade.market.call("pay_job", by=buyer, job_id=job["id"], transaction=sent)
    counted["pay_job"] = next(count) - before
    await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    counted["a paid trade"] = next(count) - begun
    assert {name: cost for name, cost in counted.items() if cost > AT_MOST[name]} == {}


@pytest.mark.parametrize("at_once", PAGES)
async def test_a_job_adds_few_pages_to_the_wal(at_once: int, opening: Opening, sqlite_url: str) -> None:
    from eth_account import Account

    market = TestMarket(opening(sqlite_url))
    seller, buyer = await market.register("Sela"), await market.register("Bo")
    seller.wallet = Account.create()
    await market.call("set_wallet_address", by=seller, address=seller.wallet.address, signature=binding(seller))
    listing = await market.call("create_listing", by=seller, **OFFER | {"price": 0, "max_open_jobs": 1000})
    order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
    await market.call("create_job", by=buyer, **order)
    database = market.store.database
    assert isinstance(database, SQLite)
    with closing(sqlite3.connect(database.path)) as beside:
        assert beside.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    jobs = max(at_once, 8)  # fewer than SQLite's checkpoint, which begins the file again
    for _ in range(jobs // at_once):
        await asyncio.gather(*(market.call("create_job", by=buyer, **order) for _ in range(at_once)))
    size = database.path.with_name(f"{database.path.name}-wal").stat().st_size
    pages = (size - WAL_HEADER) / FRAME / jobs
    assert 0 < pages <= PAGES[at_once]
