"""A run of `emporion doctor --recompute` that is stopped after each page and continued finds what one run finds."""

from copy import deepcopy
from typing import Any

import pytest
from sqlalchemy import delete, update

from storage.query import Query
from storage.store import Store
from storage.tables import DailyCountRow, EventRow, JobRow, ReputationRow
from tests.support.trade import Trade
from tests.tools.operator.test_aggregate_checks import busy_market, differing, small_pages
from tools.operator.aggregate_checks import SOURCES
from tools.operator.recompute import Run, can_continue, ids_left, recompute

pytestmark = pytest.mark.both_databases


class Stop(Exception):
    """The run is stopped after a page, as a kill does."""


async def stopped_runs(store: Store) -> list[Run]:
    """Return a run after each of its pages, as it was written down."""
    runs = list[Run]()
    async for _ in recompute(store, note=lambda run, _: runs.append(deepcopy(run))):
        pass
    return runs


async def continued(store: Store, run: Run) -> dict[str, list[str]]:
    return {one.aggregate.table: one.keys async for one in recompute(store, deepcopy(run)) if one.keys}


async def in_steps(store: Store) -> tuple[dict[str, list[str]], int]:
    """Run with a stop after every page; return what differs, and the number of stops."""

    def stop(now: Run, _: int) -> None:
        kept.append(deepcopy(now))
        raise Stop

    kept = [Run()]
    while True:
        try:
            return {
                one.aggregate.table: one.keys async for one in recompute(store, deepcopy(kept[-1]), stop) if one.keys
            }, len(kept)
        except Stop:
            continue


async def spoil_each_kind(store: Store) -> None:
    """Write wrong values into rows that different sources find, one of them in an early page."""
    wrong: list[Any] = [
        update(JobRow).values(clock_at=None, counted=~JobRow.counted),
        update(ReputationRow).values(score=ReputationRow.score + 1),
        update(DailyCountRow).values(number=DailyCountRow.number + 1),
    ]
    for statement in wrong:
        await store.write(lambda tx, s=statement: tx.run(Query(s)))  # type: ignore[misc]


async def test_a_run_with_a_stop_after_every_page_finds_what_one_run_finds(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pages(monkeypatch)
    await busy_market(trade)
    store = trade.market.store
    assert (await in_steps(store))[0] == {}
    await spoil_each_kind(store)
    whole = await differing(store)
    assert {"jobs", "reputations", "daily_counts"} <= set(whole)
    found, stops = await in_steps(store)
    assert found == whole
    assert stops > 20


async def test_trade_between_the_pages_changes_no_verdict(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    small_pages(monkeypatch)
    await busy_market(trade)
    store = trade.market.store
    for run in (await stopped_runs(store))[::7]:
        seller, buyer = await trade.parties()
        await trade.failed(seller, buyer)
        await trade.job_at("completed", seller, buyer)
        assert await can_continue(store, run)
        assert await continued(store, run) == {}


async def test_a_wrong_row_that_was_corrected_meanwhile_is_not_named(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_pages(monkeypatch)
    await busy_market(trade)
    store = trade.market.store
    await spoil_each_kind(store)
    last = (await stopped_runs(store))[-1]
    again = {"jobs", "reputations", "daily_counts"} & set(await continued(store, last))
    assert again == {"jobs", "reputations", "daily_counts"}
    better = Query[None](update(ReputationRow.__table__).values(score=ReputationRow.score - 1))
    await store.write(lambda tx: tx.run(better))
    assert "reputations" not in await continued(store, last)


async def test_a_run_ends_with_the_state_of_the_database_that_it_was_begun_on(trade: Trade) -> None:
    """A restored backup lacks the newest event, or has another under its number."""
    await busy_market(trade)
    store = trade.market.store
    run = (await stopped_runs(store))[0]
    assert run.witness is not None
    newest = EventRow.id == run.witness.number
    assert await can_continue(store, run)
    other = Query[None](update(EventRow.__table__).where(newest).values(data="{}"))
    await store.write(lambda tx: tx.run(other))
    assert not await can_continue(store, run)
    gone = Query[None](delete(EventRow.__table__).where(newest))
    await store.write(lambda tx: tx.run(gone))
    assert not await can_continue(store, run)
    assert not await can_continue(store, Run()), "without any event there is nothing to recognise it by"


async def test_the_ids_that_are_left_become_fewer(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    small_pages(monkeypatch)
    await busy_market(trade)
    store = trade.market.store
    left = [sum((await ids_left(store, run)).values()) for run in (Run(), *await stopped_runs(store))]
    assert left == list(range(len(left) - 1, -1, -1))
    assert list(await ids_left(store, Run())) == [source.name for source in SOURCES]
