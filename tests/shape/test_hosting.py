"""Names in docs/hosting exist, and the configuration files next to it fit the market."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.main import get_command

from server import http_limits as heads
from server.cli import app
from server.middleware import MAX_BODY
from server.serve import GRACE_SECONDS, IDLE_SECONDS
from server.settings import Settings, read_settings
from storage.postgres import Postgres
from tests.shape.test_house import PACKAGES, ROOT

PAGE = ROOT / "docs" / "hosting.md"
FILES = {path.name: path.read_text() for path in sorted((ROOT / "docs" / "hosting").iterdir())}
NAMED = "\n".join([PAGE.read_text(), *FILES.values()])
KNOWN = {f"EMPORION_{name.upper()}" for name in Settings.model_fields}
COMMAND = re.compile(r"(?:`|bin/|ENTRYPOINT \[\")emporion (\w+)(?: (--[\w-]+))?")
SIZES = {"k": 1024, "m": 1024**2, "MiB": 1024**2}


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    assert match, pattern
    return match[1]


def number(pattern: str, text: str) -> int:
    """Parse a size or a time in a configuration file."""
    match = re.match(r"(\d+)(\w*)", found(pattern, text))
    assert match
    return int(match[1]) * SIZES.get(match[2], 1)


def test_every_setting_that_is_named_exists() -> None:
    named = set(re.findall(r"EMPORION_[A-Z0-9_]+", NAMED))
    assert len(named) > 15
    assert named - KNOWN == set()


def test_every_setting_is_explained_by_the_name_that_an_operator_types() -> None:
    named = set(re.findall(r"^\|([^|]+)\|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE))
    explained = set(re.findall(r"EMPORION_[A-Z_]+", "".join(named)))
    beside = {"EMPORION_EXTRA_BASE_URLS", "EMPORION_NEXT_SIGNING_SEED"}  # explained with the setting they belong to
    assert explained | beside == KNOWN


def test_no_document_names_a_setting_without_its_prefix() -> None:
    bare = re.compile(rf"`({'|'.join(name.upper() for name in Settings.model_fields)})[`=]")
    texts = [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]
    assert {path.name: found for path in texts if (found := bare.findall(path.read_text()))} == {}


def test_every_command_and_option_that_is_named_exists() -> None:
    commands: Any = get_command(app)
    named = COMMAND.findall(NAMED)
    assert {name for name, _ in named} >= {"serve", "migrate", "doctor"}
    for name, option in named:
        assert name in commands.commands, name
        options = {one for parameter in commands.commands[name].params for one in parameter.opts}
        assert not option or option in options, (name, option)


def test_every_file_that_is_named_is_there_and_every_one_that_is_there_is_named() -> None:
    linked = set(re.findall(r"\]\(([^)#]+)", PAGE.read_text()))
    assert linked == {"deprecation.md", "scaling.md", "settings.md", *(f"hosting/{name}" for name in FILES)}
    assert all((PAGE.parent / link).is_file() for link in linked)


def test_every_path_of_the_market_that_is_named_is_served() -> None:
    from tests.support.documented_names import served

    named = set(re.findall(r"`(?:GET )?(/[a-z0-9][\w/.-]*)`", PAGE.read_text()))
    folders, probes = {"/data", "/tmp"}, {"/ready", "/metrics"}
    assert probes <= named
    assert {path for path in named - folders - probes if not (served(path) or served(path + "/"))} == set()


def test_every_metric_that_is_named_is_told() -> None:
    told = (ROOT / "server" / "metrics.py").read_text()
    named = set(re.findall(r"`emporion_(\w+)`", PAGE.read_text()))
    assert named
    assert {name for name in named if name not in told} == set()


def test_the_environment_file_is_one_that_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    filled = (
        FILES["market.env"].replace("<name>", "agora").replace("<password>", "p" * 20).replace("<hex32>", "ab" * 32)
    )
    assert "<" not in filled.split("\n", 1)[1]
    (tmp_path / "market.env").write_text(filled)
    settings = read_settings(_env_file=tmp_path / "market.env")
    assert settings.database.startswith("postgresql://emporion:")
    assert "p" * 20 not in settings.database_shown
    assert settings.trusted_proxies == ["127.0.0.1", "::1"]
    assert settings.is_loopback, "a proxy on the same machine reaches it, and nobody else does"
    shown = {"signing_seed", "key_pepper", "operator_secret", "live_rpc_url", "metrics"}
    assert settings.model_fields_set >= shown | {"operator_webhook", "contact", "referrals", "ai_train"}


def test_the_proxies_let_through_what_the_market_takes() -> None:
    nginx, caddy = FILES["nginx.conf"], FILES["Caddyfile"]
    assert number(r"client_max_body_size (\w+);", nginx) == number(r"max_size (\w+)", caddy) == MAX_BODY
    assert number(r"header_buffers 4 (\w+);", nginx) * 4 == heads.MAX_HEAD
    for text, kept, read in (
        (nginx, r"keepalive_timeout (\w+);", r"proxy_read_timeout (\w+);"),
        (caddy, r"keepalive (\w+)", r"read_timeout (\w+)"),
    ):
        assert number(kept, text) < IDLE_SECONDS
        assert number(read, text) > 55, "as long as a call may wait"
    assert "proxy_buffering off;" in nginx
    assert "flush_interval -1" in caddy
    assert "proxy_set_header Host $host;" in nginx
    assert found(r"(proxy_set_header X-Forwarded-For \$remote_addr;)", nginx)
    assert found(r"(header_up X-Forwarded-For \{remote_host\})", caddy)
    assert "/metrics" in nginx
    assert "respond /metrics 404" in caddy
    for text in (nginx, caddy):
        assert text.count("{") == text.count("}")


def test_the_image_holds_the_packages_and_asks_its_own_readiness() -> None:
    text = FILES["Containerfile"]
    copied = {line.split()[1] for line in text.splitlines() if re.fullmatch(r"COPY (\w+) \1", line)}
    assert copied == set(PACKAGES)
    assert found(r"^(USER emporion)$", text)
    assert text.index("USER emporion") < text.index("ENTRYPOINT")
    assert "--require-hashes --no-deps -r requirements.lock" in text
    versions = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert versions == ">=3.11,<3.14"
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"python:3.12-slim"}
    assert (
        'HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 CMD ["python", "-m", "server.healthcheck"]'
        in text
    )
    assert (ROOT / "server" / "healthcheck.py").is_file()
    assert "://" not in text


def test_the_unit_runs_the_market_and_lets_it_finish(tmp_path: Path) -> None:
    text = FILES["emporion@.service"]
    assert found(r"^ExecStart=(.*)$", text).endswith("/bin/emporion serve")
    assert found(r"^Environment=(.*)$", text) == "EMPORION_PORT=%i"
    assert int(found(r"^TimeoutStopSec=(\d+)$", text)) > GRACE_SECONDS
    assert found(r"^RestartPreventExitStatus=(\d)$", text) == "2", "what `serve` exits with when it cannot start"
    assert found(r"^StateDirectory=(.*)$", text) in found(r"^EMPORION_DATA_DIR=(.*)$", FILES["market.env"])
    for word in ("NoNewPrivileges=yes", "ProtectSystem=strict", "PrivateTmp=yes", "CapabilityBoundingSet=\n"):
        assert word in text
    if shutil.which("systemd-analyze"):
        assert faults_of_unit(text, tmp_path) == ""


def faults_of_unit(text: str, folder: Path) -> str:
    """Run systemd's own checker on the unit with an existing user; return its complaints."""
    unit = text.replace("/opt/emporion/bin/emporion", "/bin/true").replace("User=emporion", "User=root")
    (folder / "emporion@8001.service").write_text(unit)
    command = ["systemd-analyze", "verify", "--man=no", str(folder / "emporion@8001.service")]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    return "\n".join(line for line in said.splitlines() if "emporion@" in line)


def test_the_page_counts_a_processs_connections() -> None:
    database: Any = SimpleNamespace(writers=Postgres.writers, readers=Postgres.readers)
    assert f"{database.writers + database.readers + 1} for each process" in PAGE.read_text()
