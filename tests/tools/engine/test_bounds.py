"""Bounds on the data that one caller can make the market store, read or return at once."""

from typing import Any

import orjson
import pytest
from sqlalchemy import func, select

from storage.cache import Cache
from storage.events import events_by_kind
from storage.query import Query
from storage.store import Store
from storage.tables import EventRow, JobRow, ResponseBodyRow, StoredResponseRow
from storage.transaction import Tx
from tests.support.market import TestMarket
from tests.support.storage_orders import job
from tests.support.trade import Trade
from tools.engine.rate_limits import ALLOWANCES, MAX_BUCKETS, FixedWindowCounter, Rate
from tools.events import operations as events
from tools.kernel.records import EPOCH

bodies: Query[Any] = Query(select(func.count()).select_from(ResponseBodyRow.__table__))
answers: Query[Any] = Query(select(func.count()).select_from(StoredResponseRow.__table__))
event_count: Query[Any] = Query(select(func.count()).select_from(EventRow.__table__))
BIG = {"input_schema": None, "output_schema": None, "example_output": None}


async def paged(market: TestMarket, operation: str, **given: Any) -> tuple[list[list[str]], list[int]]:
    """Return the ids and the size of each page, to the last."""
    pages, sizes, cursor = [], [], {}
    while True:
        page = await market.call(operation, **given, **cursor)
        pages.append([one["id"] for one in page["data"]])
        sizes.append(len(orjson.dumps(page)))
        if not page["has_more"]:
            return pages, sizes
        cursor = {"cursor": page["next_cursor"]}


@pytest.mark.parametrize("sort", ["relevance", "newest", "cheapest", "rating"])
async def test_a_page_of_listings_ends_before_it_grows_large(
    trade: Trade, monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    monkeypatch.setattr("tools.listings.search_operations.MAX_PAGE", 100_000)
    seller, other = await trade.agent("Sela"), await trade.agent("Sol")
    made = [
        (await trade.listing(agent, **BIG, example_input={"text": "x" * 20_000}))["id"]
        for agent in (seller, seller, other, seller, other)
    ]
    pages, sizes = await paged(trade.market, "search_listings", env="test", sort=sort, limit=100)
    assert sorted(id for page in pages for id in page) == sorted(made), "each once"
    assert (len(pages), max(sizes) < 110_000) == (3, True)


async def test_a_page_of_jobs_ends_before_it_grows_large(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.engine.paging.MAX_PAGE", 50_000)
    seller, buyer = await trade.parties()
    await trade.known(buyer)
    listing = await trade.listing(seller, **BIG, example_input=None)
    made = [(await trade.order(buyer, listing, input={"text": "y" * 20_000, "n": n}))["id"] for n in range(5)]
    pages, sizes = await paged(trade.market, "list_jobs", by=buyer, limit=100)
    assert [id for page in pages for id in page] == sorted(made, reverse=True)
    assert (len(pages), max(sizes) < 60_000) == (3, True)


async def test_one_record_larger_than_a_page_is_still_shown(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.engine.paging.MAX_PAGE", 10)
    seller, buyer = await trade.parties()
    await trade.known(buyer)
    listing = await trade.listing(seller)
    made = [(await trade.order(buyer, listing))["id"] for _ in range(2)]
    assert await paged(trade.market, "list_jobs", by=buyer) == (
        [[made[1]], [made[0]]],
        pytest.approx([0, 0], abs=10_000),
    )


async def test_a_cache_is_bounded_by_the_size_of_what_it_holds(store: Store) -> None:
    cache: Cache[bytes] = Cache(store, 100, len)

    async def put(name: str, size: int) -> None:
        async def read() -> bytes:
            return bytes(size)

        await cache.fetch(name, read)

    for number in range(10):
        await put(f"n{number}", 30)
    assert (list(cache.values), cache.size) == (["n7", "n8", "n9"], 90)
    cache.invalidate(["n8", "none"])
    assert (list(cache.values), cache.size) == (["n7", "n9"], 60)
    await put("huge", 1_000)
    assert (list(cache.values), cache.size) == ([], 0), "what does not fit is not kept"


@pytest.mark.parametrize("few", [1, 20, 50])
async def test_a_filter_finds_what_it_names_however_far_apart_it_is(
    store: Store, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(events, "FEW", few)
    market = TestMarket(store)
    agent, other = await market.register(), await market.register()

    def tell(tx: Tx) -> None:
        for number in range(1, 36):
            kind = {3: "webhook.test", 24: "job.paid", 25: "webhook.test", 34: "job.paid"}.get(number, "schedule.fired")
            for one in (agent, other):
                tx.emit(one.id, "test", kind, orjson.dumps({"n": number}).decode(), market.clock.now())

    await store.write(tell)
    seen, since = [], {}
    for expected in (True, False):
        page = await market.call("list_events", by=agent, types=["webhook.test", "job.*"], limit=2, **since)
        seen += [event["data"]["n"] for event in page["data"]]
        assert page["has_more"] is expected
        since = {"since": page["next_since"]}
    assert seen == [3, 24, 25, 34]
    last = await market.call("list_events", by=agent, types=["webhook.test", "job.*"], **since)
    assert (last["data"], last["next_since"], last["has_more"]) == ([], since["since"], False)


@pytest.mark.both_databases
async def test_rare_kinds_are_read_by_their_index(store: Store) -> None:
    """Neither events of other kinds nor a sort of the agent's events."""
    agent = await TestMarket(store).register()

    def fill(tx: Tx) -> None:
        for number in range(3_000):
            tx.emit(agent.id, "test", "schedule.fired", f'{{"n":{number}}}', EPOCH)
        tx.write_events()
        tx.events.clear()
        if not tx.is_sqlite:
            tx.cursor.execute("ANALYZE events")  # otherwise the plan depends on when the server did it last

    def plan(tx: Tx) -> str:
        made = events_by_kind(3).plan(tx.dialect)
        kinds = {"kind_0": "a", "kind_1": "b", "kind_2": "c"}
        given = {"agent_id": agent.id, "env": "test", "after": 0, "limit": 20, **kinds}
        explain = "EXPLAIN QUERY PLAN " if tx.is_sqlite else "EXPLAIN "
        tx.cursor.execute(explain + made.sql, made.bind(given))
        return "\n".join(str(row[-1]) for row in tx.cursor.fetchall())

    await store.write(fill)
    found = await store.scan(plan)
    assert found.count("ix_events_agent_id_env_kind_id") == 3, found
    assert "ix_events_agent_id_env_id" not in found


async def test_a_large_answer_given_often_is_kept_once(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    listing = await trade.listing(seller, **BIG, example_input=None)
    job = await trade.order(buyer, listing, input={"text": "z" * 100_000})
    await trade.market.call("accept_job", by=seller, job_id=job["id"])
    given = {"job_id": job["id"]}
    first = await trade.market.answer("accept_job", given, key=seller.keys["test"], repeat="a-key-number-1")
    for number in range(2, 12):
        await trade.market.answer("accept_job", given, key=seller.keys["test"], repeat=f"a-key-number-{number}")
    store = trade.market.store
    assert await store.read(lambda tx: (tx.one(answers), tx.one(bodies))) == (11, 1)
    again = await trade.market.answer("accept_job", given, key=seller.keys["test"], repeat="a-key-number-7")
    assert (again.replayed, again.body) == (True, first.body)
    trade.market.pass_seconds(25 * 3600)
    await trade.market.workers.purge_old()
    assert await store.read(lambda tx: (tx.one(answers), tx.one(bodies))) == (0, 0)


async def test_housekeeping_deletes_in_batches_until_nothing_old_is_left(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.operator.retention.BATCH", 7)
    market = TestMarket(store)
    agent = await market.register()

    def tell(tx: Tx) -> None:
        for _ in range(30):
            tx.emit(agent.id, "test", "webhook.test", "{}", market.clock.now())

    await store.write(tell)
    market.pass_seconds(91 * 86_400)
    units = store.counters.units
    await market.workers.purge_old()
    assert store.counters.units - units == 5
    assert await store.read(lambda tx: tx.one(event_count)) == 0


async def test_jobs_of_both_roles_are_paged_newest_first(store: Store) -> None:
    market = TestMarket(store)
    ada = await market.register("Ada")

    def write(tx: Tx) -> None:
        for number in range(30):
            made = job(f"job_{number:02}").__dict__
            party = {"buyer_id": ada.id} if number % 3 else {"seller_id": ada.id}
            status = "open" if number % 2 else "cancelled"
            tx.add(JobRow(**made | party | {"status": status, "listing_id": None}))

    await store.write(write)
    for wanted in ({}, {"role": "buyer"}, {"role": "seller"}, {"status": "open"}, {"role": "buyer", "status": "open"}):
        rows = [
            f"job_{number:02}"
            for number in reversed(range(30))
            if wanted.get("role") in (None, "buyer" if number % 3 else "seller")
            and wanted.get("status") in (None, "open" if number % 2 else "cancelled")
        ]
        found = await store.read(lambda tx, wanted=wanted: ids(tx, ada.id, wanted))
        assert found == rows[:7], wanted


def ids(tx: Tx, agent_id: str, wanted: dict[str, str]) -> list[str]:
    from storage.jobs import jobs_of

    query = jobs_of(wanted.get("role", "both"), int("status" in wanted))
    named = {"status_0": wanted["status"]} if "status" in wanted else {}
    return [row.id for row in tx.all(query, agent_id=agent_id, env="test", before="job_~", limit=7, **named)]


def test_the_windows_of_many_addresses_are_forgotten_many_at_a_time() -> None:
    windows = FixedWindowCounter()
    for number in range(MAX_BUCKETS + 1):
        windows.count(Rate.READS, ALLOWANCES[Rate.READS], f"10.{number}", 0.0)
    assert len(windows.counts) == MAX_BUCKETS - MAX_BUCKETS // 5 + 1
