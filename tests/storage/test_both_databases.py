"""Both databases run the same tests, and the tests' own server changes no existing files."""

import contextlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import psycopg
import pytest

from storage.store import Store
from tests.support.databases import DATABASES, Binaries, PostgresDatabase, PostgresServer, installed, modes_above, wheel

ROOT = Path(__file__).parents[2]
BRACKETS = re.compile(r"(?<=[\[-])(sqlite|postgres)(?=[\]-])")
SOURCES = {name: found for name, found in (("installed", installed()), ("wheel", wheel())) if found}


def test_every_test_of_one_database_is_also_a_test_of_the_other(collected: list[pytest.Item]) -> None:
    ids: dict[str, set[str]] = {database: set() for database in DATABASES}
    for item in collected:
        callspec = getattr(item, "callspec", None)
        database = callspec.params.get("database") if callspec else None
        if database:
            ids[database].add(BRACKETS.sub("*", item.nodeid, count=1))
            assert f"{database}" in BRACKETS.findall(item.nodeid), "its id names its database"
    assert ids["sqlite"] == ids["postgres"]
    assert len(ids["sqlite"]) == len(ids["postgres"]) > 0
    print(f"{len(ids['sqlite'])} tests on each of {' and '.join(DATABASES)}")


async def test_each_database_is_the_one_its_id_names(store: Store, database: str) -> None:
    assert store.database.dialect.name == {"sqlite": "sqlite", "postgres": "postgresql"}[database]


def test_no_test_names_a_database_in_its_id_by_hand(collected: list[pytest.Item]) -> None:
    """An id with `[sqlite]` written by hand would not be in the comparison above."""
    by_hand = [
        item.nodeid
        for item in collected
        if BRACKETS.search(item.nodeid) and "database" not in getattr(getattr(item, "callspec", None), "params", {})
    ]
    assert by_hand == []


def test_no_test_is_skipped_for_want_of_a_database(collected: list[pytest.Item]) -> None:
    marked = [
        item.nodeid for item in collected for mark in ("skip", "skipif", "xfail") if item.get_closest_marker(mark)
    ]
    assert marked == []


@pytest.mark.parametrize("source", SOURCES)
def test_a_server_runs_from_each_source_and_changes_no_folders_mode(
    source: str, tmp_path: Path, modes_before: dict[Path, int]
) -> None:
    before = modes_above(*modes_before, tmp_path, SOURCES[source].folder)
    server = PostgresServer(SOURCES[source])
    try:
        with psycopg.connect(PostgresDatabase(server).url) as connection:
            durable = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "synchronous_commit")]
            port = connection.execute("SHOW listen_addresses").fetchone()
    finally:
        server.stop()
    assert (durable, port) == ([("on",), ("on",)], ("",))
    assert modes_above(*before) == before
    assert not server.folder.exists()


def test_the_tests_own_server_changed_no_folders_mode(postgres: PostgresServer, modes_before: dict[Path, int]) -> None:
    """The modes are compared with those before any server was made."""
    assert Path(postgres.url().partition("host=")[2]).is_relative_to(tempfile.gettempdir())
    assert modes_above(*modes_before) == modes_before


def test_a_server_ends_with_the_tests_however_they_end_and_the_next_one_sweeps_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = "from tests.support.databases import *; s = PostgresServer(); print(s.process.pid, s.folder, flush=True); os.kill(os.getpid(), 9)"
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    pid, _, folder = ended.stdout.strip().partition(" ")
    assert ended.returncode == -9
    assert Path(folder).is_dir()
    with contextlib.suppress(psutil.NoSuchProcess):  # it has already ended
        psutil.Process(int(pid)).wait(10)
    monkeypatch.setattr("tests.support.databases.FRESH_SECONDS", 0)
    server = PostgresServer()
    server.stop()
    assert not Path(folder).exists()


def test_without_any_postgres_the_tests_end_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> Binaries | None:
        return None

    monkeypatch.setattr("tests.support.databases.installed", nothing)
    monkeypatch.setattr("tests.support.databases.wheel", nothing)
    with pytest.raises(RuntimeError, match="PostgreSQL is missing, and the tests run on both databases"):
        PostgresServer()
