"""Migrations on both databases: from empty, from each revision, interrupted at any statement, and run twice at once."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event, inspect, text

import storage.tables  # noqa: F401 - declares every table
from storage.migrate import MIGRATIONS, revisions, upgrade
from storage.open import open_database, serve
from storage.postgres import Postgres
from storage.rows import metadata
from storage.sqlite import SQLite
from tests.support.databases import PostgresServer, close
from tests.support.storage_orders import job_ids, place

REVISIONS = [script.revision for script in reversed(list(ScriptDirectory(str(MIGRATIONS)).walk_revisions()))]
BY_HAND = {  # full-text indexes, and on SQLite indexes with DESC, which Alembic cannot compare
    "sqlite": {
        f"search_{key}{part}"
        for key in ("rank", "newest", "cheapest", "agents", "bounties")
        for part in ("", "_config", "_data", "_idx")
    }
    | {"ix_reputations_seller", "ix_reputations_buyer"},
    "postgres": {"terms", "ix_listing_search_terms", "ix_agent_search_terms", "ix_bounty_search_terms"},
}
SAMPLE = {*REVISIONS[::4], *REVISIONS[-5:]}  # make test begins with these, make verify with all others
STARTS = """
import sys
from storage.migrate import upgrade
from storage.open import open_database
database = open_database(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
upgrade(database)
"""


class Cut(BaseException):
    """Simulates the end of the process."""


@pytest.fixture
def empty_database(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SQLite | Postgres]:
    """A database without tables."""
    if database == "sqlite":
        opened = open_database(f"sqlite:///{tmp_path}/empty.db")
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        opened = open_database(server.create("empty"))
    yield opened
    opened.close()


def test_the_files_name_the_revisions_in_their_order() -> None:
    assert [*revisions()] == REVISIONS


async def test_a_new_database_gets_every_table(empty_database: SQLite | Postgres) -> None:
    upgrade(empty_database)
    assert revision(empty_database) == REVISIONS[-1]
    with empty_database.engine.connect() as connection:
        assert set(metadata.tables) <= set(inspect(connection).get_table_names())
        columns = {name: inspect(connection).get_columns(name) for name in metadata.tables}
        # A row is inserted without its nulls, so a default of the database would replace them.
        assert not [(name, one) for name in columns for one in columns[name] if one["nullable"] and one["default"]]
    store = serve(empty_database)
    placed = await store.write(place)
    assert await job_ids(store) == {placed.id}
    await close(store)


@pytest.mark.parametrize(
    "start", [pytest.param(one, marks=() if one in SAMPLE else pytest.mark.verify) for one in REVISIONS]
)
def test_a_database_of_each_revision_comes_to_the_newest(empty_database: SQLite | Postgres, start: str) -> None:
    upgrade(empty_database, start)
    assert revision(empty_database) == start
    upgrade(empty_database)
    assert revision(empty_database) == REVISIONS[-1]
    assert differences(empty_database) == set()


def test_the_migrations_make_exactly_the_tables_that_are_declared(
    empty_database: SQLite | Postgres, database: str
) -> None:
    upgrade(empty_database)
    assert differences(empty_database, by_hand=set()) == BY_HAND[database]


def test_r9_the_newest_database_is_left_as_it_is(empty_database: SQLite | Postgres) -> None:
    upgrade(empty_database)
    with counting(empty_database, lambda number, sql: None) as changes:
        upgrade(empty_database)
    assert changes == []


@pytest.mark.repeated(3, 1)
def test_a_start_that_is_cut_short_at_any_statement_can_start_again(
    empty_database: SQLite | Postgres, repetitions: int
) -> None:
    """A kill between two statements must not leave a part of a revision.

    Otherwise no later start could continue.
    """
    cut_at = 1
    while cut(empty_database, cut_at):
        assert revision(empty_database) in {None, *REVISIONS}
        cut_at += 33 // repetitions
    assert cut_at > 40, "it was cut at several statements of the first revision"
    assert revision(empty_database) == REVISIONS[-1]
    assert differences(empty_database) == set()


def test_processes_that_start_together_take_turns(postgres: PostgresServer) -> None:
    url = postgres.create("together")
    command = [sys.executable, "-c", STARTS, url]
    starts = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=MIGRATIONS.parents[1])
        for _ in range(2)
    ]
    for start in starts:
        assert start.stdout
        assert start.stdout.readline() == b"ready\n"
    for start in starts:
        assert start.stdin
        start.stdin.write(b"go\n")
        start.stdin.flush()
    for start in starts:
        start.communicate(timeout=60)
    assert [start.returncode for start in starts] == [0, 0]
    database = open_database(url)
    assert (revision(database), differences(database)) == (REVISIONS[-1], set())
    database.close()


def revision(database: SQLite | Postgres) -> str | None:
    with database.engine.connect() as connection:
        if "alembic_version" not in inspect(connection).get_table_names():
            return None
        found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        return found


def differences(database: SQLite | Postgres, by_hand: set[str] | None = None) -> set[str]:
    """Return the names that are only in the database or only declared."""
    known = BY_HAND["sqlite" if isinstance(database, SQLite) else "postgres"] if by_hand is None else by_hand

    def compare(connection: Connection) -> set[str]:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return {_name(change) for change in compare_metadata(context, metadata)}

    with database.engine.connect() as connection:
        return compare(connection) - known


def _name(change: object) -> str:
    """Return the name in a change of Alembic.

    A change is `("remove_table", table)`, `("add_column", schema, table, column)`, or a list of changes to one column.
    """
    parts = change[0] if isinstance(change, list) else change
    assert isinstance(parts, tuple)
    return str(getattr(parts[-1], "name", parts))


@contextmanager
def counting(database: SQLite | Postgres, on: Callable[[int, str], None]) -> Iterator[list[str]]:
    """Collect the statements that change the database.

    Calls `on` with the number of each before it runs.
    """
    seen: list[str] = []

    def before(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.lstrip().upper().startswith(("CREATE", "ALTER", "INSERT", "UPDATE", "DROP", "DELETE")):
            seen.append(statement)
            on(len(seen), statement)

    event.listen(database.engine, "before_cursor_execute", before)
    try:
        yield seen
    finally:
        event.remove(database.engine, "before_cursor_execute", before)


def cut(database: SQLite | Postgres, at: int) -> bool:
    """Migrate, but stop at the statement `at`; return whether that statement was reached."""

    def end(number: int, _: str) -> None:
        if number == at:
            raise Cut

    with counting(database, end):
        try:
            upgrade(database)
        except Cut:
            return True
    return False
