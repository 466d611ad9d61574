"""Published OAuth clients, unchanged, against /mcp/oauth: they discover the login, log in, call, and log in again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import authlib.integrations.httpx_client as authlib_client
import httpx2
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from mcp.client import Client
from mcp.client.auth import OAuthFlowError, OAuthTokenError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from server.app import assemble
from server.middleware import hosts_of
from server.settings import Settings
from tests.support.databases import Opening
from tests.support.fixed_market import edged, serve
from tests.support.market import Agent, TestMarket

Mode = Literal["legacy", "auto"]
BOTH = pytest.mark.parametrize("mode", ["legacy", "auto"])
LIVE = {"X-Env": "live"}


@dataclass
class Kept:
    """The token storage of a client."""

    tokens: OAuthToken | None = None
    given: list[str] = field(default_factory=list)

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens
        self.given.append(tokens.scope or "")

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        raise AssertionError("nobody registers a client here")


@pytest.fixture
async def oauth(opening: Opening, sqlite_url: str) -> TestMarket:
    return TestMarket(opening(sqlite_url))


@asynccontextmanager
async def at_url(market: TestMarket) -> AsyncIterator[str]:
    """Serve the whole market on a free port, with its URL published; return the URL."""
    served = []

    def app_of(place: str) -> Any:
        door, base = market.market, f"http://{place}"
        door.config = replace(door.config, base_url=base, other_urls=(base.replace("127.0.0.1", "localhost"),))
        hosts = hosts_of(door.config.urls)
        served.append(assemble(door, Settings(_env_file=None), hosts))
        return edged(served[0], door, hosts)

    async with serve(app_of) as base, served[0].mcp.running():
        yield base


def by_key(base: str, agent: Agent, kept: Kept, env: str = "test", **more: Any) -> ClientCredentialsOAuthProvider:
    return ClientCredentialsOAuthProvider(f"{base}/mcp/oauth", kept, agent.id, agent.keys[env], issuer=base, **more)


def by_assertion(base: str, agent: Agent, kept: Kept, market: TestMarket) -> PrivateKeyJWTOAuthProvider:
    pem = Ed25519PrivateKey.from_private_bytes(agent.seed).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )

    async def assert_it(audience: str) -> str:
        now = int(market.clock.at.timestamp())  # the SDK would use the real clock
        told = {"exp": now + 300, "iat": now}
        made = SignedJWTParameters(
            issuer=agent.id,
            subject=agent.id,
            signing_key=pem.decode(),
            signing_algorithm="EdDSA",
            additional_claims=told,
        )
        return await made.create_assertion_provider()(audience)

    return PrivateKeyJWTOAuthProvider(f"{base}/mcp/oauth", kept, agent.id, assert_it, issuer=base)


@asynccontextmanager
async def client(
    url: str, auth: httpx2.Auth, mode: str, headers: dict[str, str] | None = None
) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(auth=auth, headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as opened,
    ):
        yield opened


async def me(opened: Client) -> tuple[str, str]:
    told = (await opened.call_tool("get_me", {})).structured_content or {}
    return told["id"], told["env"]


@BOTH
@pytest.mark.parametrize("env", ["test", "live"])
@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_the_sdks_client_credentials_provider_logs_in_with_an_api_key(
    oauth: TestMarket, mode: Mode, env: str, method: Literal["client_secret_basic", "client_secret_post"]
) -> None:
    ada, kept = await oauth.register("Ada"), Kept()
    async with at_url(oauth) as base:
        auth = by_key(base, ada, kept, env, token_endpoint_auth_method=method)
        async with client(f"{base}/mcp/oauth", auth, mode) as opened:
            assert await me(opened) == (ada.id, env)
    assert kept.given == [f"env:{env} *"]


@BOTH
async def test_the_sdks_private_key_jwt_provider_logs_in_with_the_agents_own_key(oauth: TestMarket, mode: Mode) -> None:
    ada = await oauth.register("Ada")
    async with at_url(oauth) as base:
        for headers, env in (({}, "test"), (LIVE, "live")):
            kept = Kept()
            async with client(f"{base}/mcp/oauth", by_assertion(base, ada, kept, oauth), mode, headers) as opened:
                assert await me(opened) == (ada.id, env)
            assert kept.given == [f"env:{env} *"]


@BOTH
@pytest.mark.parametrize("kind", ["key", "assertion"])
async def test_a_client_whose_token_has_expired_logs_in_again_and_its_call_goes_through(
    oauth: TestMarket, mode: Mode, kind: str
) -> None:
    ada, kept = await oauth.register("Ada"), Kept()
    async with at_url(oauth) as base:
        auth = by_key(base, ada, kept) if kind == "key" else by_assertion(base, ada, kept, oauth)
        async with client(f"{base}/mcp/oauth", auth, mode) as opened:
            assert await me(opened) == (ada.id, "test")
            oauth.pass_seconds(3599)
            assert await me(opened) == (ada.id, "test")
            assert len(kept.given) == 1
            oauth.pass_seconds(1)
            assert await me(opened) == (ada.id, "test")
        assert kept.given == ["env:test *"] * 2


async def test_a_client_of_the_open_endpoint_logs_in_again_when_its_token_has_expired(oauth: TestMarket) -> None:
    ada, kept = await oauth.register("Ada"), Kept()
    async with at_url(oauth) as base:
        auth = by_key(base, ada, kept)
        async with client(f"{base}/mcp/oauth", auth, "auto") as opened:
            await me(opened)
        oauth.pass_seconds(3600)
        again = ClientCredentialsOAuthProvider(f"{base}/mcp", kept, ada.id, ada.keys["test"], issuer=base)
        async with client(f"{base}/mcp", again, "auto") as opened:
            assert await me(opened) == (ada.id, "test")
    assert kept.given == ["env:test *"] * 2


async def test_a_client_that_uses_another_name_of_the_market_finds_itself_in_the_documents(oauth: TestMarket) -> None:
    ada, kept = await oauth.register("Ada"), Kept()
    async with at_url(oauth) as base:
        other = base.replace("127.0.0.1", "localhost")
        for provider in (by_key(other, ada, kept), by_assertion(other, ada, kept, oauth)):
            async with client(f"{other}/mcp/oauth", provider, "auto") as opened:
                assert await me(opened) == (ada.id, "test")


async def test_a_wrong_secret_stops_the_client_with_the_word_of_the_standard(oauth: TestMarket) -> None:
    ada = replace(await oauth.register("Ada"), keys={"test": "as_test_" + "0" * 40})
    async with at_url(oauth) as base, httpx2.AsyncClient(auth=by_key(base, ada, Kept())) as http:
        with pytest.raises(OAuthTokenError, match="invalid_client"):
            await http.post(f"{base}/mcp/oauth", json={})
        stranger = by_key(base, ada, Kept())
        stranger._issuer = "https://another.example"
        async with httpx2.AsyncClient(auth=stranger) as strange:
            with pytest.raises(OAuthFlowError, match="issuer mismatch"):
                await strange.post(f"{base}/mcp/oauth", json={})


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_authlibs_client_logs_in_and_calls_over_rest(oauth: TestMarket, method: str) -> None:
    ada = await oauth.register("Ada")
    async with at_url(oauth) as base:
        endpoint = f"{base}/v1/oauth/token"
        async with authlib_client.AsyncOAuth2Client(
            ada.handle, ada.keys["live"], token_endpoint_auth_method=method, trust_env=False
        ) as http:
            token = await http.fetch_token(endpoint, grant_type="client_credentials", scope="read")
            told = await http.get(f"{base}/v1/agents/me")
    assert (token["scope"], told.json()["env"]) == ("env:live read", "live")
