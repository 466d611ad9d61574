"""SIGKILL of `emporion archive` at each step: no row is lost, and the next run finishes."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from server.archive_files import manifests
from storage.store import Store
from tests.end_to_end.faults.forge import KILLED
from tests.end_to_end.faults.standing import standing
from tests.end_to_end.faults.test_backup import free_port
from tests.support.archives import Old, back_dated
from tests.support.commands import run
from tests.support.databases import close
from tests.support.trade import Trade

pytestmark = pytest.mark.both_databases

SECRETS = {"EMPORION_SIGNING_SEED": "11" * 32, "EMPORION_KEY_PEPPER": "22" * 32}
BEFORE = ["archive", "--before", "2020-01-01", "--to"]
OUT = [
    ("before", "write_file", 1),  # nothing is written
    ("after", "write_file", 1),  # the data has no manifest
    ("before", "sync", 2),  # the manifest is not in its place
    ("after", "sync", 2),
    ("before", "read_part", 1),
    ("before", "commit", 1),
    ("after", "commit", 1),  # the answer of the COMMIT was lost
]
BACK = [("before", "read_part", 1), ("before", "commit", 1), ("after", "commit", 1)]


def emporion(database_url: str, folder: Path, *words: str, at: tuple[str, str, int] | None = None) -> Any:
    """Run the command, killed at this point if one is given."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EMPORION_")}
    own = {"EMPORION_DATA_DIR": str(folder), "EMPORION_DATABASE_URL": database_url, "EMPORION_PORT": str(free_port())}
    given, env = [*words], clean | SECRETS | own
    if at is None:
        return run(given, env)
    return run([at[0], at[1], str(at[2]), *given], env, module="tests.end_to_end.faults.archiving")


@pytest.fixture
async def old_rows(trade: Trade, store: Store, database_url: str) -> Any:
    """The rows of a market whose jobs ended before 2020, which no process serves."""
    await Old.made(trade)
    await back_dated(trade.market)
    await close(store)
    return standing(database_url)


def but_marks(rows: Any) -> Any:
    return {name: found for name, found in rows.items() if name not in ("house", "agent_storage")}


@pytest.mark.parametrize("point", OUT, ids=lambda point: "-".join(map(str, point)))
async def test_killed_while_it_archives(
    old_rows: Any, database_url: str, tmp_path: Path, point: tuple[str, str, int]
) -> None:
    data, folder = tmp_path / "data", str(tmp_path / "archive")
    assert emporion(database_url, data, *BEFORE, folder, at=point).returncode == KILLED
    then = standing(database_url)
    archived = point == ("after", "commit", 1)
    assert len(then["archived_jobs"]) == (2 if archived else 0)
    if not archived:
        assert but_marks(then) == but_marks(old_rows)

    done = emporion(database_url, data, *BEFORE, folder)
    assert done.returncode == 0, done.stderr
    now = standing(database_url)
    assert len(now["archived_jobs"]) == sum(row["jobs"] for row in now["archives"]) == 2
    assert len(manifests(Path(folder))) == len(now["archives"]) == 1
    assert now["settlements"] == old_rows["settlements"]
    back = emporion(database_url, data, "archive", "--restore", folder)
    assert back.returncode == 0, back.stderr
    assert but_marks(standing(database_url)) == but_marks(old_rows)


@pytest.mark.parametrize("point", BACK, ids=lambda point: "-".join(map(str, point)))
async def test_killed_while_it_restores(
    old_rows: Any, database_url: str, tmp_path: Path, point: tuple[str, str, int]
) -> None:
    data, folder = tmp_path / "data", str(tmp_path / "archive")
    assert emporion(database_url, data, *BEFORE, folder).returncode == 0
    away = standing(database_url)
    assert emporion(database_url, data, "archive", "--restore", folder, at=point).returncode == KILLED
    expected = old_rows if point == ("after", "commit", 1) else away
    assert but_marks(standing(database_url)) == but_marks(expected)
    assert emporion(database_url, data, "archive", "--restore", folder).returncode == 0
    assert but_marks(standing(database_url)) == but_marks(old_rows)


async def test_it_runs_beside_a_served_market(trade: Trade, database_url: str, tmp_path: Path) -> None:
    old = await Old.made(trade)
    await back_dated(trade.market)
    data, folder = tmp_path / "data", str(tmp_path / "archive")
    done = await asyncio.to_thread(emporion, database_url, data, *BEFORE, folder)
    assert (done.returncode, "2 jobs in 1 new files" in done.stdout) == (0, True), done.stderr
    assert (await trade.seen(old.buyer, old.job))["output"] is None
    checked = await asyncio.to_thread(emporion, database_url, data, "doctor", "--recompute", "--with-archive", folder)
    assert "ok    archive: 2 jobs in 1 files, of which 0 are wrong" in checked.stdout
    wrong = [line for line in checked.stdout.splitlines() if line.startswith("WRONG recomputed")]
    assert [line for line in wrong if "daily_counts" not in line] == []  # the test has moved jobs to another day
    verified = await asyncio.to_thread(emporion, database_url, data, "verify", folder)
    assert (verified.returncode, "INVALID" in verified.stdout) == (0, False)


@pytest.mark.parametrize("words", [[], ["--job", "job_1"], ["--before", "2020-01-01", "--restore", "x"]], ids=str)
async def test_options_that_contradict_are_refused(words: list[str], tmp_path: Path) -> None:
    done = await asyncio.to_thread(emporion, f"sqlite:///{tmp_path}/market.db", tmp_path, "archive", *words)
    assert (done.returncode, "either --before DATE" in done.stderr) == (2, True)
