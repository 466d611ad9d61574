"""The edge: hosts, origins, CORS, size limits of bodies, request ids and methods, the same for every surface."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

import server.http_limits
from storage.store import Store
from tests.requirements import covers
from tests.support.market import TestMarket
from tests.support.protocols import served

PATHS = ("/health", "/v1/agents/me", "/mcp", "/a2a", "/openapi.json", "/nowhere")


@pytest.fixture
async def sqlite_market(opening: Any, sqlite_url: str) -> TestMarket:
    store: Store = opening(sqlite_url)
    market = TestMarket(store)
    await market.workers.check_health()
    return market


@pytest.fixture
async def http(sqlite_market: TestMarket) -> AsyncIterator[httpx.AsyncClient]:
    async with served(sqlite_market) as url, httpx.AsyncClient(base_url=url, trust_env=False) as client:
        yield client


@pytest.mark.parametrize("path", PATHS)
async def test_another_host_is_refused_everywhere(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.get(path, headers={"Host": "evil.example"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (421, "host_not_allowed")
    assert "evil" not in answer.text


@pytest.mark.parametrize("path", PATHS)
async def test_a_foreign_page_cannot_reach_a_service_on_this_machine(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.get(path, headers={"Origin": "https://evil.example"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin_not_allowed")
    own = await http.get(path, headers={"Origin": "http://localhost:3000"})
    assert own.status_code != 403


async def test_cors_is_open_without_credentials(http: httpx.AsyncClient) -> None:
    answer = await http.options(
        "/v1/jobs",
        headers={
            "Origin": "http://localhost:1",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization, payment-signature, idempotency-key",
        },
    )
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers
    assert answer.headers["access-control-allow-headers"] == "authorization, payment-signature, idempotency-key"
    shown = set((await http.get("/health")).headers["access-control-expose-headers"].split(", "))
    assert {"PAYMENT-REQUIRED", "PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE"} <= shown


@pytest.mark.parametrize("path", ["/v1/agents", "/mcp", "/a2a"])
async def test_a5_a_body_beyond_a_mebibyte_is_refused_while_it_streams(http: httpx.AsyncClient, path: str) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(200):
            yield b"x" * 65_536

    stated = await http.post(path, content=b"x" * (1_048_576 + 1), headers={"content-type": "application/json"})
    assert (stated.status_code, stated.json()["error"]["code"]) == (413, "payload_too_large")
    streamed = await http.post(path, content=endless(), headers={"content-type": "application/json"})
    assert streamed.status_code == 413


async def test_a_compressed_body_is_refused(http: httpx.AsyncClient) -> None:
    answer = await http.post("/v1/agents", content=b"\x1f\x8b", headers={"content-encoding": "gzip"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "unsupported_media_type")


async def test_request_ids_are_echoed_when_well_formed(http: httpx.AsyncClient) -> None:
    given = await http.get("/health", headers={"X-Request-Id": "trace:42.a-b_C"})
    assert (given.headers["x-request-id"], given.json()["request_id"]) == ("trace:42.a-b_C", "trace:42.a-b_C")
    made = await http.get("/health", headers={"X-Request-Id": "short"})
    assert made.headers["x-request-id"].startswith("req_")


async def test_unknown_paths_and_methods_say_what_is_served(http: httpx.AsyncClient) -> None:
    lost = await http.get("/v1/nowhere")
    assert (lost.status_code, lost.json()["error"]["code"]) == (404, "route_not_found")
    wrong = await http.put("/v1/jobs", json={})
    assert (wrong.status_code, wrong.headers["allow"], wrong.json()["error"]["type"]) == (
        405,
        "GET, POST",
        "validation_error",
    )


HEAD = b"POST /v1/agents HTTP/1.1\r\nHost: %s\r\n"
ENDLESS = {
    "headers": (HEAD, b"X-More: " + b"x" * 100 + b"\r\n"),
    "one header": (HEAD + b"X-Long: ", b"x" * 100),
    "a path": (b"GET /", b"x" * 100),
}


async def heard(url: str, sent: bytes) -> bytes:
    """Return all bytes until the connection ends."""
    place, answer = url.removeprefix("http://"), b""
    reader, writer = await asyncio.open_connection(*place.split(":"))
    writer.write(sent.replace(b"%s", place.encode()))
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(15):
            answer = await reader.read()
    writer.close()
    return answer


@covers("error.more.headers_too_large")
@pytest.mark.parametrize("what", ENDLESS)
async def test_a_head_that_does_not_end_is_refused_before_it_fills_the_memory(
    sqlite_market: TestMarket, what: str
) -> None:
    begin, part = ENDLESS[what]
    async with served(sqlite_market) as url:
        place = url.removeprefix("http://").encode()
        answer = await heard(url, (begin.replace(b"%s", place) + part * 700)[: server.http_limits.MAX_HEAD + 1])
    head, _, body = answer.partition(b"\r\n\r\n")
    error = orjson.loads(body)["error"]
    assert head.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert (error["code"], error["type"], error["docs"]) == (
        "headers_too_large", "validation_error", f"{sqlite_market.market.config.docs_url}#headers_too_large"
    )  # fmt: skip


async def test_a_complete_head_too_large_for_us_is_refused_alike(http: httpx.AsyncClient) -> None:
    answer = await http.get("/health", headers={f"X-{n}": "x" * 10_000 for n in range(7)})
    assert (answer.status_code, answer.json()["error"]["code"]) == (431, "headers_too_large")


async def test_a_trailer_that_does_not_end_closes_the_connection(
    sqlite_market: TestMarket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.http_limits, "HEAD_SECONDS", 3_600)
    begin = HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
    async with served(sqlite_market) as url:
        assert await heard(url, begin + (b"X-More: " + b"x" * 990 + b"\r\n") * 400) == b""


async def test_a_trailer_is_no_header(sqlite_market: TestMarket) -> None:
    ada = await sqlite_market.register("Ada")
    trailer = b"X-Api-Key: %b\r\nConnection: close\r\n\r\n" % ada.keys["test"].encode()
    sent = HEAD.replace(b"/v1/agents", b"/v1/schedules") + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    async with served(sqlite_market) as url:
        answer = await heard(url, sent + b"2\r\n{}\r\n0\r\n" + trailer)
        known = await heard(url, sent.replace(b"\r\n\r\n", b"\r\n" + trailer) + b"2\r\n{}\r\n0\r\n\r\n")
    assert (answer[9:12], known[9:12]) == (b"401", b"400")


async def test_each_request_of_a_connection_may_have_a_head_of_its_own_and_a_body_a_mebibyte(
    http: httpx.AsyncClient,
) -> None:
    for _ in range(3):
        answer = await http.post("/v1/agents", content=b" " * 1_000_000, headers={"X-Long": "x" * 40_000})
        assert answer.json()["error"]["details"]["violations"] == [{"param": "name", "message": "required"}]


async def test_a_request_half_sent_is_not_waited_for_and_one_that_is_worked_on_is(
    sqlite_market: TestMarket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.http_limits, "HEAD_SECONDS", 0.05)
    async with served(sqlite_market) as url:
        place = url.removeprefix("http://")
        reader, writer = await asyncio.open_connection(*place.split(":"))
        writer.write(HEAD.replace(b"%s", place.encode()) + b"Content-Length: 14\r\n\r\n")
        for half in (b"", b"\r\n", b"GET /", HEAD):
            assert await heard(url, half) == b""
        writer.write(b'{"name":"Ada"}')
        assert (await reader.readline()).startswith(b"HTTP/1.1 201")
        writer.close()


HEADERS = (
    "authorization", "x-api-key", "idempotency-key", "x-request-id", "if-match", "if-none-match", "last-event-id",
    "accept", "content-type", "content-encoding", "x-forwarded-for", "cookie", "origin", "a2a-version",
    "mcp-protocol-version", "payment-signature", "signature-input", "forwarded",
)  # fmt: skip


@pytest.mark.parametrize("path", ["/v1/agents/me", "/mcp", "/a2a"])
async def test_a15_a_header_of_sixty_thousand_signs_is_read_once(http: httpx.AsyncClient, path: str) -> None:
    """A parser that rescans from each character would take quadratic time."""
    body, method = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, "GET" if path.startswith("/v1") else "POST"
    for name in HEADERS:
        for filling in (" ", ";", '"'):
            value = "a" + filling * (60_000 // len(filling)) + "b"
            answer = await http.request(method, path, headers={name: value}, json=body)
            assert (answer.status_code < 500, "internal_error" in answer.text) == (True, False), (name, filling)


async def test_a_body_is_json_whatever_its_content_type(http: httpx.AsyncClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "nonsense"):
        answer = await http.post("/v1/agents", content=b'{"name":"Ada"}', headers={"content-type": kind})
        assert answer.status_code == 201
    bare = await http.post("/v1/agents", content=b"")
    assert bare.json()["error"]["details"]["violations"] == [{"param": "name", "message": "required"}]


async def test_unchanged_documents_and_records_answer_304(http: httpx.AsyncClient) -> None:
    for path in (
        "/llms.txt",
        "/llms-full.txt",
        "/server.json",
        "/openapi.json",
        "/skill.md",
        "/docs/quickstart",
        "/docs/errors",
        "/docs/events",
        "/docs/lifecycle",
        "/.well-known/agent-card.json",
        "/v1/changelog",
    ):
        first = await http.get(path)
        again = await http.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b""), path
        changed = await http.get(path, headers={"If-None-Match": '"other"'})
        assert changed.status_code == 200


async def test_the_root_is_json_or_markdown(http: httpx.AsyncClient) -> None:
    assert (await http.get("/")).json()["object"] == "platform"
    text = await http.get("/", headers={"Accept": "text/markdown"})
    assert text.headers["content-type"].startswith("text/markdown")
    assert text.text.startswith("# ")


async def test_head_answers_like_get_without_a_body(http: httpx.AsyncClient) -> None:
    got, headed = await http.get("/v1/changelog"), await http.head("/v1/changelog")
    assert (headed.status_code, headed.content, headed.headers["etag"]) == (200, b"", got.headers["etag"])


async def test_a_trailing_slash_never_redirects_a_post(http: httpx.AsyncClient) -> None:
    answer = await http.post("/v1/agents/", json={"name": "Ada"})
    assert answer.status_code == 201


async def test_limits_are_told_in_both_header_forms(http: httpx.AsyncClient, sqlite_market: TestMarket) -> None:
    from dataclasses import replace

    market = sqlite_market.market
    market.services.config = replace(market.config, limits=replace(market.config.limits, enforced=True))
    answer = await http.get("/v1/changelog")
    assert answer.headers["ratelimit"] == '"reads";r=599;t=60'
    assert answer.headers["ratelimit-policy"] == '"reads";q=600;w=60'
    assert (answer.headers["ratelimit-limit"], answer.headers["ratelimit-remaining"]) == ("600", "599")
    refused = await http.get("/v1/agents/me")
    assert (refused.status_code, refused.headers["ratelimit-remaining"]) == (401, "599")
    metadata = "http://market.test/.well-known/oauth-protected-resource"
    assert refused.headers["www-authenticate"] == f'Bearer resource_metadata="{metadata}"'


async def test_a4_a_forwarded_address_is_believed_only_from_a_trusted_proxy() -> None:
    from server.http_identity import client_ip

    headers = [(b"x-forwarded-for", b"1.1.1.1, 2.2.2.2"), (b"x-forwarded-for", b"10.0.0.2")]
    scope = {"client": ("10.0.0.1", 1), "headers": headers}
    assert client_ip(scope, frozenset()) == "10.0.0.1"
    assert client_ip(scope, frozenset({"10.0.0.1"})) == "10.0.0.2"
    assert client_ip(scope, frozenset({"10.0.0.1", "10.0.0.2"})) == "2.2.2.2"


async def test_an_idempotency_key_header_is_honoured_on_mcp_too(sqlite_market: TestMarket) -> None:
    headers = {"Idempotency-Key": "one-and-the-same-call-twice"}
    async with served(sqlite_market) as url:
        made = []
        for _ in range(2):
            async with Client(StreamableHttpTransport(f"{url}/mcp", headers=headers)) as client:
                made.append((await client.call_tool("register_agent", {"name": "Ada"})).structured_content)
    assert made[0] == made[1]


async def test_two_different_idempotency_keys_are_refused_and_equal_ones_are_one(http: httpx.AsyncClient) -> None:
    for keys, code in (("one", "two"), "invalid_idempotency_key"), (("one", "one"), "unauthenticated"):
        headers = [("Idempotency-Key", key) for key in keys]
        for path in ("/v1/jobs", "/a2a", "/mcp"):
            answer = await http.post(path, headers=headers, json={})
            refused = "invalid_idempotency_key" in answer.text
            assert refused is (code == "invalid_idempotency_key"), (path, answer.text)
            assert not refused or answer.status_code == 400
