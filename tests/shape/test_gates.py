"""The cost of calls in counts, not in time: commits, statements, thread switches, query plans, transaction length."""

import asyncio
import inspect
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from types import ModuleType
from typing import Any

import pytest

import storage.agents
import storage.bounties
import storage.events
import storage.jobs
import storage.listings
import storage.messages
import storage.quotas
import storage.requests
from server.app import Service
from server.http_limits import HttpLimits
from server.serve import Server, uvicorn_config
from server.settings import read_settings
from server.webhook_sender import Sender
from storage.postgres import PostgresStore
from storage.query import Query
from storage.tables import BountyRow, JobRow, ListingRow, ProposalRow
from storage.transaction import Tx
from storage.vocabulary import ThreadKind
from tests.conftest import Opening
from tests.support.market import Agent, TestMarket
from tests.support.market_fixtures import chain_process, trade  # noqa: F401 - fixtures
from tests.support.statement_counts import statements
from tests.support.trade import OFFER, Trade

MODULES: tuple[ModuleType, ...] = (
    storage.agents,
    storage.bounties,
    storage.requests,
    storage.events,
    storage.jobs,
    storage.listings,
    storage.messages,
    storage.quotas,
)
TASKS = (storage.jobs.tasks_of, storage.jobs.count_of_tasks)
MAKERS = [
    *(storage.messages.messages_of(newest_first) for newest_first in (True, False)),
    *(storage.messages.threads_of(kind) for kind in (None, *ThreadKind)),
    *(storage.events.events_by_kind(kinds) for kinds in (1, 30)),
    *(storage.events.schedules_of(filtered) for filtered in (True, False)),
    *(storage.jobs.jobs_of(role, statuses) for role in ("buyer", "seller", "both") for statuses in (0, 1, 12)),
    *(make(*kinds) for make in TASKS for kinds in product((True, False), repeat=3)),
    *(storage.agents.rows_at(JobRow, owner, "test", "open") for owner in ("buyer_id", "seller_id")),
    storage.agents.rows_at(ListingRow, "seller_id", "test", "paused"),
    storage.agents.rows_at(BountyRow, "buyer_id", "test", "open"),
    storage.agents.rows_at(ProposalRow, "seller_id", "test", "pending", locks=False),
    *(storage.jobs.reviews_about(by_role) for by_role in (True, False)),
]
READS_EVERYTHING = {"listing_ids"}  # the doctor's check of all figures, only from the command line


@pytest.fixture
async def sqlite_market(opening: Opening, sqlite_url: str) -> TestMarket:
    return TestMarket(opening(sqlite_url))


async def seller_of(market: TestMarket) -> tuple[Agent, Any]:
    from eth_account import Account

    from tests.support.trade import binding

    seller = await market.register("Sela")
    seller.wallet = Account.create()
    await market.call("set_wallet_address", by=seller, address=seller.wallet.address, signature=binding(seller))
    return seller, await market.call("create_listing", by=seller, **OFFER | {"price": 0, "max_open_jobs": 1000})


async def test_sixty_four_orders_in_flight_share_commits(sqlite_market: TestMarket) -> None:
    _, listing = await seller_of(sqlite_market)
    buyer = await sqlite_market.register("Bo")
    counters = sqlite_market.store.counters
    before = counters.commits
    order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
    await asyncio.gather(*(sqlite_market.call("create_job", by=buyer, **order) for _ in range(64)))
    assert (counters.commits - before) / 64 <= 0.30


async def test_a_listing_read_again_asks_the_database_nothing(sqlite_market: TestMarket) -> None:
    seller, listing = await seller_of(sqlite_market)
    await sqlite_market.call("get_listing", by=seller, listing_id=listing["id"])
    counters, count = sqlite_market.store.counters, statements(sqlite_market.store)
    before = (next(count), counters.looks, counters.scans, counters.units)
    await sqlite_market.call("get_listing", by=seller, listing_id=listing["id"])
    assert (next(count), counters.looks, counters.scans, counters.units) == before


async def test_a_thousand_warm_reads_on_postgres_ask_the_database_nothing(postgres_url: str, opening: Opening) -> None:
    """An hour has passed since the rows were read, and the listener was proven again."""
    store = opening(postgres_url)
    assert isinstance(store, PostgresStore)
    market = TestMarket(store)
    seller, _ = await seller_of(market)
    listings = [await market.call("create_listing", by=seller, **OFFER | {"price": 0}) for _ in range(40)]
    agents = [await market.register(f"Agent {number}") for number in range(25)]
    reads = [(agent, listing["id"]) for agent, listing in product(agents, listings)]

    async def read_all() -> tuple[int, int, int, int]:
        for agent, listing_id in reads:
            await market.call("get_listing", by=agent, listing_id=listing_id)
        return (next(count), store.counters.looks, store.counters.scans, store.counters.units)

    count = statements(store)
    market.clock.pass_seconds(1)  # so that the rows are read after the listener has begun to listen
    filled = await read_all()
    market.clock.pass_seconds(3_600)
    while store.proven_at < market.clock.monotonic():  # noqa: ASYNC110 - the listener has no event for a ping
        await asyncio.sleep(0.01)
    assert store.counters.looks >= len(agents) + len(listings)
    assert await read_all() == filled


async def test_a_read_by_key_crosses_no_thread(sqlite_market: TestMarket) -> None:
    agent = await sqlite_market.register()
    counters = sqlite_market.store.counters
    before = (counters.scans, counters.units)
    for name in ("get_me", "list_threads", "list_events"):
        await sqlite_market.call(name, by=agent)
    assert (counters.scans, counters.units) == before, "a look runs on the event loop itself"


def named_queries() -> Iterator[tuple[str, Query[Any]]]:
    for module in MODULES:
        for name, value in inspect.getmembers(module):
            if isinstance(value, Query) and name not in READS_EVERYTHING:
                yield f"{module.__name__}.{name}", value
    for number, query in enumerate(MAKERS):
        yield f"made.{number}", query


@pytest.mark.parametrize(("name", "query"), list(named_queries()), ids=lambda one: one if isinstance(one, str) else "")
async def test_no_query_reads_a_whole_table(name: str, query: Query[Any], opening: Opening, sqlite_url: str) -> None:
    store = opening(sqlite_url)

    def plan(tx: Any) -> list[str]:
        compiled = query.plan(tx.dialect)
        tx.cursor.execute("EXPLAIN QUERY PLAN " + compiled.sql, [None] * len(compiled.parameters))
        return [row[3] for row in tx.cursor.fetchall()]

    steps = await store.read(plan)
    bounded = (
        "json_each",
        "USING",
        "SCAN page_",
        "SCAN anon_",
        "SCAN (subquery",
    )  # a page, read by an index range
    whole = [step for step in steps if step.startswith("SCAN") and not any(word in step for word in bounded)]
    assert whole == [], name


async def test_a_large_delivery_takes_no_more_calls_in_its_unit_of_work_than_a_small_one(
    trade: Trade,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, calls = trade.market.store, Counter[str]()
    original = store.write

    async def profiled(unit: Any, *args: Any, **kwargs: Any) -> Any:
        def run(tx: Tx) -> Any:
            sys.setprofile(lambda frame, event, arg: calls.update([event] if "call" in event else []))
            try:
                return unit(tx)
            finally:
                sys.setprofile(None)

        return await original(run, *args, **kwargs)

    seller, buyer = await trade.parties()
    counts = []
    for size in (1, 1, 524_000):
        job = await trade.job_at("in_progress", seller, buyer, output_schema=None, example_output=None)
        calls.clear()
        with monkeypatch.context() as patch:
            patch.setattr(store, "write", profiled)
            await trade.deliver(seller, job, {"text": "x" * size})
        counts.append(calls.total())
    assert 0 < counts[2] <= counts[1] * 1.05  # the first one also fills caches


async def test_a_fan_out_asks_as_much_however_many_others_have_webhooks(sqlite_market: TestMarket) -> None:
    sender, count, costs = Sender(sqlite_market.market), statements(sqlite_market.store), list[int]()
    ada = await sqlite_market.register()
    for others in (1, 0, 20):
        agents = [ada] if others == 1 else [await sqlite_market.register() for _ in range(others)]
        for agent in agents:
            await sqlite_market.call("create_webhook", by=agent, url="https://agent.example/hook")
        at = sqlite_market.clock.now()
        await sqlite_market.store.write(lambda tx, at=at: tx.emit(ada.id, "test", "job.created", "{}", at))
        before = next(count)
        await sender.fan_out()
        costs.append(next(count) - before)
    assert costs[1] == costs[2] <= 10  # one of them counts the queue


def test_the_fast_loop_and_parser_are_demanded_by_name(tmp_path: Any) -> None:
    settings = read_settings(_env_file=None, data_dir=tmp_path)
    service = Service(settings)
    config = uvicorn_config(service, settings)
    assert (config.loop, config.http, config.access_log, config.proxy_headers) == ("uvloop", "httptools", False, False)
    assert (
        config.timeout_keep_alive > 60
    )  # proxies keep an idle connection this long, so no request may reach a closed one
    served_by = Server(config, service).config.http
    assert isinstance(served_by, type)
    assert issubclass(served_by, HttpLimits)
