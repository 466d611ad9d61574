"""compose.yaml fits the Compose specification, and its processes work on PostgreSQL, started without containers."""

import json
import os
import re
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import yaml

from server.settings import Settings
from tests.end_to_end.processes.test_demo import free_ports
from tests.support.commands import start

ROOT = Path(__file__).parents[3]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
PROCESSES = ("market-1", "market-2")
GIVEN = {
    "POSTGRES_PASSWORD": "p" * 20,
    "EMPORION_SIGNING_SEED": "ab" * 32,
    "EMPORION_KEY_PEPPER": "cd" * 32,
    "EMPORION_TEST_RPC_URL": "http://127.0.0.1:9",
}
SECONDS = 40


def filled(text: str) -> str:
    """Fill in variables as Compose does: `${NAME:-default}` and `${NAME:?message}`."""
    return re.sub(
        r"\$\{(\w+):([-?])([^}]*)\}", lambda one: GIVEN.get(one[1]) or (one[3] if one[2] == "-" else ""), text
    )


def environment(name: str) -> dict[str, str]:
    return {key: filled(value) for key, value in COMPOSE["services"][name]["environment"].items()}


def test_the_file_fits_the_specification_and_names_what_exists() -> None:
    schema = json.loads((ROOT / "tests/vectors/compose/compose-spec.json").read_text())
    jsonschema.Draft7Validator(schema).validate(COMPOSE)
    known = {f"EMPORION_{name.upper()}" for name in Settings.model_fields}
    for name in PROCESSES:
        service = COMPOSE["services"][name]
        assert environment(name).keys() <= known
        assert all(environment(name).values()), "each variable has a value or stops the start"
        assert (ROOT / service["build"]["dockerfile"]).is_file()
        assert service["networks"] == ["inside"]
    proxy = COMPOSE["services"]["proxy"]
    assert proxy["networks"]["inside"]["ipv4_address"] == environment("market-1")["EMPORION_TRUSTED_PROXIES"]
    assert (ROOT / proxy["volumes"][0].split(":")[0]).is_file()
    caddy = (ROOT / "docs/hosting/compose.Caddyfile").read_text()
    assert re.findall(r"[\w-]+:8000", caddy) == [f"{name}:8000" for name in PROCESSES]


def test_its_processes_serve_one_market(postgres_url: str, tmp_path: Path) -> None:
    with free_ports(2) as ports:
        urls = [f"http://127.0.0.1:{port}" for port in ports]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EMPORION_")}
    with ExitStack() as stack:
        for name, port in zip(PROCESSES, ports, strict=True):
            own = {"EMPORION_PORT": str(port), "EMPORION_DATA_DIR": str(tmp_path / name)}
            own |= {"EMPORION_DATABASE_URL": postgres_url, "EMPORION_EXTRA_BASE_URLS": ",".join(urls)}
            process = start(["serve"], kept | environment(name) | own)
            stack.callback(process.communicate, timeout=SECONDS)
            stack.callback(process.terminate)
        http = stack.enter_context(httpx.Client(timeout=SECONDS, trust_env=False))
        for url in urls:
            ready(http, url)
        made = http.post(f"{urls[0]}/v1/agents", json={"name": "Ada"}).json()
        me = http.get(f"{urls[1]}/v1/agents/me", headers={"x-api-key": made["api_keys"]["test"]}).json()
    assert me["id"] == made["agent"]["id"]


def ready(http: httpx.Client, url: str) -> None:
    """Wait until a process answers; what it cannot reach here, such as a node, does not matter."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        try:
            http.get(f"{url}/health")
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"{url} does not answer")
