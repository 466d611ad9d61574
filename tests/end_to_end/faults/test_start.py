"""A refused start prints one sentence, exits with code 2, and changes nothing."""

import asyncio
import os
import socket
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from storage.open import open_store
from tests.requirements import covers
from tests.support.commands import run
from tests.support.databases import PostgresServer


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that is in use."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def start(folder: Path, port: int, command: str = "serve", **settings: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EMPORION_")}
    given = {"EMPORION_DATA_DIR": str(folder), "EMPORION_PORT": str(port)}
    return run(command.split(), clean | given | settings)


def refused(ended: subprocess.CompletedProcess[str], *words: str) -> None:
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr + ended.stdout, ended.stderr
    assert "serves http" not in ended.stdout, "nothing is announced that does not run"
    sentence = ended.stderr.strip().splitlines()[-1]
    assert [word for word in words if word not in sentence] == [], sentence


@pytest.mark.parametrize("name", ["signing_seed", "key_pepper"])
@pytest.mark.parametrize("text", [b"", b"g" * 64, b"\xff" * 64, b"00" * 31])
def test_a_secret_that_is_not_one(tmp_path: Path, taken: int, name: str, text: bytes) -> None:
    (tmp_path / name).write_bytes(text)
    refused(start(tmp_path, taken), str(tmp_path / name), "64 hex characters")
    assert (tmp_path / name).read_bytes() == text


def test_a_port_that_is_taken_and_then_other_secrets(tmp_path: Path, taken: int) -> None:
    """The first start makes the database and its secrets before it finds the port in use."""
    ended = start(tmp_path, taken)
    refused(ended, "EMPORION_PORT", f"127.0.0.1:{taken}", "address already in use", "choose another")
    assert "Errno" not in ended.stderr
    kept = (tmp_path / "key_pepper").read_text()
    refused(start(tmp_path, taken, EMPORION_KEY_PEPPER="ab" * 32), "EMPORION_KEY_PEPPER", "not the one this database")
    assert (tmp_path / "key_pepper").read_text() == kept
    (tmp_path / "key_pepper").unlink()
    refused(start(tmp_path, taken), "key_pepper is missing beside")
    assert not (tmp_path / "key_pepper").exists(), "another one would hide what is wrong"


@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_a_file_that_is_no_database(tmp_path: Path, taken: int, command: str) -> None:
    (tmp_path / "market.db").write_bytes(b"this is a shopping list, not a database\n" * 100)
    secrets = {"EMPORION_SIGNING_SEED": "11" * 32, "EMPORION_KEY_PEPPER": "22" * 32}
    refused(start(tmp_path, taken, command, **secrets), "not a database")


def test_a_sanctions_list_that_is_not_there(tmp_path: Path, taken: int) -> None:
    """Otherwise a market with screening configured would screen no addresses."""
    refused(start(tmp_path, taken, EMPORION_SANCTIONS_LISTS=str(tmp_path / "none")), "EMPORION_SANCTIONS_LISTS")


def test_a_data_folder_that_cannot_be_one(tmp_path: Path, taken: int) -> None:
    (tmp_path / "file").write_text("")
    refused(start(tmp_path / "file", taken), "file")


def test_a_market_that_was_never_a_sandbox_is_not_reset(tmp_path: Path, taken: int) -> None:
    refused(start(tmp_path, taken, "sandbox reset"), "holds no sandbox")
    refused(start(tmp_path, taken), "EMPORION_PORT")  # makes a market that is no sandbox
    kept = (tmp_path / "market.db").read_bytes()
    (tmp_path / "sandbox-chain.jsonl").write_text("")
    refused(start(tmp_path, taken, "sandbox reset"), "never traded in a sandbox")
    assert (tmp_path / "market.db").read_bytes() == kept
    url = {"EMPORION_DATABASE_URL": "postgresql://u:secret@host/market"}
    secrets = {"EMPORION_SIGNING_SEED": "11" * 32, "EMPORION_KEY_PEPPER": "22" * 32}
    refused(start(tmp_path, taken, "sandbox reset", **url, **secrets), "postgresql://u:***@host/market is not a file")
    assert (tmp_path / "sandbox-chain.jsonl").exists()


def test_the_doctor_says_what_it_finds(tmp_path: Path, taken: int) -> None:
    found = start(tmp_path, taken, "doctor")
    assert (found.returncode, "is not there" in found.stdout, [*tmp_path.iterdir()]) == (1, True, []), (
        "it makes nothing"
    )
    refused(start(tmp_path, taken), "EMPORION_PORT")
    found = start(tmp_path, taken, "doctor")
    assert (found.returncode, "WRONG" in found.stdout) == (0, False), found.stdout + found.stderr
    assert "figures: 0 listings differ" in found.stdout
    (tmp_path / "key_pepper").write_text("spoilt")
    refused(start(tmp_path, taken, "doctor"), str(tmp_path / "key_pepper"))
    (tmp_path / "key_pepper").write_text("ab" * 32)
    found = start(tmp_path, taken, "doctor")
    assert (found.returncode, "WRONG the signing seed or the key pepper" in found.stdout) == (1, True), (
        found.stdout + found.stderr
    )


def test_a_server_that_is_not_there(tmp_path: Path, taken: int) -> None:
    url = "postgresql://nobody@127.0.0.1:1/none"
    refused(start(tmp_path, taken, EMPORION_DATABASE_URL=url, EMPORION_SIGNING_SEED="11" * 32,
                  EMPORION_KEY_PEPPER="22" * 32), "127.0.0.1")  # fmt: skip


@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_a_direct_address_of_another_database(
    tmp_path: Path, taken: int, command: str, postgres: PostgresServer
) -> None:
    """Otherwise the other database would get the tables."""
    market, other = postgres.create("market_here"), postgres.create("market_there")
    ended = start(tmp_path, taken, command, EMPORION_DATABASE_URL=market, EMPORION_DATABASE_DIRECT_URL=other,
                  EMPORION_SIGNING_SEED="11" * 32, EMPORION_KEY_PEPPER="22" * 32)  # fmt: skip
    refused(ended, "EMPORION_DATABASE_DIRECT_URL", "the same database")
    with psycopg.connect(other) as admin:
        assert admin.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,)


@covers("second.start.newer")
@pytest.mark.parametrize("command", ["serve", "migrate", "doctor"])
def test_a_database_of_a_newer_version(tmp_path: Path, taken: int, command: str) -> None:
    refused(start(tmp_path, taken), "EMPORION_PORT")
    with closing(sqlite3.connect(tmp_path / "market.db")) as db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
        db.commit()
    ended = start(tmp_path, taken, command)
    said = (ended.stdout + ended.stderr).strip().splitlines()
    assert ended.returncode in (1, 2)
    assert "Traceback" not in ended.stderr
    (sentence,) = [line for line in said if "newer version" in line]
    assert "9999" in sentence
    assert "start that version" in sentence


@covers("second.start.named")
def test_a_folder_or_a_value_that_cannot_be_used_is_named(tmp_path: Path, taken: int) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for command in ("serve", "migrate"):
        refused(start(file, taken, command), "EMPORION_DATA_DIR", str(file), "is a file")
        refused(start(Path("/proc/none"), taken, command), "EMPORION_DATA_DIR", "/proc/none")
    refused(start(tmp_path, taken, EMPORION_PORT="abc"), "EMPORION_PORT", "whole number", "'abc'")
    secret = start(tmp_path, taken, EMPORION_OPERATOR_SECRET="too short")
    assert "too short" not in secret.stderr + secret.stdout


@covers("second.brand.set", "second.brand.warning")
def test_a_market_off_this_machine_has_a_name_of_its_own(tmp_path: Path, taken: int) -> None:
    url = {"EMPORION_BASE_URL": "https://market.example"}
    refused(start(tmp_path, taken, **url), "EMPORION_SERVICE_NAME", "https://market.example")
    assert not (tmp_path / "market.db").exists()
    ended = start(tmp_path, taken, **url, EMPORION_SERVICE_NAME="service")
    refused(ended, "EMPORION_PORT")
    assert "EMPORION_SERVICE_NAME: 'service' is the default name" in ended.stderr
    named = start(tmp_path / "other", taken, **url, EMPORION_SERVICE_NAME="agora")
    refused(named, "EMPORION_PORT")
    assert "EMPORION_SERVICE_NAME" not in named.stderr


@pytest.mark.verify
@covers("second.brand.kept", "second.brand.change")
def test_another_name_is_taken_only_when_asked_for_and_what_it_breaks_is_said(tmp_path: Path, taken: int) -> None:
    refused(start(tmp_path, taken, EMPORION_SERVICE_NAME="agora"), "EMPORION_PORT")
    words = ("'agora'", "'forum'", "--change-brand", "wallet", "domains", "gas-free", "documents")
    refused(start(tmp_path, taken, EMPORION_SERVICE_NAME="forum"), "EMPORION_SERVICE_NAME", *words)
    changed = start(tmp_path, taken, "serve --change-brand", EMPORION_SERVICE_NAME="forum")
    refused(changed, "EMPORION_PORT")
    assert "brand_changed" in changed.stderr + changed.stdout
    refused(start(tmp_path, taken, EMPORION_SERVICE_NAME="forum"), "EMPORION_PORT")
    refused(start(tmp_path, taken, EMPORION_SERVICE_NAME="agora"), "EMPORION_SERVICE_NAME", "'forum'")


@covers("second.files.umask")
@pytest.mark.parametrize("command", ["serve", "migrate"])
def test_what_a_command_writes_only_its_owner_reads(tmp_path: Path, taken: int, command: str) -> None:
    folder = tmp_path / "open"
    folder.mkdir(mode=0o755)
    before = os.umask(0o022)
    try:
        start(folder, taken, command)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert "market.db" in modes
    assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}


@covers("second.start.doctor")
async def test_the_doctor_reads_a_file_that_is_served(tmp_path: Path, taken: int) -> None:
    refused(start(tmp_path, taken), "EMPORION_PORT")
    served = open_store(f"sqlite:///{tmp_path / 'market.db'}")
    try:
        found = await asyncio.to_thread(start, tmp_path, taken, "doctor --recompute")
    finally:
        served.close()
    assert (found.returncode, "WRONG" in found.stdout) == (0, False), found.stdout + found.stderr
    assert "a market serves it; it is only read" in found.stdout
    assert "recomputed" in found.stdout
