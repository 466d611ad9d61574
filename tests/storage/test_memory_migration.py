"""Revision 0029: memory that was shared by both environments is copied to each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from storage.migrate import upgrade
from storage.postgres import Postgres
from storage.sqlite import SQLite
from tests.requirements import covers
from tests.support.earlier_revisions import at_revision

DAY = 86_400_000_000


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    for agent, key, ends in (("agt_a", "k", None), ("agt_a", "K/2", DAY), ("agt_b", "k", None)):
        yield "memories", {
            "agent_id": agent, "key": key, "version": 7, "size": 3, "expires_at": ends, "created_at": 1, "updated_at": 2,
            "value": f'"{agent[-1]}"',
        }  # fmt: skip


@pytest.fixture
def earlier(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SQLite | Postgres]:
    with at_revision("0028", rows(), database, tmp_path, request) as opened:
        yield opened


@covers("second.test_key.memory_migration")
def test_each_entry_stands_in_both_environments(earlier: SQLite | Postgres) -> None:
    upgrade(earlier)
    with earlier.engine.connect() as connection:
        found = connection.execute(text("SELECT * FROM memories")).mappings().all()
    assert {tuple(row[name] for name in ("agent_id", "env", "key")) for row in found} == {
        (given["agent_id"], env, given["key"]) for _, given in rows() for env in ("live", "test")
    }
    for row in found:
        (given,) = [one for _, one in rows() if (one["agent_id"], one["key"]) == (row["agent_id"], row["key"])]
        assert dict(row) == {**given, "env": row["env"]}
