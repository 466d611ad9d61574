"""A new search token: an older market's listings are found by it once a worker has indexed them again."""

from typing import Any

import pytest
from sqlalchemy import func, select

import storage.listing_search
import storage.listing_search_tokens
import tools.listings.logic
from storage.listing_search import stale_listings_counted
from storage.listing_search_tokens import TOKENS_VERSION
from storage.query import Query
from storage.tables import ListingRow, ListingSearchRow
from tests.requirements import covers
from tests.support.trade import Trade

pytestmark = pytest.mark.both_databases

NEXT = TOKENS_VERSION + 1
INDEXED: Query[Any] = Query(
    select(ListingSearchRow.made_by, func.count()).group_by(ListingSearchRow.made_by).order_by(ListingSearchRow.made_by)
)


def upgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate the next version of the market, whose listings have one more token."""
    made = storage.listing_search.listing_tokens
    monkeypatch.setattr(storage.listing_search, "listing_tokens", lambda row, terms: made(row, terms) + " twnewtoken")
    for module in (storage.listing_search, tools.listings.logic):
        monkeypatch.setattr(module, "TOKENS_VERSION", NEXT)
    monkeypatch.setattr("server.workers.TOKENS_VERSION", NEXT)


async def waiting(trade: Trade) -> int | None:
    return await trade.market.store.read(lambda tx: tx.one(stale_listings_counted, version=NEXT))


@covers("second.reindex")
async def test_a_worker_indexes_listings_again_batch_by_batch(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools.listings.logic, "INDEXED_AT_ONCE", 2)
    seller = await trade.agent("Sela")
    made = [await trade.listing(seller) for _ in range(5)]
    await trade.market.call("archive_listing", by=seller, listing_id=made[0]["id"])
    upgrade(monkeypatch)
    asked = {"env": "test", "q": "newtoken"}
    assert (await trade.market.call("search_listings", **asked))["data"] == []
    assert await waiting(trade) == 4
    await trade.market.workers.index_listings()
    assert await waiting(trade) == 0
    assert len((await trade.market.call("search_listings", **asked))["data"]) == 4
    assert len((await trade.market.call("search_listings", env="test", q="translate"))["data"]) == 4
    assert await trade.market.store.read(lambda tx: tx.all(INDEXED)) in ([(NEXT, 4), (None, 1)], [(None, 1), (NEXT, 4)])


async def test_a_listing_it_fails_on_keeps_no_other_waiting(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    seller = await trade.agent("Sela")
    broken, whole = [await trade.listing(seller) for _ in range(2)]
    upgrade(monkeypatch)
    index = tools.listings.logic.index

    def failing(tx: Any, row: ListingRow) -> None:
        if row.id == broken["id"]:
            raise ValueError("spoilt")
        index(tx, row)

    monkeypatch.setattr(tools.listings.logic, "index", failing)
    await trade.market.workers.index_listings()
    assert await waiting(trade) == 0
    (found,) = (await trade.market.call("search_listings", env="test", q="newtoken"))["data"]
    assert found["id"] == whole["id"]
