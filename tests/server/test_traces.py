"""Traces: not even loaded by default; if enabled, a request's spans are nested and contain no personal data."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import server.app
import server.traces
from server.app import Service
from server.settings import BadSettings, read_settings
from tests.shape.test_house import ROOT
from tests.support.market import OPERATOR_SECRET
from tests.support.servers import serving
from tools.chain.errors import ChainUnavailable

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
KNOWN = {
    "http.request.method", "http.response.status_code", "emporion.surface", "emporion.operation", "emporion.status",
    "emporion.code", "emporion.unit", "emporion.env", "error.type",
}  # fmt: skip


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The exported spans of markets that are made after this."""
    exporter = InMemorySpanExporter()
    monkeypatch.setattr(server.traces, "processor_to", lambda _: SimpleSpanProcessor(exporter))
    return exporter


@pytest.fixture(params=[False, True], ids=["traced", "traced and counted"])
async def http(
    request: pytest.FixtureRequest, spans: InMemorySpanExporter, tmp_path: Path
) -> AsyncIterator[httpx.AsyncClient]:
    given: dict[str, Any] = {"otel_endpoint": "http://127.0.0.1:9", "test_rpc_url": "http://127.0.0.1:9"}
    async with (
        serving(tmp_path, metrics=request.param, operator_secret=OPERATOR_SECRET, **given) as service,
        httpx.AsyncClient(base_url=service.settings.url, trust_env=False) as client,
    ):
        yield client


def named(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    (found,) = [span for span in spans.get_finished_spans() if span.name == name]
    return found


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def is_child(span: ReadableSpan, of: ReadableSpan) -> bool:
    assert of.context is not None
    return span.parent is not None and span.parent.span_id == of.context.span_id


async def test_a_requests_parts_stand_under_one_another(http: httpx.AsyncClient, spans: InMemorySpanExporter) -> None:
    answer = await http.post("/v1/agents", json={"name": "Ada"})
    assert answer.status_code == 201
    request, call = named(spans, "POST v1"), named(spans, "call register_agent")
    unit = named(spans, "unit register_agent")
    assert request.parent is None
    assert is_child(call, request)
    assert is_child(unit, call)
    assert attributes(request) == {
        "http.request.method": "POST", "emporion.surface": "v1", "http.response.status_code": 201,
    }  # fmt: skip
    assert attributes(call) == {
        "emporion.operation": "register_agent", "emporion.surface": "rest", "emporion.status": 201,
    }  # fmt: skip


async def test_a_call_that_comes_over_mcp_and_a2a_is_traced_too(
    http: httpx.AsyncClient, spans: InMemorySpanExporter
) -> None:
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"data": {"tool": "get_health", "arguments": {}}}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    await http.post("/a2a", json=body, headers={"A2A-Version": "1.0"})
    assert is_child(named(spans, "call get_health"), named(spans, "POST a2a"))
    called = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_stats", "arguments": {}}}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
    await http.post("/mcp", json=called, headers=headers)
    call, request = named(spans, "call get_stats"), named(spans, "POST mcp")
    assert call.context is not None
    assert request.context is not None
    assert call.context.trace_id == request.context.trace_id


async def test_the_senders_trace_goes_on(http: httpx.AsyncClient, spans: InMemorySpanExporter) -> None:
    await http.get("/v1/stats", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
    request = named(spans, "GET v1")
    assert request.context is not None
    assert request.parent is not None
    assert f"{request.context.trace_id:032x}" == TRACE
    assert f"{request.parent.span_id:016x}" == PARENT
    spans.clear()
    await http.get("/v1/stats", headers={"traceparent": "nonsense"})
    assert named(spans, "GET v1").parent is None
    spans.clear()
    await http.get("/v1/stats", headers={"traceparent": f"00-{TRACE}-{PARENT}-00"})
    assert spans.get_finished_spans() == (), "its sender does not sample it"


async def test_what_a_chain_is_asked_stands_under_the_call_and_its_words_do_not(
    http: httpx.AsyncClient, spans: InMemorySpanExporter
) -> None:
    made = (await http.post("/v1/agents", json={"name": "Ada"})).json()
    key = {"X-API-Key": made["api_keys"]["test"]}
    spans.clear()
    asked = {"agent_id": 7}
    answer = await http.post("/v1/agents/me/erc8004", json=asked, headers=key)
    assert answer.json()["error"]["code"] == ChainUnavailable.code, answer.text
    call, chain = (
        named(spans, "call link_erc8004"),
        [span for span in spans.get_finished_spans() if span.name.startswith("chain ")],
    )
    assert call.context is not None
    assert chain
    for span in chain:
        assert span.context is not None
        assert span.context.trace_id == call.context.trace_id
        assert attributes(span) == {"emporion.env": "test", "error.type": "ChainDown"}
        assert span.status.description is None
        assert span.events == ()
    assert attributes(call)["emporion.code"] == ChainUnavailable.code


async def test_nothing_of_anybodys_stands_in_a_span(http: httpx.AsyncClient, spans: InMemorySpanExporter) -> None:
    made = (await http.post("/v1/agents", json={"name": "Ada Traced", "handle": "ada-traced"})).json()
    key = made["api_keys"]["test"]
    headers = {"X-API-Key": key, "X-Request-Id": "a-request-of-adas"}
    await http.put("/v1/memory/adas-key", json={"value": "adas value"}, headers=headers)
    await http.get(f"/v1/agents/ada-traced?note={key}", headers=headers)
    await http.get(f"/{key}/adas-path", headers=headers)
    await http.request("ADA", "/v1/agents", headers=headers)
    await http.get("/v1/admin/overview", headers={"X-Admin-Token": OPERATOR_SECRET})
    told = "\n".join(span.to_json() for span in spans.get_finished_spans())
    assert {name for span in spans.get_finished_spans() for name in attributes(span)} <= KNOWN
    secrets = [*made["api_keys"].values(), made["keypair"]["secret_key"], OPERATOR_SECRET, made["agent"]["id"]]
    for text in (*secrets, "ada-traced", "adas", "Ada", "ADA"):
        assert text not in told, text
    assert "put_memory" in told


async def test_what_nobody_asked_for_is_not_traced(http: httpx.AsyncClient, spans: InMemorySpanExporter) -> None:
    """By then the workers have used the database and the chain, without spans."""
    while (await http.get("/ready")).json()["checks"]["workers"] != "ok":
        spans.clear()
    roots = [span for span in spans.get_finished_spans() if span.parent is None]
    assert {span.name for span in roots} <= {"GET page"}


def test_off_nothing_of_it_is_loaded() -> None:
    program = (
        "import server.app, server.serve, sys; print([m for m in sys.modules if m.startswith('opentelemetry.sdk')])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_where_it_is_not_installed_the_start_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "server.traces", None)
    settings = read_settings(_env_file=None, data_dir=tmp_path, otel_endpoint="http://127.0.0.1:4318")
    with pytest.raises(BadSettings, match=r"EMPORION_OTEL_ENDPOINT: .* emporion\[otel\]"):
        Service(settings)
