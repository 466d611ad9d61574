"""On live, unpaid work adds no reputation: figures, listings, ranks, attestations, checks and the migration."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from storage.migrate import upgrade
from storage.store import Store
from storage.tables import ListingRow
from storage.transaction import Tx
from tests.requirements import covers
from tests.storage.test_reputation_migration import job, paid
from tests.support.earlier_revisions import at_revision
from tests.support.market import Agent, TestMarket
from tests.support.refusals import change_row
from tests.support.reputation import Ended, count, drift
from tests.support.trade import Trade
from tools.jobs.snapshot import load
from tools.listings.stats import drifted_listings, recount
from tools.reputation.records import EXPLAIN

ENOUGH = 10_000
EMPTY_HANDED = {"rating_avg": None, "rating_weighted": None, "rating_count": 0, "on_time_rate": None, "volume_usdc": 0}


async def live_listing(trade: Trade, seller: Agent) -> Any:
    """Make a listing and move it to live, where there is no chain."""
    listing = await trade.listing(seller)
    await change_row(trade, ListingRow, (listing["id"],), env="live")
    return listing


async def sold(store: Store, *jobs: Ended, rating: int | None = 5, refund: int = 0) -> None:
    """Insert jobs that ended, were rated, and were then refunded."""

    def happens(tx: Tx, one: Ended) -> None:
        one.write(tx)
        if rating is not None:
            one.rate(tx, rating)
        if refund:
            one.refund(tx, refund)
        row = one.row()
        recount(tx, row, load(tx, row).settlements)
        count(tx, one.id)

    for one in jobs:
        await store.write(lambda tx, one=one: happens(tx, one))  # type: ignore[misc]


def ended(seller: Agent, number: int, paid: int, listing: Any = None, **columns: Any) -> Ended:
    given = {"listing_id": listing["id"] if listing else None, **columns}
    return Ended(f"job_{number}", seller.id, f"agt_b{number}", paid, f"0x{number}", columns=given)


async def live(market: TestMarket, agent: Agent) -> Any:
    return (await market.call("get_reputation", agent_id=agent.id))["live"]


@covers("second.nothing.completed", "second.nothing.reviews", "second.nothing.check")
@pytest.mark.parametrize(("paid", "refund"), [(0, 0), (ENOUGH - 1, 0), (50 * ENOUGH, 50 * ENOUGH), (ENOUGH, 1)])
async def test_ten_jobs_for_nothing_leave_an_agent_as_it_was(store: Store, paid: int, refund: int) -> None:
    market = TestMarket(store)
    seller = await market.register("Sela")
    await sold(store, *(ended(seller, n, paid) for n in range(10)), refund=refund)
    found = await live(market, seller)
    side = found["as_seller"]
    assert (found["score"], side["jobs_completed"]) == (20, 0), "as a new agent"
    assert {name: side[name] for name in EMPTY_HANDED} == EMPTY_HANDED
    assert (side["jobs_completed_unpaid"], side["unpaid_reviews"], side["unpaid_rating_avg"]) == (10, 10, 5.0)
    checked = await market.call("check_counterparty", agent_id=seller.id, env="live")
    assert (checked["verdict"], checked["response_rate"], checked["distinct_wallets"]) == ("unknown", None, 0)
    leaders = await market.call("get_leaderboard", env="live")
    assert leaders["data"] == []
    attested = (await market.call("get_attestation", agent_id=seller.id, env="live"))["attestation"]
    assert attested["reputation"]["as_seller"]["rating_count"] == 0
    assert await drift(store) == {}


async def test_the_same_jobs_paid_make_a_name(store: Store) -> None:
    market = TestMarket(store)
    seller = await market.register("Sela")
    await sold(store, *(ended(seller, n, ENOUGH) for n in range(10)))
    side = (await live(market, seller))["as_seller"]
    assert (side["jobs_completed"], side["rating_count"], side["unpaid_reviews"]) == (10, 10, 0)
    assert (await market.call("check_counterparty", agent_id=seller.id, env="live"))["verdict"] == "ok"


@covers("second.nothing.against")
async def test_free_jobs_water_down_no_failures(store: Store) -> None:
    market = TestMarket(store)
    seller = await market.register("Sela")
    failed = {"status": "cancelled", "closed_as": "seller_failed"}
    await sold(store, *(ended(seller, n, 0, **failed) for n in range(3)), rating=None)
    before = await live(market, seller)
    await sold(store, *(ended(seller, n, 0) for n in range(10, 20)))
    after = await live(market, seller)
    assert after["score"] == before["score"]
    assert after["as_seller"]["on_time_rate"] == before["as_seller"]["on_time_rate"] == 0.0
    assert (await market.call("check_counterparty", agent_id=seller.id, env="live"))["verdict"] == "caution"


@covers("second.nothing.listing")
async def test_a_listing_is_rated_and_graduates_by_paid_jobs_alone(trade: Trade) -> None:
    seller = await trade.agent("Sela")
    listing = await live_listing(trade, seller)
    store = trade.market.store
    await sold(store, *(ended(seller, n, 0, listing) for n in range(5)))
    await sold(store, *(ended(seller, n, ENOUGH, listing) for n in range(10, 14)), rating=4)
    await sold(store, ended(seller, 20, ENOUGH, listing), refund=1)
    shown = await trade.market.call("get_listing", listing_id=listing["id"], env="live")
    stats = shown["stats"]
    assert (stats["jobs_completed"], stats["rating_avg"], stats["rating_count"]) == (4, 4.0, 4)
    assert (stats["unpaid_reviews"], stats["distinct_buyers"], shown["graduated"]) == (6, 4, False)
    assert await drifted_listings(store) == []


async def test_refunds_buy_no_bad_rating_back(trade: Trade) -> None:
    seller = await trade.agent("Sela")
    listing = await live_listing(trade, seller)
    store = trade.market.store
    await sold(store, ended(seller, 0, 100 * ENOUGH, listing), rating=5)
    await sold(store, *(ended(seller, n, 100 * ENOUGH, listing) for n in (1, 2, 3)), rating=1, refund=99 * ENOUGH + 1)
    side = (await live(trade.market, seller))["as_seller"]
    assert (side["rating_weighted"], side["rating_avg"], side["rating_count"]) == (2.44, 2.83, 4)
    assert (side["jobs_completed"], side["volume_usdc"], side["unpaid_reviews"]) == (1, 100 * ENOUGH, 0)
    stats = (await trade.market.call("get_listing", listing_id=listing["id"], env="live"))["stats"]
    assert (stats["rating_avg"], stats["rating_count"], stats["jobs_completed"]) == (2.0, 4, 1)
    assert await drifted_listings(store) == []
    assert await drift(store) == {}


async def test_reviews_of_free_jobs_give_a_listing_nothing_to_be_sorted_by(trade: Trade) -> None:
    seller = await trade.agent("Sela")
    listing = await live_listing(trade, seller)
    await sold(trade.market.store, *(ended(seller, n, 0, listing) for n in range(10)))
    row = await trade.market.store.read(lambda tx: tx.get(ListingRow, listing["id"]))
    assert row is not None
    assert (row.rating_sum, row.graduated) == (0, False)


async def test_on_test_every_job_counts(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("completed", seller, buyer, price=0)
    await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=5)
    found = (await trade.market.call("get_reputation", agent_id=seller.id))["test"]["as_seller"]
    assert (found["jobs_completed"], found["rating_count"], found["unpaid_reviews"]) == (1, 1, 0)


@covers("second.nothing.explain")
def test_explain_says_what_counts_for_nothing_and_what_a_sellers_cancel_is() -> None:
    assert "adds nothing favourable" in EXPLAIN["nothing_for_nothing"]
    assert "unpaid_reviews" in EXPLAIN["nothing_for_nothing"]
    assert "also counted in jobs_failed and as not on time" in EXPLAIN["jobs_cancelled"]


def kept_before() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield rows of an older market: a reviewed job of each environment, and a failed job."""
    for job_id, env, status in (
        ("job_live", "live", "completed"), ("job_test", "test", "completed"), ("job_lost", "live", "cancelled"),
    ):  # fmt: skip
        yield "jobs", job(job_id, env=env, status=status, payment="on_delivery", revision_count=0, listing_id="lst_1")
    yield "job_results", {
        "job_id": "job_live", "version": 1, "listing_id": "lst_1", "completed": True, "failed": False, "paid_minor": 0,
    }  # fmt: skip
    for role, rating in (("buyer", 5), ("seller", 3)):
        yield "reviews", {
            "job_id": "job_live", "reviewer_id": role, "id": f"rev_{role}", "env": "live", "subject_id": "agt_s",
            "role": role, "rating": rating, "job_value": 0, "machine_generated": False, "content_warnings": "[]",
            "created_at": 1,
        }  # fmt: skip


def refunded_before() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield two completed jobs of an older market, of which one was refunded."""
    for job_id, kind in (("job_paid", "payment"), ("job_back", "refund")):
        yield "jobs", job(job_id, status="completed", payment="on_delivery", revision_count=0)
        yield "settlements", paid(job_id, "settled", 1) | {"kind": kind}


def test_the_migration_has_refunded_jobs_counted_again(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with at_revision("0038", refunded_before(), database, tmp_path, request) as opened:
        upgrade(opened)
        with opened.engine.connect() as connection:
            assert connection.execute(text("SELECT job_id FROM unmarked_jobs")).scalars().all() == ["job_back"]


@covers("second.nothing.migration")
def test_the_migration_keeps_ratings_with_results_and_has_live_jobs_counted_again(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with at_revision("0030", kept_before(), database, tmp_path, request) as opened:
        upgrade(opened)
        with opened.engine.connect() as connection:
            assert connection.execute(text("SELECT rating FROM job_results")).scalars().all() == [5]
            waiting = connection.execute(text("SELECT job_id FROM unmarked_jobs")).scalars().all()
    assert waiting == ["job_live"]
