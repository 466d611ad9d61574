"""Operations that a replica answers: the same answers as from the primary, and each caller's own writes."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.databases import Opening, PostgresDatabase, close
from tests.support.market import TestMarket
from tests.support.replica import Following, Replica
from tests.tools.listings.test_search_operations import found, offer, sellers
from tools.catalogue import CATALOGUE

LISTS = sorted(name for name, op in CATALOGUE.items() if op.may_lag)
SCANS = ["get_daily_stats", "get_demand", "get_dispute_stats", "get_opportunities", "get_stats", "search_agents"]
SCANS += ["list_jobs", "search_bounties", "search_listings"]


class Replicated:
    """A market with a replica, one seller with a listing, and an agent that wrote nothing."""

    def __init__(self, url: str, replica: str) -> None:
        self.following = Following(url, replica)
        self.market = TestMarket(self.following.store)
        self.following.store.now_seconds = self.following.clock  # the clock of the market does not move

    async def open(self) -> "Replicated":
        (self.seller,) = await sellers(self.market, "Ada")
        self.buyer = await self.market.register("Bo")
        self.listing = await offer(self.market, self.seller)
        await self.following.follows(self.seller.id)
        await self.following.follows(self.buyer.id)
        return self


@pytest.fixture
async def here(
    postgres_url: str, replica: Replica, postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Replicated]:
    monkeypatch.setattr("storage.postgres.PING_SECONDS", 0.01)
    monkeypatch.setattr("storage.replica.WATCH_SECONDS", 0.05)
    made = await Replicated(postgres_url, replica.url(postgres_database.name)).open()
    yield made
    await close(made.following.store)


def test_the_lists_that_may_lag_are_known() -> None:
    """Reads that wait, and those that an agent decides or pays by, are answered by the primary."""
    assert LISTS == [
        "get_feed", "get_leaderboard", "list_disputes", "list_memory", "list_messages",
        "list_my_bounties", "list_my_listings", "list_reviews", "list_settlements", "list_threads", "list_x402_services",
    ]  # fmt: skip


async def test_each_list_and_search_is_answered_by_the_replica_as_by_the_primary(
    here: Replicated, postgres_url: str, opening: Opening
) -> None:
    started = await here.market.call("start_thread", by=here.buyer, to=here.seller.id, body="Hello")
    await here.following.follows(here.buyer.id)
    primary = TestMarket(opening(postgres_url))
    given: dict[str, Any] = {
        "list_messages": {"thread_id": started["thread"]["id"]},
        "list_reviews": {"agent_id": here.seller.id},
    }
    counters = here.following.store.counters
    for name in (*LISTS, *SCANS):
        reads, misses = counters.replica_reads, counters.replica_misses
        asked = {"by": here.buyer, **given.get(name, {})}
        primary.clock.at = here.market.clock.at
        primary.dice.rolled = here.market.dice.rolled
        assert await here.market.call(name, **asked) == await primary.call(name, **asked), name
        assert counters.replica_reads > reads, name
        assert counters.replica_misses == misses, name


async def test_a_search_shows_what_the_caller_listed_while_nothing_is_replayed(
    here: Replicated, replica: Replica
) -> None:
    with replica.paused():
        second = await offer(here.market, here.seller, title="Photographs of bridges")
        mine = await here.market.call("list_my_listings", by=here.seller)
        assert second in [one["id"] for one in mine["data"]]
        assert set(await found(here.market, by=here.seller)) == {here.listing, second}
        assert await found(here.market, by=here.buyer) == [here.listing], "the replica answers the others"
        assert await found(here.market) == [here.listing]


async def test_an_agent_that_has_just_registered_finds_itself(here: Replicated, replica: Replica) -> None:
    with replica.paused():
        cy = await here.market.register("Cy")
        page = await here.market.call("search_agents", by=cy, q="Cy")
        assert [one["id"] for one in page["data"]] == [cy.id]


async def test_a_changed_listing_is_read_as_changed_while_nothing_is_replayed(
    here: Replicated, replica: Replica
) -> None:
    """Searches fill the cache of listings, and it never takes a row of the replica."""
    await found(here.market)
    with replica.paused():
        await here.market.call(
            "update_listing", by=here.seller, listing_id=here.listing, title="Photographs of bridges"
        )
        page = await here.market.call("search_listings", env="test")
        assert [one["title"] for one in page["data"]] == ["Photographs of bridges"]
    again = await here.market.call("get_listing", listing_id=here.listing, env="test")
    assert again["title"] == "Photographs of bridges"


async def test_a_listing_that_was_paused_is_not_found_while_nothing_is_replayed(
    here: Replicated, replica: Replica
) -> None:
    """An older hit says only where to look; the listing itself is read from the primary."""
    assert await found(here.market) == [here.listing]
    with replica.paused():
        await here.market.call("update_listing", by=here.seller, listing_id=here.listing, status="paused")
        assert await found(here.market) == []


async def test_a_list_of_what_the_replica_lacks_is_answered_and_not_refused(here: Replicated, replica: Replica) -> None:
    with replica.paused():
        cy = await here.market.register("Cy")
        assert (await here.market.call("list_reviews", by=here.buyer, agent_id=cy.id))["data"] == []
