"""OAuth metadata for clients, and the MCP endpoint that needs a login."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
import pytest

from protocol.mcp.toolsets import CORE
from tests.requirements import covers
from tests.support.databases import Opening
from tests.support.market import BASE_URL, Agent, TestMarket
from tests.support.mcp_client import ERAS, headers_of, heard, request
from tests.support.oauth_login import Site, secret, site
from tests.support.signed_requests import Signing

OTHER = "http://market.elsewhere:8443"
METADATA = f"{BASE_URL}/.well-known/oauth-protected-resource"
BAD = 'Bearer error="invalid_token", error_description="the credential does not hold", resource_metadata='
WRONG = "as_test_" + "0" * 40


@pytest.fixture
async def at(opening: Opening, sqlite_url: str) -> AsyncIterator[Site]:
    async with site(TestMarket(opening(sqlite_url)), OTHER) as made:
        yield made


@pytest.fixture
async def ada(at: Site) -> Agent:
    return await at.market.register("Ada")


async def ask(at: Site, path: str, era: str, method: str, headers: Any = (), **params: Any) -> httpx.Response:
    body = request(era, method, params)
    return await at.http.post(path, content=orjson.dumps(body), headers=[*headers_of(era, body), *headers])


def server(base: str) -> dict[str, Any]:
    return {
        "issuer": base,
        "token_endpoint": f"{base}/v1/oauth/token",
        "authorization_endpoint": f"{base}/v1/oauth/authorize",
        "grant_types_supported": ["client_credentials"],
        "response_types_supported": [],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "private_key_jwt"],
        "token_endpoint_auth_signing_alg_values_supported": ["EdDSA", "Ed25519"],
        "scopes_supported": ["env:test", "env:live", "*", "read", "buy", "sell", "message", "admin:self"],
        "service_documentation": f"{base}/skill.md",
    }


@pytest.mark.parametrize("base", [BASE_URL, OTHER])
async def test_the_documents_name_the_address_they_are_asked_for_under(at: Site, base: str) -> None:
    for path in ("", "/mcp", "/mcp/oauth", "/a2a"):
        answer = await at.http.get(f"{base}/.well-known/oauth-protected-resource{path}")
        assert answer.json() == {
            "resource": base + path,
            "authorization_servers": [base],
            "scopes_supported": ["env:test", "env:live"],
            "bearer_methods_supported": ["header"],
            "resource_name": "Emporion",
            "resource_documentation": f"{base}/skill.md",
        }
        assert answer.headers["cache-control"] == "public, max-age=300"
        found = await at.http.get(f"{base}/.well-known/oauth-authorization-server{path}")
        assert found.json() == server(base)
    head = await at.http.head(f"{base}/.well-known/oauth-authorization-server")
    assert (head.status_code, head.content, head.headers["content-type"]) == (200, b"", "application/json")


async def test_what_is_only_read_is_not_posted_and_nobody_signs_in_by_hand(at: Site) -> None:
    posted = await at.http.post("/.well-known/oauth-authorization-server")
    assert (posted.status_code, posted.headers["allow"]) == (405, "GET, HEAD")
    asked = await at.http.get("/v1/oauth/authorize?response_type=code&redirect_uri=http://evil")
    assert (asked.status_code, asked.json()["error"]) == (400, "unsupported_response_type")
    assert "evil" not in asked.text
    assert (await at.http.get("/.well-known/oauth-protected-resource/v2")).status_code == 404
    assert (await at.http.get("/.well-known/openid-configuration")).status_code == 404


async def test_a_401_over_rest_says_where_to_log_in_and_names_an_error_only_where_a_credential_came(at: Site) -> None:
    missing = await at.http.get("/v1/agents/me")
    assert missing.headers["www-authenticate"] == f'Bearer resource_metadata="{METADATA}"'
    wrong = await at.http.get("/v1/agents/me", headers={"X-API-Key": WRONG})
    assert wrong.headers["www-authenticate"] == f'{BAD}"{METADATA}"'
    elsewhere = await at.http.get(f"{OTHER}/v1/agents/me")
    assert elsewhere.headers["www-authenticate"].endswith(f'"{OTHER}/.well-known/oauth-protected-resource"')


@pytest.mark.parametrize("path", ["/mcp/oauth", "/mcp/oauth/"])
async def test_the_closed_endpoint_answers_401_to_everything_without_a_credential_that_holds(
    at: Site, ada: Agent, path: str
) -> None:
    for method in ("GET", "POST", "DELETE", "PUT", "HEAD"):
        answer = await at.http.request(method, path)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == f'Bearer resource_metadata="{METADATA}/mcp/oauth"'
    for era in ERAS:
        for asked, params in (
            ("initialize", {}),
            ("tools/list", {}),
            ("tools/call", {"name": "get_payments_info", "arguments": {}}),
        ):
            for headers in (
                [],
                [("x-api-key", WRONG)],
                [("authorization", "Bearer oat_e30.e30")],
                [("authorization", "Basic e30=")],
            ):
                answer = await ask(at, path, era, asked, headers, **params)
                assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")
                expected = f'{BAD if headers else "Bearer resource_metadata="}"{METADATA}/mcp/oauth"'
                assert answer.headers["www-authenticate"] == expected
        argument = await ask(at, path, era, "tools/call", name="get_me", arguments={"api_key": ada.keys["test"]})
        assert argument.status_code == 401  # only the credentials of the connection count
    assert (await at.http.post(path, content=b"{")).status_code == 401


async def test_the_challenge_asks_for_the_environment_that_x_env_names(at: Site) -> None:
    for env, told in (("live", 'scope="env:live", '), ("test", 'scope="env:test", '), ('"x', ""), ("", "")):
        answer = await at.http.post("/mcp/oauth", headers={"X-Env": env})
        assert answer.headers["www-authenticate"] == f'Bearer {told}resource_metadata="{METADATA}/mcp/oauth"'


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("kind", ["token", "key", "query"])
async def test_who_is_let_in_gets_the_same_answers_at_both_endpoints(at: Site, ada: Agent, era: str, kind: str) -> None:
    token = await at.token(secret(ada))
    headers = {
        "token": [("authorization", f"Bearer {token}")],
        "key": [("x-api-key", ada.keys["test"])],
        "query": [],
    }[kind]
    query = f"?api_key={ada.keys['test']}" if kind == "query" else ""
    for asked, params in (
        ("tools/list", {}),
        ("prompts/list", {}),
        ("tools/call", {"name": "get_me", "arguments": {}}),
        ("tools/call", {"name": "get_job", "arguments": {"job_id": "job_nobody"}}),
    ):
        both = [heard(await ask(at, path + query, era, asked, headers, **params)) for path in ("/mcp", "/mcp/oauth")]
        told = [orjson.loads(orjson.dumps(one.messages).replace(_request_id(one), b"")) for one in both]
        assert told[0] == told[1]
        assert [one.status for one in both] == [200, 200]
    listed = heard(await ask(at, "/mcp/oauth" + query, era, "tools/list", headers)).result["tools"]
    assert [tool["name"] for tool in listed] == list(CORE)
    got = await at.http.get("/mcp/oauth" + query, headers=headers)
    assert (got.status_code, got.headers["allow"]) == (405, "POST")


def _request_id(one: Any) -> bytes:
    return str(one.headers["x-request-id"]).encode()


@covers("auth.9.oauth")
async def test_a_signed_request_is_let_in_too_and_only_once(at: Site, ada: Agent) -> None:
    body = request(ERAS[0], "tools/call", {"name": "get_me", "arguments": {}})
    raw, now = orjson.dumps(body), int(at.market.clock.at.timestamp())
    made = Signing("POST", f"{BASE_URL}/mcp/oauth", raw, ada.id, now).headers(ada.seed)
    headers = [*headers_of(ERAS[0], body), *made.items()]
    answers = [await at.http.post("/mcp/oauth", content=raw, headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 401]
    assert orjson.loads(answers[0].json()["result"]["content"][0]["text"])["id"] == ada.id
    assert answers[1].headers["www-authenticate"].startswith('Bearer error="invalid_token"')


@pytest.mark.parametrize("era", ERAS)
async def test_the_open_endpoint_tells_missing_and_bad_keys_as_results_and_refuses_bad_tokens_by_401(
    at: Site, ada: Agent, era: str
) -> None:
    for headers in ([], [("x-api-key", WRONG)]):
        told = heard(await ask(at, "/mcp", era, "tools/call", headers, name="get_me", arguments={}))
        assert (told.status, told.result["isError"]) == (200, True)
        assert "www-authenticate" not in told.headers
    token = await at.token(secret(ada))
    at.market.pass_seconds(3600)
    for asked, params in (("tools/list", {}), ("tools/call", {"name": "get_payments_info", "arguments": {}})):
        answer = await ask(at, "/mcp", era, asked, [("authorization", f"Bearer {token}")], **params)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == f'{BAD}"{METADATA}/mcp"'
    argument = heard(await ask(at, "/mcp", era, "tools/call", name="get_me", arguments={"api_key": token}))
    assert orjson.loads(argument.result["content"][0]["text"])["error"]["details"]["code"] == "invalid_token"


async def test_strangers_at_the_closed_endpoint_are_counted(opening: Opening, sqlite_url: str) -> None:
    async with site(TestMarket(opening(sqlite_url), enforced=True)) as at:
        for _ in range(600):
            assert (await at.http.post("/mcp/oauth")).status_code == 401
        refused = await at.http.post("/mcp/oauth")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
        assert "www-authenticate" not in refused.headers
