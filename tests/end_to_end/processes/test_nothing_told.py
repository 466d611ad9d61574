"""Secrets are given to their owners only: they are in no log at any level, no metric, no trace and no error.

A market runs in its own process, and agents trade on it over all three surfaces. Then all its output is searched for
each secret that it gave or received.
"""

import asyncio
import re
import subprocess
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import orjson
import pytest
from fastmcp import Client

from server.adapters.clock import SystemClock
from server.demo import Caller, JsonObject, Peer, trade
from tests.end_to_end.processes.loud import FAULTY, SPANS
from tests.end_to_end.processes.test_demo import ROOT, SECONDS, environment, free_ports
from tests.support.http_receiver import Receiver
from tests.support.signed_requests import Signing
from tools.kernel.keys import API_KEY

OPERATOR = "operator-secret-of-this-test"
WRONG_OPERATOR = "operator-secret-that-is-wrong"
OWN_HOOK_SECRET = "a-secret-of-the-receivers-own"
SECRET_FIELDS = {"secret_key", "secret", "access_token"}
TOKEN = "/v1/oauth/token"


class Spoken(NamedTuple):
    """The secrets and errors of a run, with its log, spans and metrics."""

    told: "Told"
    log: str
    spans: str
    metrics: str


@dataclass
class Told:
    """All secrets that the market gave or received, and every error that it answered."""

    secrets: dict[str, str] = field(default_factory=dict)  # the secret: its source
    errors: list[str] = field(default_factory=list)

    def note(self, record: Any, path: str = "") -> None:
        """Collect every secret in an answer, with the path of its field."""
        if isinstance(record, list):
            for one in record:
                self.note(one, path)
        elif isinstance(record, dict):
            for name, one in record.items():
                if isinstance(one, str) and (name in SECRET_FIELDS or API_KEY.fullmatch(one)):
                    self.secrets[one] = f"{path}.{name}"
                self.note(one, f"{path}.{name}")

    async def hear(self, answer: httpx.Response) -> Any:
        """Collect the secrets of a success, or the text and headers of an error; return the record."""
        await answer.aread()
        said = orjson.loads(answer.content) if answer.content else {}
        if answer.status_code >= 400:
            self.errors.append(f"{answer.headers}\n{answer.text}")
        else:
            self.note(said)
        return said


class NotedPeer(Peer):
    told: Told

    async def call(self, tool: str, **arguments: Any) -> JsonObject:
        said = await super().call(tool, **arguments)
        self.told.note(said)
        return said


class NotedCaller(Caller):
    told: Told

    async def call(self, tool: str, **arguments: Any) -> JsonObject:
        said = await super().call(tool, **arguments)
        self.told.note(said)
        return said


@dataclass
class Loud:
    """The market, and the secrets of its answers."""

    http: httpx.AsyncClient
    base: str
    told: Told

    async def ask(self, method: str, path: str, key: str = "", **request: Any) -> Any:
        headers = {**request.pop("headers", {}), **({"X-API-Key": key} if key else {})}
        return await self.told.hear(await self.http.request(method, path, headers=headers, **request))


@asynccontextmanager
async def loud_market(folder: Path) -> AsyncIterator[Loud]:
    with free_ports(2) as ports:
        own = environment(folder / "data", ports)
    own |= {"EMPORION_OPERATOR_SECRET": OPERATOR, "EMPORION_METRICS": "true"}
    own |= {"EMPORION_OTEL_ENDPOINT": "http://127.0.0.1:9", SPANS: str(folder / "spans")}
    command = [sys.executable, "-m", "tests.end_to_end.processes.loud", "serve", "--sandbox"]
    log = folder / "log"
    with log.open("wb") as written:
        serving = subprocess.Popen(command, cwd=ROOT, env=own, stdout=written, stderr=written)  # noqa: ASYNC220 - begins at once
        try:
            base = f"http://127.0.0.1:{ports[0]}"
            async with httpx.AsyncClient(base_url=base, timeout=30, trust_env=False) as http, asyncio.timeout(SECONDS):
                await until_ready(http, serving)
                yield Loud(http, base, Told())
        finally:
            serving.terminate()
            serving.wait(timeout=SECONDS)


async def until_ready(http: httpx.AsyncClient, serving: "subprocess.Popen[bytes]") -> None:
    while True:
        assert serving.poll() is None, "it did not start"
        try:
            if (await http.get("/ready")).status_code == 200:
                return
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.2)


async def traded(market: Loud) -> tuple[str, str]:
    """Make a whole paid trade: A2A seller, MCP buyer, REST client; return a test key of each."""
    async with Client(f"{market.base}/mcp") as connection:
        seller, buyer = NotedPeer(market.http), NotedCaller(connection)
        seller.told = buyer.told = market.told
        await trade(market.base, seller, buyer)
    assert seller.key is not None
    assert buyer.key is not None
    return seller.key, buyer.key


async def logged_in(market: Loud, agent: str, key: str) -> None:
    """Log in with OAuth as a body and as Basic, correctly and wrongly; also misuse the token."""
    grant = {"grant_type": "client_credentials"}
    said = await market.ask("POST", TOKEN, data={**grant, "client_id": agent, "client_secret": key})
    bearer = {"Authorization": f"Bearer {said['access_token']}"}
    assert (await market.ask("GET", "/v1/agents/me", headers=bearer))["id"] == agent
    basic = "Basic " + b64encode(f"{agent}:{key}".encode()).decode()
    market.told.secrets[basic.removeprefix("Basic ")] = "basic"
    await market.ask("POST", TOKEN, data=grant, headers={"Authorization": basic})
    await market.ask("POST", TOKEN, data={**grant, "client_id": "nobody", "client_secret": key})
    await market.ask("POST", TOKEN, data={**grant, "client_id": agent, "client_secret": key, "scope": "nonsense"})
    await market.ask("POST", f"/mcp?api_key={said['access_token']}", json={"jsonrpc": "2.0", "id": 1, "method": "x"})


async def hooked(market: Loud, key: str) -> None:
    """Use webhooks with a secret of ours and of the client: delivered, refused and rotated."""
    async with Receiver() as receiver:
        made = await market.ask("POST", "/v1/webhooks", key, json={"url": receiver.url})
        own = {"url": receiver.url + "/own", "secret": OWN_HOOK_SECRET}
        await market.ask("POST", "/v1/webhooks", key, json=own)
        await market.ask("POST", "/v1/webhooks", key, json={**own, "url": "nonsense"})
        await market.ask("POST", f"/v1/webhooks/{made['id']}/rotate-secret", key)
        await market.ask("POST", f"/v1/webhooks/{made['id']}/test", key)
        await receiver.has(1)
    await market.ask("POST", f"/v1/webhooks/{made['id']}/test", key)
    market.told.secrets[OWN_HOOK_SECRET] = "webhook.own"


async def administered(market: Loud, agent: str) -> None:
    right, wrong = {"X-Admin-Token": OPERATOR}, {"X-Admin-Token": WRONG_OPERATOR}
    for token in (right, wrong):
        await market.ask("GET", "/v1/admin/overview", headers=token)
        await market.ask(
            "POST", f"/v1/admin/agents/{agent}/first-party", headers=token, json={"first_party": "perhaps"}
        )
        await market.ask("POST", "/v1/admin/agents/nobody/status", headers=token, json={"status": "active"})
    market.told.secrets |= {OPERATOR: "operator", WRONG_OPERATOR: "operator, guessed"}


async def recovered(market: Loud, agent: str, seed: str) -> None:
    """Recover keys with a signature of the root key, which is never sent."""
    now = int(SystemClock().now().timestamp())
    signing = Signing("POST", f"{market.base}/v1/agents/recover", b"{}", keyid=agent, created=now)
    headers = {**signing.headers(bytes.fromhex(seed)), "content-type": "application/json"}
    said = await market.ask("POST", "/v1/agents/recover", headers=headers, content=b"{}")
    assert said["object"] == "agent.recovered", said
    market.told.secrets[headers["signature"].split(":")[1]] = "signature"


async def mistaken(market: Loud, key: str) -> None:
    """Cause errors of every kind with a valid key, and one internal error."""
    for method, path in (("GET", "/v1/nowhere"), ("DELETE", "/health"), ("GET", "/v1/jobs/job_none")):
        await market.ask(method, path, key)
    await market.ask("POST", "/v1/jobs", key, content=b'{"listing_id": "', headers={"content-type": "application/json"})
    await market.ask("POST", "/v1/jobs", key, json={"listing_id": 7, "unknown": [1]})
    await market.ask("GET", "/v1/agents/me", key + "x")
    await market.ask("GET", "/v1/agents/me", headers={"X-API-Key": key, "Authorization": "Bearer other"})
    await market.ask("PUT", "/v1/memory/mine", key, json={"value": {"note": key}})
    fault = await market.ask("GET", "/v1/changelog", key)
    assert fault["error"]["type"] == "internal_error"
    called = {"name": FAULTY, "arguments": {"api_key": key}}
    await market.ask(
        "POST", f"/mcp?api_key={key}", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}
    )


async def misplaced(market: Loud, key: str) -> None:
    """Send a key in wrong places.

    Its sender may read it back, but the log must not contain it.
    """
    for path in (f"/v1/agents/{key}", f"/v1/agents?q={key}", f"/v1/agents/me?api_key={key}", f"/nowhere/{key}"):
        await market.http.get(path)
    await market.http.post("/v1/agents", json={"name": "x", key: key})
    await market.http.get("/health", headers={"X-Request-Id": f"{key}"})


def installations(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the secrets of the installation, from the files beside its database."""
    for name in ("signing_seed", "key_pepper"):
        yield (folder / "data" / name).read_text().strip(), name


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Spoken:
    return asyncio.run(lived_through(tmp_path_factory.mktemp("loud")))


async def lived_through(folder: Path) -> Spoken:
    async with loud_market(folder) as market:
        _, key = await traded(market)
        made = await market.ask("POST", "/v1/agents", json={"name": "Rest"})
        agent, own = made["agent"]["id"], made["api_keys"]["test"]
        await market.ask("POST", "/v1/agents/me/keys", own, json={"env": "test", "name": "second"})
        await logged_in(market, agent, own)
        await hooked(market, own)
        await administered(market, agent)
        await recovered(market, agent, made["keypair"]["secret_key"])
        await mistaken(market, own)
        await mistaken(market, key)
        await misplaced(market, own)
        metrics = await market.http.get("/metrics", headers={"X-Admin-Token": OPERATOR})
        assert metrics.status_code == 200
        market.told.secrets |= dict(installations(folder))
    log, spans = ((folder / name).read_text(errors="replace") for name in ("log", "spans"))
    return Spoken(market.told, log, spans, metrics.text)


def found_in(text: str, told: Told) -> set[str]:
    """Return the sources of the secrets in a text, in any spelling that a log might use."""
    spelled = {secret: where for secret, where in told.secrets.items() if secret in text or secret.upper() in text}
    return set(spelled.values())


def test_every_kind_of_secret_was_given_out(spoken: Spoken) -> None:
    told = spoken.told
    kinds = {where.rsplit(".", 1)[-1] for where in told.secrets.values()}
    assert kinds >= {"live", "test", "secret_key", "key", "secret", "access_token", "operator", "own", "signature"}
    assert kinds >= {"signing_seed", "key_pepper", "basic"}
    assert all(len(secret) >= 24 for secret in told.secrets), "one that short stands in many a text"


def test_no_secret_stands_in_the_logs(spoken: Spoken) -> None:
    told, log = spoken.told, spoken.log
    assert found_in(log, told) == set()


def test_the_logs_that_hold_none_hold_all_else(spoken: Spoken) -> None:
    """The log contains the calls of all surfaces, the error with its traceback, the access log."""
    log = spoken.log
    calls = [orjson.loads(line) for line in log.splitlines() if line.startswith('{"') and '"event":"call"' in line]
    assert {one["surface"] for one in calls} == {"rest", "mcp", "a2a"}
    assert {"register_agent", "pay_job", "create_webhook", "recover_agent", FAULTY} <= {
        one["operation"] for one in calls
    }
    faults = [line for line in log.splitlines() if '"event":"fault"' in line]
    assert any("no luck with [redacted]" in line and "Traceback" in line for line in faults)
    assert re.search(r'"GET /nowhere/\S+ HTTP/1.1" 404', log)


def test_no_secret_stands_in_the_metrics(spoken: Spoken) -> None:
    told, metrics = spoken.told, spoken.metrics
    assert 'operation="recover_agent"' in metrics
    assert found_in(metrics, told) == set()


def test_no_secret_stands_in_the_traces(spoken: Spoken) -> None:
    assert '"emporion.operation": "recover_agent"' in spoken.spans
    assert '"name": "chain receipt"' in spoken.spans
    assert found_in(spoken.spans, spoken.told) == set()


def test_no_secret_stands_in_an_error(spoken: Spoken) -> None:
    told = spoken.told
    assert len(told.errors) >= 20
    assert {where for error in told.errors for where in found_in(error, told)} == set()
