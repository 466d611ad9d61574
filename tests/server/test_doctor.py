"""The doctor on PostgreSQL: it names an address that leads elsewhere, and a server that may lose commits."""

from pathlib import Path

import psycopg
import pytest

from server.doctor import examine
from server.settings import read_settings
from storage.postgres import NO_SESSION
from tests.support.databases import PostgresDatabase, PostgresServer
from tests.support.pooler import pooling

SECRETS = {"signing_seed": "11" * 32, "key_pepper": "22" * 32}


async def findings(capsys: pytest.CaptureFixture[str], folder: Path, **urls: str) -> dict[str, str]:
    """Run the doctor; return its findings by their subject."""
    settings = read_settings(_env_file=None, data_dir=folder, **urls, **SECRETS)
    code = await examine(settings)
    lines = capsys.readouterr().out.splitlines()
    assert code == any(line.startswith("WRONG") for line in lines)
    return {line[6:].partition(":")[0]: line for line in lines}


async def test_commits_that_a_crash_may_lose_are_wrong(
    postgres: PostgresServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = postgres.create("loses_commits")  # the database that tests share would keep the setting
    found = await findings(capsys, tmp_path, database_url=url)
    assert found["commits"] == "ok    commits: they are on the disk when they are acknowledged"
    assert found["sessions"].startswith("ok    sessions: they are kept")
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("ALTER DATABASE loses_commits SET synchronous_commit = off")
    found = await findings(capsys, tmp_path, database_url=url)
    assert found["commits"].startswith("WRONG commits: synchronous_commit is off")


async def test_a_pooler_of_another_database_is_wrong(
    postgres_url: str,
    postgres: PostgresServer,
    postgres_database: PostgresDatabase,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("storage.postgres.CONNECT_SECONDS", 1)
    for database, said in (
        (postgres_database.name, "ok    sessions: they are kept, and notified through EMPORION_DATABASE_URL"),
        ("postgres", f"WRONG sessions: {NO_SESSION}"),
    ):
        with pooling(postgres.folder, database) as pooled:
            found = await findings(capsys, tmp_path, database_url=pooled, database_direct_url=postgres_url)
        assert found["sessions"] == said
