"""Wrong settings stop the start, secrets are stored and checked, and logs contain no secrets."""

import json
import logging
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from server.app import read_replica
from server.logs import Redacting, redact
from server.secrets import Secrets, check_brand, check_chain, check_secrets, read_secrets
from server.settings import CLIENT_VARIABLES, BadSettings, Settings, drop_client_variables, read_settings
from storage.open import ReadReplica
from storage.store import Store

ROOT = Path(__file__).parents[2]
FOR_SOLD_COMMANDS = {"EMPORION_JOB_ID", "EMPORION_KEY", "EMPORION_ATTEMPT"}  # the client sets them and reads none


def settings(**given: Any) -> Any:
    return read_settings(_env_file=None, **given)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", 70_000),
        ("live_rpc_url", "ftp://node"),
        ("signing_seed", "abc"),
        ("live_confirmations", 0),
        ("live_asset", "0x12"),
        ("review_window_seconds_test", 0),
        ("service_name", "No Spaces"),
        ("rate_limits", "perhaps"),
        ("allow_private_networks", "perhaps"),
        ("base_url", "market.example"),
    ],
)
def test_o7_a_value_that_does_not_parse_stops_the_start_and_is_named(name: str, value: Any) -> None:
    with pytest.raises(BadSettings, match="EMPORION_" + name.upper()):
        settings(**{name: value})


@pytest.mark.parametrize(
    "name", ["operator_webhook", "test_faucet_url", "test_rpc_url", "otel_endpoint", "base_url", "sanctions_lists"]
)
def test_a_url_that_may_hold_a_key_is_not_repeated_in_the_message(name: str) -> None:
    with pytest.raises(BadSettings, match="EMPORION_" + name.upper()) as refused:
        settings(**{name: "ftp://node.example/a-key"})
    assert "a-key" not in str(refused.value)


NUMBERS = [name for name, field in Settings.model_fields.items() if field.annotation in (int, float)]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("text", ["lots", "", "-1", "1e400", "1_000 000", "NaN", "99999999999999999999"])
def test_o7_no_limit_is_guessed_from_what_is_no_number(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"EMPORION_{name.upper()}", text)
    with pytest.raises(BadSettings, match=f"EMPORION_{name.upper()}"):
        read_settings(_env_file=None)


def test_several_processes_need_secrets_that_are_given() -> None:
    with pytest.raises(BadSettings, match="EMPORION_SIGNING_SEED and EMPORION_KEY_PEPPER"):
        settings(database_url="postgresql://host/market")


def test_commands_take_the_direct_address_of_the_database() -> None:
    secrets = {"signing_seed": "11" * 32, "key_pepper": "22" * 32}
    pooled = settings(database_url="postgresql://pooler/market", **secrets)
    assert pooled.session_database == "postgresql://pooler/market"
    both = settings(database_url="postgresql://pooler/m", database_direct_url="postgresql://host/m", **secrets)
    assert (both.database, both.session_database) == ("postgresql://pooler/m", "postgresql://host/m")


@pytest.mark.parametrize(
    ("url", "direct"), [(None, "postgresql://host/market"), ("postgresql://pooler/market", "sqlite:///market.db")]
)
def test_a_direct_address_goes_with_a_pooled_one(url: str | None, direct: str) -> None:
    with pytest.raises(BadSettings, match="EMPORION_DATABASE_DIRECT_URL"):
        settings(database_url=url, database_direct_url=direct, signing_seed="11" * 32, key_pepper="22" * 32)


@pytest.mark.parametrize(("url", "replica"), [(None, "postgresql://b/m"), ("postgresql://a/m", "sqlite:///market.db")])
def test_a_replica_goes_with_postgresql(url: str | None, replica: str) -> None:
    with pytest.raises(BadSettings, match="EMPORION_READ_DATABASE_URL"):
        settings(database_url=url, read_database_url=replica, signing_seed="11" * 32, key_pepper="22" * 32)


def test_a_replica_is_used_only_if_it_is_set() -> None:
    secrets = {"signing_seed": "11" * 32, "key_pepper": "22" * 32}
    given = {"database_url": "postgresql://a/m", "read_database_url": "postgresql://b/m", **secrets}
    assert read_replica(settings(**given)) == ReadReplica("postgresql://b/m", 5)
    assert read_replica(settings(**given, read_database_lag_seconds=30)) == ReadReplica("postgresql://b/m", 30)
    assert read_replica(settings()) is None


def test_lists_are_read_from_one_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPORION_TRUSTED_PROXIES", "10.0.0.1, 10.0.0.2")
    assert settings().trusted_proxies == ["10.0.0.1", "10.0.0.2"]


def test_secrets_are_made_once_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    here = settings(data_dir=tmp_path / "data")
    made = read_secrets(here)
    assert made == read_secrets(here)
    for name in ("signing_seed", "key_pepper"):
        assert stat.S_IMODE((tmp_path / "data" / name).stat().st_mode) == 0o600


@pytest.mark.both_databases
async def test_a_process_with_other_secrets_does_not_serve_the_database(store: Store) -> None:
    await check_secrets(store, Secrets(bytes(32), bytes(32)))
    await check_secrets(store, Secrets(bytes(32), bytes(32)))
    with pytest.raises(BadSettings, match="is not the one this database was made with"):
        await check_secrets(store, Secrets(bytes(32), bytes(31) + b"\1"))


@pytest.mark.both_databases
async def test_a_database_keeps_the_name_it_was_signed_with(store: Store) -> None:
    await check_brand(store, "agora")
    await check_brand(store, "agora")
    with pytest.raises(BadSettings, match="EMPORION_SERVICE_NAME: this database serves 'agora'"):
        await check_brand(store, "forum")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("EMPORION_SANDBOX_PROT", "1", "did you mean EMPORION_SANDBOX_PORT"),
        ("EMPORION_FOO", "1", "EMPORION_FOO: there is no such setting; docs/settings.md lists all"),
        ("EMPORION_TRUSTED_PROXIES", "nonsense", "EMPORION_TRUSTED_PROXIES"),
        ("EMPORION_HOST", "0.0.0.0", "set EMPORION_BASE_URL"),
    ],
)
def test_a_setting_that_would_do_nothing_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(name, value)
    with pytest.raises(BadSettings, match=said):
        read_settings()
    monkeypatch.delenv(name)
    (tmp_path / ".env").write_text(f"{name}={value}\n")
    with pytest.raises(BadSettings, match=said):
        read_settings()


def test_the_variables_that_the_client_reads_are_known_and_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sources = [
        *(ROOT / "clients/python/emporion_client").glob("*.py"),
        *(ROOT / "examples").glob("*.py"),
        *(ROOT / "examples").glob("*.sh"),
    ]
    read = {name for path in sources for name in re.findall(r"\bEMPORION_[A-Z_]+", path.read_text())}
    assert read - FOR_SOLD_COMMANDS == CLIENT_VARIABLES
    monkeypatch.chdir(tmp_path)
    for name in CLIENT_VARIABLES:
        monkeypatch.setenv(name, "x")
    assert read_settings().url == "http://127.0.0.1:8000"
    drop_client_variables()
    assert CLIENT_VARIABLES & os.environ.keys() == set()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("operator_secret", "hunter2", "must have 16 to 200 characters; `openssl rand -hex 32` makes one"),
        ("desk_llm_key", "", "must have a length of at least 1"),
        ("desk_env", "prod", "must be 'test' or 'live' (it is 'prod')"),
        ("port", 70_000, "must be at most 65535 (it is '70000')"),
        ("port", -1, "must be at least 0 (it is '-1')"),
    ],
)
def test_a_bound_is_told_in_plain_words(name: str, value: Any, said: str) -> None:
    with pytest.raises(BadSettings) as refused:
        settings(**{name: value})
    assert str(refused.value) == f"EMPORION_{name.upper()}: {said}"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:secret@host:5432/market", "postgresql://u:***@host:5432/market"),
        ("postgresql://u:s@e:c/r@host/market", "postgresql://u:***@host/market"),
        ("postgresql://host/market", "postgresql://host/market"),
        ("sqlite:////data/market.db", "sqlite:////data/market.db"),
    ],
)
def test_a_database_is_shown_without_its_password(url: str, shown: str) -> None:
    assert settings(database_url=url, signing_seed="11" * 32, key_pepper="22" * 32).database_shown == shown


@pytest.mark.both_databases
async def test_a_database_lives_with_the_chain_it_traded_on(store: Store) -> None:
    await check_chain(store, "0x" + "11" * 32)
    await check_chain(store, "0x" + "11" * 32)
    with pytest.raises(BadSettings, match="emporion sandbox reset"):
        await check_chain(store, "0x" + "22" * 32)


def test_a_sandbox_is_served_on_loopback_only(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "server", "serve", "--sandbox", "--host", "0.0.0.0"],
        env={**os.environ, "EMPORION_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "EMPORION_HOST" in done.stderr


def test_logs_are_redacted() -> None:
    secret = "as_live_" + "k" * 40
    line = redact(None, "info", {"event": f"GET /mcp?api_key={secret} Bearer {secret}", "n": 1})
    assert secret not in json.dumps(line)


def test_the_lines_of_libraries_are_redacted_with_their_tracebacks() -> None:
    secret = "as_test_" + "k" * 40
    try:
        raise ValueError(f"no luck with {secret}")
    except ValueError:
        record = logging.LogRecord("lib", logging.ERROR, "lib.py", 1, "GET /%s", (secret,), sys.exc_info())
    line = Redacting("%(message)s").format(record)
    assert secret not in line
    assert line.startswith("GET /[redacted]\n")
    assert line.endswith("ValueError: no luck with [redacted]")
