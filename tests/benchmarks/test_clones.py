"""A job copied by SQL is a whole job for the market, on both databases."""

from typing import Any

import pytest

from benchmarks.clones import Model, clone
from benchmarks.clones_figures import more_agents, write_figures
from tests.support.trade import Trade
from tests.tools.operator.test_aggregate_checks import differing

COPIES = 30


def tables_of(trade: Trade) -> dict[str, int]:
    """Count the rows of a trade."""
    tx = trade.market.store.database.reading(60)
    names = ("jobs", "threads", "settlements", "reviews", "job_deliveries", "job_texts", "job_events", "events")
    counts: dict[str, int] = {}
    for name in names:
        tx.cursor.execute(f"SELECT count(*) FROM {name}")
        counts[name] = tx.cursor.fetchone()[0]
    trade.market.store.database.discard(tx)
    return counts


@pytest.mark.both_databases
async def test_a_copied_job_is_a_whole_job(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    job = await trade.job_at("delivered", seller, buyer)
    await trade.pay(buyer, job)
    await trade.market.call("accept_job", by=buyer, job_id=job["id"])
    await trade.market.call("review_job", by=buyer, job_id=job["id"], rating=5)
    before = tables_of(trade)
    listings = [(await trade.listing(seller))["id"] for _ in range(2)]
    others = [await trade.market.register(name) for name in ("Ada", "Bela", "Cara")]

    clone(trade.market.store.database, [Model(job["id"], COPIES)], [agent.id for agent in others], listings)

    after = tables_of(trade)
    for name in ("jobs", "threads", "settlements", "reviews", "job_deliveries"):
        assert after[name] == before[name] + COPIES, name
    assert after["job_events"] == before["job_events"] * (COPIES + 1)
    assert after["job_texts"] == before["job_texts"] * (COPIES + 1)
    original: dict[str, Any] = await trade.seen(buyer, job)
    copies: dict[str, dict[str, Any]] = {}
    for agent in others:
        page = await trade.market.call("list_jobs", by=agent, limit=100)
        copies |= {one["id"]: one for one in page["data"]}
        assert len(page["data"]) == COPIES * 2 / len(others), "each is a buyer and a seller in turn"
        events = await trade.market.call("list_events", by=agent, limit=100)
        assert {event["data"].get("job_id") for event in events["data"]} <= {*copies, None}
    assert len(copies) == COPIES
    assert {copy["listing_id"] for copy in copies.values()} == {*listings}
    for copy in copies.values():
        assert copy["buyer"]["id"] != copy["seller"]["id"]
        assert copy["thread_id"] != original["thread_id"]
        assert (copy["status"], copy["input"], copy["output"]) == ("completed", original["input"], original["output"])


@pytest.mark.both_databases
async def test_the_figures_of_copies_are_those_that_the_doctor_makes_again(trade: Trade) -> None:
    seller, buyer = await trade.parties()
    jobs = [await trade.job_at(status, seller, buyer) for status in ("completed", "delivered", "open")]
    database, models = trade.market.store.database, [job["id"] for job in jobs]
    agents = more_agents(database, 0, 6)
    clone(database, [Model(job, COPIES) for job in models], agents, [jobs[0]["listing_id"]])
    names = {"reputations", "reputation_categories", "reputation_counterparties", "daily_counts"}
    assert names & set(await differing(trade.market.store))
    write_figures(database, models)
    assert names & set(await differing(trade.market.store)) == set()
