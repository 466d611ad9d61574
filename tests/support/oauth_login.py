"""OAuth logins for tests: assertions that a test can falsify, and a market served completely at its own address."""

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import orjson
from nacl.signing import SigningKey

from server.app import Served, assemble
from server.middleware import Edge, hosts_of
from server.settings import Settings
from tests.support.market import BASE_URL, Agent, TestMarket

TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
GRANT = {"grant_type": "client_credentials"}
TOKEN_URL = f"{BASE_URL}/v1/oauth/token"


def base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@dataclass
class Asserting:
    """A client assertion to be signed.

    A test may change each field first. A claim or header of None is left out.
    """

    agent: Agent
    at: float
    jti: str = "one"
    claims: Mapping[str, Any] = field(default_factory=dict)
    header: Mapping[str, Any] = field(default_factory=dict)
    seed: bytes | None = None

    @property
    def signing_input(self) -> str:
        told = {
            "iss": self.agent.id, "sub": self.agent.id, "aud": BASE_URL, "exp": int(self.at) + 300, "iat": int(self.at),
            "jti": self.jti, **self.claims,
        }  # fmt: skip
        header = {"alg": "EdDSA", "typ": "JWT", **self.header}
        parts = [{name: value for name, value in one.items() if value is not None} for one in (header, told)]
        return ".".join(base64url(orjson.dumps(part)) for part in parts)

    @property
    def text(self) -> str:
        made = SigningKey(self.seed or self.agent.seed).sign(self.signing_input.encode()).signature
        return f"{self.signing_input}.{base64url(made)}"

    @property
    def form(self) -> dict[str, str]:
        return {**GRANT, "client_assertion_type": TYPE, "client_assertion": self.text}


def secret(agent: Agent, env: str = "test", **more: str) -> dict[str, str]:
    """Return the form of a login with an API key."""
    return {**GRANT, "client_id": agent.id, "client_secret": agent.keys[env], **more}


@dataclass
class Site:
    """All surfaces of a market behind the edge, and an HTTP client for them."""

    market: TestMarket
    http: httpx.AsyncClient
    made: int = 0

    async def login(self, form: Mapping[str, Any], **more: Any) -> httpx.Response:
        return await self.http.post("/v1/oauth/token", data=form, **more)

    async def token(self, form: Mapping[str, Any]) -> str:
        answer = await self.login(form)
        assert answer.status_code == 200, answer.text
        token: str = answer.json()["access_token"]
        return token

    async def refused(self, form: Mapping[str, Any], **more: Any) -> tuple[int, str]:
        answer = await self.login(form, **more)
        assert set(answer.json()) == {"error", "error_description"}, answer.text
        assert answer.headers["cache-control"] == "no-store"
        assert ("www-authenticate" in answer.headers) is (answer.status_code == 401)
        return answer.status_code, answer.json()["error"]

    def assertion(self, agent: Agent, **bent: Any) -> Asserting:
        """Return a valid assertion with a new jti."""
        self.made += 1
        return Asserting(agent, self.market.clock.at.timestamp(), **{"jti": f"jti-{self.made}", **bent})

    async def me(self, token: str, path: str = "/v1/agents/me") -> httpx.Response:
        return await self.http.get(path, headers={"Authorization": f"Bearer {token}"})


@asynccontextmanager
async def site(market: TestMarket, *others: str) -> AsyncIterator[Site]:
    """Serve the market at BASE_URL and at `others`."""
    door = market.market
    door.config = replace(door.config, other_urls=others)
    hosts = hosts_of(door.config.urls)
    surfaces = assemble(door, Settings(_env_file=None), hosts)
    wire = httpx.ASGITransport(Edge(surfaces, hosts, door.config.docs_url, market.dice))
    stop, ready = asyncio.Event(), asyncio.Event()
    sessions = asyncio.create_task(_running(surfaces, ready, stop))
    await ready.wait()
    async with httpx.AsyncClient(transport=wire, base_url=BASE_URL) as http:
        yield Site(market, http)
    stop.set()
    await sessions


async def _running(surfaces: Served, ready: asyncio.Event, stop: asyncio.Event) -> None:
    """Run the MCP sessions in their own task.

    The task that enters the sessions must leave them, but a fixture is left by another task.
    """
    async with surfaces.mcp.running():
        ready.set()
        await stop.wait()
