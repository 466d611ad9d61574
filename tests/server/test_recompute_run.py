"""The run of `emporion doctor --recompute`: stopped by a signal, continued from its file, and begun again."""

import os
import signal
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import orjson
import pytest
from sqlalchemy import delete, update

from server import recompute_run
from server.adapters.clock import SystemClock
from server.recompute_run import FILE_NAME, RunFile, Stopped, recomputed
from storage.query import Query
from storage.snapshots import open_reader
from storage.store import Store
from storage.tables import AgentRow, EventRow, JobRow
from tests.support.databases import Opening
from tests.support.market import TestMarket
from tests.support.trade import Trade
from tests.tools.operator.test_aggregate_checks import small_pages
from tools.operator.recompute import Run


async def verdict(store: Store, folder: Path, *, from_start: bool = False) -> list[str]:
    return [str(one) async for one in recomputed(store, folder, from_start) if one.count]


async def stopped_at(store: Store, folder: Path, page: int, by: signal.Signals) -> int:
    """Run until the signal after a page; return the exit code."""
    patch, write, pages = pytest.MonkeyPatch(), RunFile.write, list[Run]()

    def signalled(self: RunFile, run: Run) -> None:
        write(self, run)
        pages.append(run)
        if len(pages) == page:
            os.kill(os.getpid(), by)

    with patch.context() as patched:
        patched.setattr(RunFile, "write", signalled)
        with pytest.raises(Stopped) as stopped:
            await verdict(store, folder)
    return stopped.value.exit_code


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_a_run_and_the_next_one_continues(
    trade: Trade,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    by: signal.Signals,
) -> None:
    small_pages(monkeypatch)
    await trade.job_at("completed", *await trade.parties())
    store = trade.market.store
    late = Query[None](update(JobRow.__table__).values(revision_count=7))
    await store.write(lambda tx: tx.run(late))
    whole = await verdict(store, tmp_path)
    assert len(whole) == 1
    assert not (tmp_path / FILE_NAME).exists(), "a run that ended leaves no file"
    assert await stopped_at(store, tmp_path, 3, by) == 128 + by
    capsys.readouterr()
    assert await verdict(store, tmp_path) == whole
    assert "continues the run of " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"at": (SystemClock().now() - timedelta(hours=25)).isoformat()}, "begins again"),
        ({"revision": "0001"}, "begins again"),
        ({"sources": []}, "begins again"),
        ({"at": "2026-11-28T00:00:00"}, "cannot be read"),
        ({"run": None}, "cannot be read"),
        (None, "cannot be read"),
    ],
)
async def test_a_file_that_does_not_fit_begins_the_run_again(
    trade: Trade,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: dict[str, object] | None,
    said: str,
) -> None:
    await trade.job_at("open", *await trade.parties())
    store, path = trade.market.store, tmp_path / FILE_NAME
    await stopped_at(store, tmp_path, 1, signal.SIGTERM)
    kept = orjson.loads(path.read_bytes())
    path.write_bytes(b"{" if change is None else orjson.dumps(kept | change))
    assert await RunFile(path).read(store) == Run()
    assert said in capsys.readouterr().err
    path.write_bytes(orjson.dumps(kept))
    assert await RunFile(path).read(store) != Run()


SPAN = {"source": 0, "after": "", "upto": ""}


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "change",
    [
        {"source": 99},
        {"source": 0.5},
        {"after": None},
        {"wrong": [SPAN | {"source": 99}]},
        {"wrong": [SPAN | {"source": "0"}]},
        {"wrong": {}},
        {"witness": {"number": "1", "content": ""}},
        {"witness": {"number": 2**63, "content": ""}},
    ],
    ids=str,
)
async def test_a_place_that_cannot_be_begins_the_run_again(
    trade: Trade, tmp_path: Path, change: dict[str, object]
) -> None:
    """Refuse a place that would end the run, or leave it nothing to check."""
    await trade.job_at("open", *await trade.parties())
    store, path = trade.market.store, tmp_path / FILE_NAME
    await stopped_at(store, tmp_path, 1, signal.SIGTERM)
    kept = orjson.loads(path.read_bytes())
    path.write_bytes(orjson.dumps(kept | {"run": kept["run"] | change}))
    assert await RunFile(path).read(store) == Run()


async def test_a_restored_database_or_the_option_begins_the_run_again(
    trade: Trade, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await trade.job_at("open", *await trade.parties())
    store = trade.market.store
    await stopped_at(store, tmp_path, 1, signal.SIGTERM)
    assert await verdict(store, tmp_path, from_start=True) == []
    assert "continues" not in capsys.readouterr().err
    await stopped_at(store, tmp_path, 1, signal.SIGTERM)
    await store.write(lambda tx: tx.run(Query(delete(EventRow.__table__))))
    assert await verdict(store, tmp_path) == []
    assert "of another state of the database: begins again" in capsys.readouterr().err


async def test_a_line_says_how_far_it_came_where_stderr_is_no_terminal(
    trade: Trade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recompute_run, "LINE_SECONDS", -1.0)
    await trade.job_at("open", *await trade.parties())
    await verdict(trade.market.store, tmp_path)
    assert "recompute: jobs, 1 of 1" in capsys.readouterr().err.splitlines()


async def test_a_reader_of_a_served_file_lets_its_wal_begin_again(sqlite_url: str, opening: Opening) -> None:
    """It sees what is committed later, and lets the market begin its WAL again."""
    market, reader = TestMarket(opening(sqlite_url)), await open_reader(sqlite_url)
    try:
        await market.register()
        found = await reader.read(lambda tx: tx.all(Query[str](AgentRow.__table__.select())))
        assert len(found) == 1
        with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as other:
            assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0, "no reader is in the way"
    finally:
        reader.close()
