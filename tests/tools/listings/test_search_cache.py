"""Cached pages of hits: no page is older than the last change that was answered."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from storage.listing_search import move_seen
from storage.store import Store
from tests.support.databases import Opening
from tests.support.market import TestMarket
from tests.tools.listings.test_search_operations import found, offer, prove, sellers
from tools.engine.caches import SEARCH_WEIGHT

pytestmark = pytest.mark.both_databases
WORDS = ("bridge", "harbour", "lantern")


def scans(store: Store, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return a function that counts the searches which the database has run since its last call."""
    counted, scan = 0, store.scan

    async def counting(read: Any) -> Any:
        nonlocal counted
        counted += 1
        return await scan(read)

    def since() -> int:
        nonlocal counted
        counted, before = 0, counted
        return before

    monkeypatch.setattr(store, "scan", counting)
    return since


async def test_a_search_that_was_made_before_asks_no_database(
    market: TestMarket, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ada,) = await sellers(market, "Ada")
    listing = await offer(market, ada)
    since = scans(market.store, monkeypatch)
    asked: tuple[dict[str, Any], ...] = (
        {},
        {"q": "translate"},
        {"sort": "cheapest"},
        {"limit": 1},
        {"q": "nothing like it"},
    )
    first = [await found(market, **one) for one in asked]
    assert (first[:4], since()) == ([[listing]] * 4, len(asked))
    async with asyncio.timeout(10):  # PostgreSQL repeats the name of the change a moment later
        while True:
            assert [await found(market, **one) for one in asked] == first
            if since() == 0:
                break
    assert await found(market, env="live") == []
    for _ in range(2):  # these depend on more than the index
        assert await found(market, seller=ada.handle) == [listing]
        assert await found(market, seen_within_seconds=3600) == []
    assert since() == 5


async def test_each_change_of_a_listing_is_in_the_next_search(market: TestMarket) -> None:
    ada, bo = await sellers(market, "Ada", "Bo")
    first, second = await offer(market, ada, title="A bridge"), await offer(market, bo, title="A bridge too")
    call = market.call

    async def order(*ids: str, **asked: Any) -> None:
        for _ in range(2):
            assert await found(market, q="bridge", **asked) == [*ids]

    await order(second, first)
    await call("update_listing", by=bo, listing_id=second, price=1)
    await order(second, first, sort="cheapest")
    await call("update_listing", by=ada, listing_id=first, price=0)
    await order(first, second, sort="cheapest")
    await prove(market, first, 5.0, graduated=True)
    await order(first, second)
    await prove(market, first, None, graduated=False)
    await order(second, first)
    await call("update_listing", by=bo, listing_id=second, status="paused")
    await order(first)
    await call("update_listing", by=bo, listing_id=second, status="active")
    await order(second, first)
    await call("archive_listing", by=ada, listing_id=first)
    await order(second)
    await call("update_listing", by=bo, listing_id=second, title="A harbour")
    await order()


async def test_cached_pages_are_those_of_the_database_after_any_changes(market: TestMarket) -> None:
    """Searches between changes agree with the same searches without a cache."""
    by = await sellers(market, "Ada", "Bo")
    ids = [(one, await offer(market, one, title=f"A {word}")) for word in WORDS for one in by]
    searches, pages = market.market.services.caches.searches, set[tuple[str, ...]]()
    for number in range(40):
        seller, listing = ids[number * 5 % len(ids)]
        word, price, status = WORDS[number % 3], number * 7 % 4, ("paused", "active", "active")[number // 6 % 3]
        await market.call(
            "update_listing", by=seller, listing_id=listing, title=f"A {word}", price=price, status=status
        )
        asked = [
            {
                "q": WORDS[number // 2 % 3],
                "sort": sort,
                "limit": 1 + number % 3,
                "max_price": (0, 1, 9)[number // 3 % 3],
            }
            for sort in ("relevance", "newest", "cheapest", "rating")
        ]
        cached = [await found(market, **one) for one in asked]
        searches.clear()
        assert [await found(market, **one) for one in asked] == cached
        pages |= {*map(tuple, cached)}
    assert len(pages) >= 10


async def test_fruitless_searches_take_room_too_and_a_drop_empties_all(
    sqlite_url: str, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    market = TestMarket(opening(sqlite_url))
    monkeypatch.setattr(market.market.services.caches.searches, "most", 5 * SEARCH_WEIGHT)
    searches = market.market.services.caches.searches
    for number in range(9):
        assert await found(market, q=f"nothing{number}") == []
    assert (len(searches.values), searches.size) == (5, 5 * SEARCH_WEIGHT)
    (ada,) = await sellers(market, "Ada")
    await offer(market, ada)
    assert (len(searches.values), searches.size, searches.owned) == (0, 0, {})


async def test_a_seller_that_stays_drops_no_searches(sqlite_url: str, opening: Opening) -> None:
    market = TestMarket(opening(sqlite_url))
    (ada,) = await sellers(market, "Ada")
    listing = await offer(market, ada)
    assert await found(market) == [listing]
    searches = market.market.services.caches.searches
    kept = dict(searches.values)
    await market.store.write(lambda tx: move_seen(tx, listing, market.clock.now() + timedelta(days=3)))
    assert searches.values == kept
    await market.store.write(lambda tx: move_seen(tx, listing, None))
    assert not searches.values
