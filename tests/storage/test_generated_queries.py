"""Generated queries through the operations: SQLite and PostgreSQL return the same ids in the same order."""

from collections import Counter, defaultdict
from random import Random  # noqa: TID251 - seeded: the same queries every time

import pytest

from tests.support.databases import Opening
from tests.support.equal_markets import SCRIPTS, SORTS, Json, Twins, filters, query
from tests.support.market import TestMarket

pytestmark = pytest.mark.both_databases

QUERIES = 230  # each runs on listings, bounties and agents; every tenth has only filters
PAGES = 3
SEARCHES = ("search_listings", "search_bounties", "search_agents")
FILTERS = {
    "search_listings": {"category", "tag", "seller", "max_price", "pricing_model", "payment", "graduated"},
    "search_bounties": {"category", "tag", "min_budget", "first_party"},
    "search_agents": {"tag", "capability", "framework", "domain", "verified"},
}


@pytest.fixture
async def twins(sqlite_url: str, postgres_url: str, opening: Opening) -> Twins:
    return Twins([TestMarket(opening(url)) for url in (sqlite_url, postgres_url)])


async def pages(twins: Twins, operation: str, asked: Json) -> list[list[str]]:
    """Return the ids of up to three pages; check that both markets agree, cursors included."""
    found, cursor = list[list[str]](), None
    while len(found) < PAGES:
        page = await twins.answer(operation, **asked, **({"cursor": cursor} if cursor else {}))
        found.append([one["id"] for one in page["data"]])
        cursor = page["next_cursor"]
        if cursor is None:
            break
    return found


async def test_generated_queries_give_the_same_ids_in_the_same_order_on_both_databases(twins: Twins) -> None:
    """Every script, filter and sort order finds something, and many queries fill three pages."""
    dice = Random(20261122)
    await twins.fill(dice, listings=120, bounties=90, agents=40)
    found, whole = defaultdict[str, Counter[str]](Counter), Counter[str]()
    for number in range(QUERIES):
        script = sorted(SCRIPTS)[number % len(SCRIPTS)]
        q = {"q": query(dice, script)} if number % 10 else {}
        for operation in SEARCHES:
            asked = filters(dice, operation, twins.agents)
            ids = await pages(twins, operation, q | asked)
            seen = [one for page in ids for one in page]
            assert len(seen) == len(set(seen)), (operation, q, asked)
            whole[operation] += len(ids) == PAGES
            for word in (*([script] if q else []), *asked, asked.get("sort", "")):
                found[operation][word] += bool(seen)
    for operation in SEARCHES:
        missing = ({*SCRIPTS} | FILTERS[operation]) - set(+found[operation])
        assert not missing, (operation, missing)
        assert whole[operation] >= QUERIES // 10, (operation, whole)
    assert {*SORTS} <= set(+found["search_listings"])
