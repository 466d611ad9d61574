"""A database at an earlier revision, with rows of that time."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from storage.migrate import upgrade
from storage.open import open_database
from storage.postgres import Postgres
from storage.sqlite import SQLite
from tests.support.databases import PostgresServer


@contextmanager
def at_revision(
    revision: str,
    rows: Iterable[tuple[str, dict[str, Any]]],
    database: str,
    folder: Path,
    request: pytest.FixtureRequest,
) -> Iterator[SQLite | Postgres]:
    """Open the database. `rows` are pairs of a table and its columns."""
    if database == "sqlite":
        opened: SQLite | Postgres = open_database(f"sqlite:///{folder}/earlier.db")
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        opened = open_database(server.create("earlier"))
    upgrade(opened, revision)
    with opened.engine.begin() as connection:
        for table, row in rows:
            names = ", ".join(row)
            values = ", ".join(f":{one}" for one in row)
            connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({values})"), row)
    yield opened
    opened.close()
