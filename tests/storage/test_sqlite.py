"""SQLite only: durability of the file, its permissions, and its allowed locations."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import current_thread

import pytest
from sqlalchemy import select, text

from storage.open import open_database, open_store
from storage.query import Query
from storage.rows import metadata
from storage.sqlite import QUICK_SECONDS, REST
from storage.tables import AgentRow
from storage.transaction import Conflict, Tx, Unavailable
from tests.support.databases import Opening
from tests.support.storage_orders import count_jobs, job_ids, place

FULL = 2
COUNTING = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT count(*) FROM n"


def pragma(name: str) -> Callable[[Tx], object]:
    def read(tx: Tx) -> object:
        tx.cursor.execute(f"PRAGMA {name}")
        return tx.cursor.fetchone()[0]

    return read


async def test_a_commit_is_on_the_disk_before_it_is_answered(sqlite_url: str, opening: Opening) -> None:
    store = opening(sqlite_url)
    promised = ("journal_mode", "synchronous", "foreign_keys")
    assert [await store.write(pragma(name)) for name in promised] == ["wal", FULL, 1]


async def test_readers_open_the_file_for_reading_only(sqlite_url: str, opening: Opening) -> None:
    store = opening(sqlite_url)
    await store.write(place)
    assert [await way(pragma("query_only")) for way in (store.read, store.scan)] == [1, 1]
    checkpointed = store.database.read_cursor(1)
    with closing(checkpointed.connection), pytest.raises(sqlite3.OperationalError, match="disk I/O error"):
        checkpointed.execute("PRAGMA wal_checkpoint")


async def test_a_scan_that_is_not_quick_is_run_on_a_thread_and_the_next_ones_too_for_a_while(
    sqlite_url: str, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, ran = opening(sqlite_url), list[tuple[str, str]]()
    await store.read(pragma("query_only"))  # opens the connection, which alone may take longer than a quick read
    monkeypatch.setattr(store.loop, "time", lambda: clock[0])
    clock = [100.0]

    def scan(rows: int) -> Callable[[Tx], int]:
        def read(tx: Tx) -> int:
            ran.append((current_thread().name.partition("-")[0], str(rows)))
            tx.cursor.execute(COUNTING, [rows])
            counted: int = tx.cursor.fetchone()[0]
            return counted

        return read

    for seconds, rows in ((0, 9), (0, 900_000), (REST * QUICK_SECONDS / 2, 9), (60, 9)):
        clock[0] += seconds
        assert await store.scan(scan(rows)) == rows
    here, thread = "MainThread", "reader"
    assert ran == [(here, "9"), (here, "900000"), (thread, "900000"), (thread, "9"), (here, "9")]
    assert store.counters.scans == 4
    assert await store.read(scan(900_000)) == 900_000, "a look ends when it is done"


async def test_a_read_whose_time_is_over_ends_all_the_same_and_so_does_the_beginning_of_the_next(
    sqlite_url: str,
) -> None:
    database = open_database(sqlite_url)
    tx = database.reading(1)
    for _ in range(2_000):  # SQLite counts steps over all runs of a statement, and checks the time at every thousandth
        database.start_read(tx, -1)
        database.end_read(tx)
    database.close()


async def test_every_table_is_strict(sqlite_url: str, opening: Opening) -> None:
    listed = Query(
        select(text("name, strict"))
        .select_from(text("pragma_table_list"))
        .where(text("schema = 'main' AND type = 'table'"))
    )
    strict = dict(await opening(sqlite_url).read(lambda tx: tx.all(listed)))
    assert {name: strict[name] for name in metadata.tables} == dict.fromkeys(metadata.tables, 1)


def running(sql: str) -> Callable[[Tx], None]:
    def run(tx: Tx) -> None:
        tx.cursor.execute(sql)

    return run


async def test_a_word_is_not_kept_in_a_column_of_numbers(sqlite_url: str, opening: Opening) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="cannot store TEXT value in INTEGER column"):
        await opening(sqlite_url).write(running("INSERT INTO rate_windows VALUES ('a', 1, 0, 'many')"))


async def test_only_a_taken_key_is_a_conflict(sqlite_url: str, opening: Opening) -> None:
    store = opening(sqlite_url)
    with pytest.raises(sqlite3.IntegrityError, match="NOT NULL"):
        await store.write(running("INSERT INTO house (name) VALUES ('a')"))
    await store.write(running("INSERT INTO house VALUES ('a', 'b')"))
    with pytest.raises(Conflict, match="UNIQUE"):
        await store.write(running("INSERT INTO house VALUES ('a', 'b')"))


async def test_a_second_opening_of_the_file_is_refused_while_the_first_lives(sqlite_url: str, opening: Opening) -> None:
    store = opening(sqlite_url)
    with pytest.raises(Unavailable, match="served by another process; several processes need PostgreSQL"):
        open_store(sqlite_url)
    store.close()
    again = opening(sqlite_url)
    assert await again.write(place)


def test_a_second_process_is_kept_out_of_the_file(sqlite_url: str) -> None:
    first = open_database(sqlite_url)
    script = "import pathlib, sys; from storage.sqlite import SQLite; SQLite(pathlib.Path(sys.argv[1]))"
    second = [sys.executable, "-c", script, sqlite_url.removeprefix("sqlite:///")]
    ended = subprocess.run(second, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    first.close()
    assert ended.returncode == 1
    assert "served by another process" in ended.stderr


@pytest.mark.parametrize("name", ["a b.db", "a#b?c=d&e.db", "100%.db", "größe.db"])
async def test_a_file_may_have_any_name(tmp_path: Path, opening: Opening, name: str) -> None:
    store = open_store(f"sqlite:///{tmp_path / name}")
    placed = await store.write(place)
    store.close()
    assert await job_ids(opening(f"sqlite:///{tmp_path / name}")) == {placed.id}
    assert {path.name for path in files(tmp_path)} >= {name, f"{name}.lock"}
    assert all(path.name.startswith(name) for path in files(tmp_path))


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def test_a_folder_that_is_missing_is_told_plainly(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"none/market\.db cannot be opened: unable to open database file"):
        open_database(f"sqlite:///{tmp_path}/none/market.db")


def test_a_file_that_is_no_database_is_told_plainly_and_let_go_of(tmp_path: Path) -> None:
    path = tmp_path / "market.db"
    path.write_bytes(b"not a database " * 100)
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"market\.db cannot be opened: file is not a database"):
            open_database(f"sqlite:///{path}")
    path.unlink()
    open_database(f"sqlite:///{path}").close()


@pytest.mark.parametrize("url", ["mysql://host/db", "sqlite://", "sqlite:///", "sqlite:///:memory:", "market.db", ""])
def test_an_address_of_no_database_we_know_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"sqlite:///market\.db or postgresql://"):
        open_database(url)


async def test_a_corrupt_page_is_an_outage_and_not_a_refusal(sqlite_url: str, opening: Opening) -> None:
    store = opening(sqlite_url)
    store.close()
    garble(sqlite_url)
    with pytest.raises(Unavailable, match="malformed"):
        await opening(sqlite_url).read(lambda tx: tx.all(Query(select(AgentRow))))


def garble(url: str) -> None:
    """Overwrite every page except the first."""
    path = Path(url.removeprefix("sqlite:///"))
    sqlite3.connect(path).close()  # moves the write-ahead log into the file
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))


async def test_a_backup_through_a_reader_is_whole(sqlite_url: str, tmp_path: Path, opening: Opening) -> None:
    store = opening(sqlite_url)
    placed = await store.write(place)
    await store.scan(lambda tx: tx.cursor.connection.backup(sqlite3.connect(tmp_path / "backup.db")))
    assert await job_ids(opening(f"sqlite:///{tmp_path}/backup.db")) == {placed.id}


def cut(tx: Tx) -> None:
    tx.cursor.connection.close()
    tx.cursor.execute("SELECT 1")


async def test_a_reader_that_meets_an_error_opens_the_file_again(sqlite_url: str, opening: Opening) -> None:
    store = opening(sqlite_url)
    placed = await store.write(place)
    for way in (store.read, store.scan):
        with pytest.raises(sqlite3.ProgrammingError):
            await way(cut)
        assert await job_ids(store) == {placed.id}
    assert await store.scan(lambda tx: tx.one(count_jobs)) == 1
