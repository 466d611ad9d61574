"""SIGKILL of `emporion doctor --recompute` at its pages: the next run continues, and finds the same."""

import os
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from server.recompute_run import FILE_NAME
from storage.query import Query
from storage.store import Store
from storage.tables import JobRow
from tests.end_to_end.faults.forge import KILLED
from tests.end_to_end.faults.test_archive_kills import SECRETS
from tests.support.commands import run
from tests.support.databases import close
from tests.support.trade import Trade

pytestmark = pytest.mark.both_databases

DOCTOR = ("doctor", "--recompute")
PAGES = [("before", 1), ("after", 1), ("before", 4), ("after", 9), ("after", 14)]


def recomputing(database_url: str, folder: Path, *at: object) -> Any:
    """Run the doctor, killed at this page if one is given."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EMPORION_")}
    env = clean | SECRETS | {"EMPORION_DATA_DIR": str(folder), "EMPORION_DATABASE_URL": database_url}
    module = "tests.end_to_end.faults.recomputing"
    return run([*map(str, at), *DOCTOR], env, module=module) if at else run([*DOCTOR], env)


def verdict(done: Any) -> list[str]:
    """Return the lines about stored figures."""
    return [line for line in done.stdout.splitlines() if " recomputed: " in line]


async def test_a_killed_run_is_continued_and_finds_what_a_whole_run_finds(
    trade: Trade, store: Store, database_url: str, tmp_path: Path
) -> None:
    await trade.job_at("completed", *await trade.parties())
    await store.write(lambda tx: tx.run(Query[None](update(JobRow.__table__).values(revision_count=7))))
    await close(store)
    whole = verdict(recomputing(database_url, tmp_path / "whole"))
    assert [line.split()[0] for line in whole].count("WRONG") == 1
    for when, page in PAGES:
        folder = tmp_path / f"{when}-{page}"
        assert recomputing(database_url, folder, when, page).returncode == KILLED
        assert (folder / FILE_NAME).exists() is ((when, page) != ("before", 1))
        again = recomputing(database_url, folder, when, 2)
        assert again.returncode == KILLED
        done = recomputing(database_url, folder)
        assert done.returncode == 1
        assert "continues the run of " in done.stderr
        assert verdict(done) == whole
        assert not (folder / FILE_NAME).exists()
