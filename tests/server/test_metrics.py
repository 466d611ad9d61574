"""Metrics: for the operator only, off by default, and the counts match what happened."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from server.adapters.chain import watched_chains
from server.metrics import Metrics, outcome_of
from storage.vocabulary import Env
from tests.support.databases import PostgresDatabase
from tests.support.http_receiver import Receiver
from tests.support.market import OPERATOR_SECRET, TestClock
from tests.support.replica import Replica
from tests.support.servers import serving
from tools.catalogue import CATALOGUE, every_error
from tools.chain.transfer_verification import ChainDown
from tools.engine.caller import Surface
from tools.events.webhooks.rules import Attempted

ADMIN = {"X-Admin-Token": OPERATOR_SECRET}
Samples = Mapping[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a market with metrics; no node listens at its test chain's port."""
    given: dict[str, Any] = {"operator_secret": OPERATOR_SECRET, "test_rpc_url": "http://127.0.0.1:9"}
    async with (
        serving(tmp_path, metrics=True, allow_private_networks=True, **given) as service,
        httpx.AsyncClient(base_url=service.settings.url, trust_env=False) as client,
    ):
        yield client


async def asked(folder: Path, **given: Any) -> httpx.Response:
    """Return the answer to the operator in a market with these settings."""
    async with (
        serving(folder, **given) as service,
        httpx.AsyncClient(base_url=service.settings.url, trust_env=False) as client,
    ):
        return await client.get("/metrics", headers=ADMIN)


async def scraped(http: httpx.AsyncClient) -> Samples:
    answer = await http.get("/metrics", headers=ADMIN)
    assert answer.status_code == 200
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples.get((f"emporion_{name}", tuple(sorted(labels.items()))), 0.0)


async def test_off_there_is_no_such_page(tmp_path: Path) -> None:
    answer = await asked(tmp_path, operator_secret=OPERATOR_SECRET)
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found")


async def test_without_an_operators_secret_nobody_reads_them(tmp_path: Path) -> None:
    answer = await asked(tmp_path, metrics=True)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


@pytest.mark.parametrize("headers", [{}, {"X-Admin-Token": "wrong"}, {"X-Admin-Token": ""}])
async def test_only_the_operator_reads_them(http: httpx.AsyncClient, headers: dict[str, str]) -> None:
    answer = await http.get("/metrics", headers=headers)
    assert (answer.status_code, answer.json()["error"]["type"]) == (401, "authentication_error")
    assert "www-authenticate" in answer.headers
    assert "emporion_" not in answer.text


@pytest.mark.verify
async def test_who_guesses_at_the_secret_is_stopped(http: httpx.AsyncClient) -> None:
    statuses = [(await http.get("/metrics", headers={"X-Admin-Token": f"guess {n}"})).status_code for n in range(700)]
    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert (await http.get("/metrics", headers=ADMIN)).status_code == 200


async def test_what_is_counted_is_what_was_done(http: httpx.AsyncClient) -> None:
    made = (await http.post("/v1/agents", json={"name": "Ada Counted", "handle": "ada-counted"})).json()
    key = {"X-API-Key": made["api_keys"]["test"]}
    for _ in range(3):
        await http.get("/v1/agents/me", headers=key)
    await http.get("/v1/jobs/job_none", headers=key)
    await http.get("/v1/agents/me")
    samples = await scraped(http)
    assert value(samples, "calls_total", operation="get_me", surface="rest", status="200") == 3
    assert value(samples, "calls_total", operation="register_agent", surface="rest", status="201") == 1
    assert value(samples, "calls_total", operation="get_job", surface="rest", status="404") == 1
    assert value(samples, "refusals_total", code="not_found", surface="rest") == 1
    assert value(samples, "refusals_total", code="unauthenticated", surface="rest") == 1
    assert value(samples, "call_seconds_count", operation="get_me") == 4
    assert value(samples, "store_units_total") >= value(samples, "store_commits_total") >= 1
    assert value(samples, "chain_calls_total", env="test", method="head", outcome="down") >= 1


async def test_reads_of_a_replica_are_counted(
    tmp_path: Path, postgres_url: str, replica: Replica, postgres_database: PostgresDatabase
) -> None:
    given: dict[str, Any] = {"operator_secret": OPERATOR_SECRET, "database_url": postgres_url, "metrics": True}
    given |= {
        "read_database_url": replica.url(postgres_database.name),
        "signing_seed": "11" * 32,
        "key_pepper": "22" * 32,
    }
    async with (
        serving(tmp_path, **given) as service,
        httpx.AsyncClient(base_url=service.settings.url, trust_env=False) as http,
    ):
        async with asyncio.timeout(30):
            while not value(samples := await scraped(http), "replica_reads_total"):
                assert (await http.get("/v1/listings")).status_code == 200
        assert (await http.get("/v1/listings")).status_code == 200
        after = await scraped(http)
    assert value(after, "replica_reads_total") == value(samples, "replica_reads_total") + 1
    assert value(after, "replica_misses_total") == value(samples, "replica_misses_total")


async def test_streams_deliveries_and_rounds_are_seen(http: httpx.AsyncClient) -> None:
    made = (await http.post("/v1/agents", json={"name": "Ada"})).json()
    key = {"X-API-Key": made["api_keys"]["test"]}
    async with Receiver() as receiver:
        hook = (await http.post("/v1/webhooks", json={"url": receiver.url}, headers=key)).json()
        async with http.stream("GET", "/v1/events/stream", headers=key) as events:
            await anext(events.aiter_lines())
            assert value(await scraped(http), "open_streams") == 1
            await http.post(f"/v1/webhooks/{hook['id']}/test", headers=key)
            await receiver.has(1)
    while not value(samples := await scraped(http), "webhook_deliveries_total", outcome="delivered"):
        pass
    assert value(samples, "worker_rounds_total") >= 1
    assert 0 <= value(samples, "worker_round_age_seconds") < 30
    assert value(samples, "event_loop_lag_seconds_bucket", le="60.0") >= 0


async def test_no_label_is_anybodys_own(http: httpx.AsyncClient) -> None:
    """Label values are names of operations or errors, or words of a fixed list."""
    made = (await http.post("/v1/agents", json={"name": "Ada", "handle": "ada-labelled"})).json()
    key = {"X-API-Key": made["api_keys"]["test"]}
    for path in ("/v1/agents/ada-labelled", "/v1/jobs/job_secret", "/v1/memory/private", "/v1/nowhere/ada-labelled"):
        await http.get(path, headers=key)
    known = {
        "operation": set(CATALOGUE),
        "surface": {one.value for one in Surface},
        "code": {error.code for error in every_error()},
        "env": {"live", "test"},
        "method": {"receipt", "head", "block", "call"},
        "outcome": {"answered", "down", "cancelled", "delivered", "refused", "unreached", "not_begun"},
    }
    for name, labels in await scraped(http):
        for label, said in labels:
            if label in ("status", "le"):
                assert re.fullmatch(r"[0-9.]+|\+Inf", said), name
            else:
                assert said in known[label], name


@pytest.mark.parametrize(
    ("attempt", "outcome"),
    [
        (None, "not_begun"),
        (Attempted(None, "timeout"), "unreached"),
        (Attempted(204), "delivered"),
        (Attempted(302), "refused"),
        (Attempted(500), "refused"),
    ],
)
def test_an_attempts_outcome_is_one_of_four_words(attempt: Attempted | None, outcome: str) -> None:
    assert outcome_of(attempt) == outcome


async def test_a_chain_that_is_down_is_still_down() -> None:
    class Node:
        chain_id, last_head = 1, None

        async def head(self) -> int:
            raise ChainDown("gone")

    metrics = Metrics(TestClock())
    chain = watched_chains({Env.TEST: Node()}, metrics.chain_call)[Env.TEST]  # type: ignore[dict-item]
    with pytest.raises(ChainDown, match="gone"):
        await chain.head()
    assert (chain.chain_id, chain.last_head) == (1, None)
    assert metrics.registry.get_sample_value(
        "emporion_chain_calls_total", {"env": "test", "method": "head", "outcome": "down"}
    )
