"""Signed requests on every protocol: each operation with a key over REST, and the POST of a call over MCP and A2A."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from http_message_signatures import HTTPMessageSigner, HTTPSignatureKeyResolver, algorithms
from nacl.signing import SigningKey

from protocol.docs.skill import skill_text
from server.adapters.clock import SystemClock
from storage.store import Store
from tests.protocol.docs.test_texts import CODE
from tests.protocol.test_rate_limits import ACCEPT, META, RPC
from tests.requirements import covers
from tests.requirements.probes import stored
from tests.support.invalid_credentials import Standing, standing
from tests.support.market import BASE_URL, Agent, TestMarket
from tests.support.proofs import Sites, Zone
from tests.support.protocols import served
from tests.support.signed_requests import Signing, signing
from tools.catalogue import CATALOGUE
from tools.engine.context import Surface
from tools.engine.registry import Operation

TAKING = [op for op in CATALOGUE.values() if op.auth in ("key", "signed") and Surface.REST in op.surfaces]
LAST = ("revoke_api_key", "rotate_key", "delete_me")
A2A = {"A2A-Version": "1.0", "Content-Type": "application/json"}


@dataclass
class Wired:
    market: TestMarket
    http: httpx.AsyncClient

    @property
    def now(self) -> int:
        return int(self.market.clock.now().timestamp())

    async def send(self, agent: Agent, made: Signing, **headers: str) -> httpx.Response:
        path = made.url.removeprefix(BASE_URL)
        return await self.http.request(made.method, path, content=made.body, headers=made.headers(agent.seed) | headers)

    async def post(self, agent: Agent, path: str, body: Any, **more: Any) -> httpx.Response:
        """Send a JSON-RPC request, signed as a POST."""
        usual = {"keyid": agent.id, "created": self.now}
        made = Signing("POST", BASE_URL + path, orjson.dumps(body), **usual | more)
        told = {
            name: value for name, value in (ACCEPT | A2A).items() if not (path == "/mcp" and name.startswith("A2A"))
        }
        if path == "/mcp":
            told |= {"mcp-method": body["method"]} | (
                {"mcp-name": body["params"]["name"]} if "name" in body["params"] else {}
            )
        return await self.send(agent, made, **told)


@pytest.fixture
async def wired(store: Store) -> AsyncIterator[Wired]:
    async with over(TestMarket(store)) as made:
        yield made


@asynccontextmanager
async def over(market: TestMarket) -> AsyncIterator[Wired]:
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
        yield Wired(market, http)


def given_to(standing: Standing, op: Operation) -> dict[str, Any]:
    """Return valid arguments for the operation.

    The test adds an invalid one, which is checked last.
    """
    if op.name == "rotate_key":
        text = f"service:rotate:{standing.owner.id}:{bytes(SigningKey(standing.owner.seed).verify_key).hex()}:{standing.known['new_public_key']}"
        return standing.arguments(op) | {"proof": SigningKey(b"\x61" * 32).sign(text.encode()).signature.hex()}
    return standing.arguments(op)


@covers("auth.3.no_key", "auth.6.rotation")
async def test_every_operation_that_takes_a_key_takes_a_signature_over_rest_and_takes_it_once(store: Store) -> None:
    """Each call is refused for its argument, so all can use one market.

    The refusal shows that the caller was authenticated.
    """
    table = await standing(TestMarket(store))
    assert len(TAKING) > 50
    async with over(table.market) as wire:
        for number, op in enumerate(TAKING):
            given = given_to(table, op) | {"nonsense": "1"}
            made = signing(table.owner, op, given, wire.now, nonce=f"n{number}")
            said = await wire.send(table.owner, made)
            assert (said.status_code, said.json()["error"].get("param")) == (400, "nonsense"), (op.name, said.text)
            again = await wire.send(table.owner, made)
            expected = (400, None) if op.method == "GET" else (401, "replay")
            assert (again.status_code, again.json()["error"].get("details", {}).get("reason")) == expected, op.name
            forged = await wire.send(table.stranger, replace(made, nonce=f"f{number}"))
            assert (forged.status_code, forged.json()["error"]["details"]["reason"]) == (401, "signature"), op.name


async def test_what_an_operation_does_by_a_key_it_does_by_a_signature(store: Store) -> None:
    table = await standing(TestMarket(store))
    table.market.market.world = replace(table.market.market.world, dns=Zone(), web=Sites())
    done = set[str]()
    async with over(table.market) as wire:
        for op in sorted(TAKING, key=lambda op: op.name in LAST and LAST.index(op.name) + 1):
            if op.streams:
                continue
            said = await wire.send(table.owner, signing(table.owner, op, given_to(table, op), wire.now))
            if said.is_success:
                done.add(op.name)
            if op.name == "rotate_key":
                table.owner.seed = b"\x61" * 32
            assert said.status_code != 401, (op.name, said.text)
            assert said.status_code < 500 or said.json()["error"]["code"] in ("chain_unavailable", "not_implemented"), (
                said.text
            )
    assert done >= {
        "get_me",
        "put_memory",
        "create_webhook",
        "recover_agent",
        "rotate_key",
        "delete_me",
        "create_api_key",
    }


class Key(HTTPSignatureKeyResolver):
    """The keys of the independent signer."""

    def __init__(self, seed: bytes) -> None:
        self.seed = seed

    def resolve_private_key(self, key_id: str) -> Any:
        return Ed25519PrivateKey.from_private_bytes(self.seed)

    def resolve_public_key(self, key_id: str) -> Any:
        return self.resolve_private_key(key_id).public_key()


@pytest.mark.parametrize("more", [{}, {"nonce": "a1b2"}, {"expires": 60}, {"tag": "mine", "label": "market"}, {"include_alg": False}], ids=str)  # fmt: skip
@covers("auth.3.signature_input", "auth.3.signature", "auth.3.content_digest")
async def test_what_a_library_of_others_signs_is_taken(wired: Wired, more: dict[str, Any]) -> None:
    """The http-message-signatures package signs in the contract's form.

    It contains no code of this market.
    """
    ada = await wired.market.register()
    wanted = {"label": "sig1"} | more
    if "expires" in wanted:
        wanted["expires"] = wired.market.clock.now() + timedelta(seconds=wanted["expires"])
    signer = HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=Key(ada.seed))
    for method, path, body in (
        ("PUT", "/v1/memory/a%2Fb", b'{"value": [1, 2]}'),
        ("GET", "/v1/memory?limit=5&prefix=a", b""),
    ):
        message = SimpleNamespace(method=method, url=BASE_URL + path, headers={"X-Env": "test"})
        covered = ("@method", "@target-uri")
        signer.sign(
            message,
            key_id=ada.id,
            created=datetime.fromtimestamp(wired.now, UTC),
            covered_component_ids=covered,
            body=body,
            **wanted,
        )
        answer = await wired.http.request(method, path, content=body, headers=message.headers)
        assert answer.status_code == 200, answer.text
    assert [one["key"] for one in answer.json()["data"]] == ["a/b"]


def tool(name: str, **arguments: Any) -> dict[str, Any]:
    return {**RPC, "method": "tools/call", "params": {"name": name, "arguments": arguments, "_meta": META}}


def message(name: str, **arguments: Any) -> dict[str, Any]:
    part = {"data": {"tool": name, "arguments": arguments}}
    return {
        **RPC,
        "method": "SendMessage",
        "params": {"message": {"messageId": "1", "role": "ROLE_USER", "parts": [part]}},
    }


def heard(answer: httpx.Response) -> Any:
    """Return the record or the error, from either protocol."""
    result = answer.json()["result"]
    return json.loads(result["content"][0]["text"]) if "content" in result else result["message"]["parts"][0]["data"]


WIRES = {"/mcp": tool, "/a2a": message}


@pytest.mark.parametrize("path", WIRES)
async def test_a_signature_over_the_post_makes_the_call_it_carries_once(wired: Wired, path: str) -> None:
    ada = await wired.market.register()
    body = WIRES[path]
    said = heard(await wired.post(ada, path, body("put_memory", key="plan", value=1)))
    assert (said["object"], said["key"]) == ("memory", "plan")
    again = heard(await wired.post(ada, path, body("put_memory", key="plan", value=1)))
    assert again["error"]["details"] == {"code": "invalid_signature", "reason": "replay"}
    for env in ("live", "test"):
        me = heard(await wired.post(ada, path, body("get_me"), env=env, nonce=env))
        assert (me["id"], me["env"]) == (ada.id, env)
        assert (
            heard(await wired.post(ada, path, body("get_me"), env=env, nonce=env))["error"]["details"]["reason"]
            == "replay"
        )
    other = await wired.market.register("Bo")
    forged = heard(await wired.post(replace(ada, seed=other.seed), path, body("get_me")))
    assert forged["error"]["details"]["reason"] == "signature"


@pytest.mark.parametrize("path", WIRES)
async def test_a3_over_these_wires_too_the_bytes_that_came_are_what_was_signed(wired: Wired, path: str) -> None:
    ada = await wired.market.register()
    good, bad = (orjson.dumps(WIRES[path]("put_memory", key="plan", value=value)) for value in (1, 2))
    made = Signing("POST", BASE_URL + path, good, ada.id, wired.now)
    told = ACCEPT | A2A | ({"mcp-method": "tools/call", "mcp-name": "put_memory"} if path == "/mcp" else {})
    answer = await wired.http.post(path, content=bad, headers=made.headers(ada.seed) | told)
    assert heard(answer)["error"]["details"]["reason"] == "digest"
    assert (await wired.market.answer("get_memory", {"key": "plan"}, key=ada.keys["test"])).status == 404
    keyed = {"x-api-key": ada.keys["test"], "content-digest": made.headers(ada.seed)["content-digest"]}
    answer = await wired.http.post(path, content=bad, headers=keyed | told)
    assert (heard(answer)["error"]["code"], heard(answer)["error"]["param"]) == ("invalid_request", "Content-Digest")


@pytest.mark.parametrize("path", WIRES)
async def test_a_key_in_the_call_decides_over_the_signature_around_it(wired: Wired, path: str) -> None:
    ada, bo = await wired.market.register("Ada"), await wired.market.register("Bo")
    body = WIRES[path]("get_me")
    if path == "/mcp":
        body["params"]["arguments"]["api_key"] = bo.keys["live"]
    else:
        body["params"]["message"]["metadata"] = {"api_key": bo.keys["live"]}
    said = heard(await wired.post(ada, path, body))
    assert (said["id"], said["env"]) == (bo.id, "live")


async def test_what_only_a_signed_http_request_does_is_named_as_such_on_the_other_wires(wired: Wired) -> None:
    ada = await wired.market.register()
    before = await stored(wired.market.store)
    over_mcp = (await wired.post(ada, "/mcp", tool("recover_agent"))).json()
    told = "Unknown tool: recover_agent. It is served over HTTP only: POST /v1/agents/recover."
    assert over_mcp["error"]["message"] == told
    over_a2a = (await wired.post(ada, "/a2a", message("recover_agent"))).json()
    assert (
        "recover_agent is served over REST only: only a signature over the HTTP request" in over_a2a["error"]["message"]
    )
    assert await stored(wired.market.store) == before


async def test_a_signed_connection_is_shown_its_tools_without_the_argument_for_a_key(wired: Wired) -> None:
    ada = await wired.market.register()
    listed = (await wired.post(ada, "/mcp", {**RPC, "method": "tools/list", "params": {"_meta": META}})).json()[
        "result"
    ]["tools"]
    assert not any("api_key" in one["inputSchema"]["properties"] for one in listed)


async def test_the_extended_card_is_for_who_signs_and_for_one_look(wired: Wired) -> None:
    ada = await wired.market.register()
    asked = {**RPC, "method": "GetExtendedAgentCard", "params": {}}
    first = await wired.post(ada, "/a2a", asked)
    assert len(first.json()["result"]["skills"]) > 50
    assert "this signature was used before" in (await wired.post(ada, "/a2a", asked)).text


async def test_what_the_skill_says_to_paste_signs_recovers_and_rotates(store: Store) -> None:
    market = TestMarket(store)
    market.clock.at = SystemClock().now()
    ada = await market.register()
    async with served(market) as url:
        house = market.market.config = replace(market.market.config, base_url=url)
        (program,) = [body for language, body in CODE.findall(skill_text("<!-- generated: signing -->\n<!-- end -->\n", CATALOGUE.values(), house)) if language == "python"]  # fmt: skip
        place: dict[str, Any] = {"agent_id": ada.id, "secret_key": ada.seed.hex()}
        await asyncio.to_thread(exec, program, place)
    assert (await market.answer("get_me", key=ada.keys["live"])).status == 401, "its keys from before are revoked"
    assert (await market.answer("get_me", key=place["api_keys"]["test"])).status == 200
    shown = await market.call("get_agent", agent_id=ada.id)
    assert shown["public_key"] == place["new"].verify_key.encode().hex() == place["me"]["public_key"]


async def test_headers_of_any_size_are_refused_and_never_a_fault(wired: Wired) -> None:
    ada = await wired.market.register()
    usual = signing(ada, CATALOGUE["get_me"], {}, wired.now).headers(ada.seed)
    for name in ("signature", "signature-input", "content-digest"):
        for size, statuses in ((5_000, {400, 401}), (60_000, {400, 401, 431}), (70_000, {400, 431})):
            answer = await wired.http.get("/v1/agents/me", headers=usual | {name: "sig1=:" + "A" * size})
            assert answer.status_code in statuses, (name, size)
    for odd in ("\x80", "sig1=:é:"):
        answer = await wired.http.get("/v1/agents/me", headers=[*usual.items(), (b"signature", odd.encode("latin-1"))])
        assert answer.status_code == 401
    twice = base64.b64encode(bytes(64)).decode()
    answer = await wired.http.get("/v1/agents/me", headers=[*usual.items(), ("Signature", f"sig2=:{twice}:")])
    assert answer.json()["error"]["details"]["reason"] == "malformed"
    assert urlsplit(BASE_URL).netloc not in str(wired.http.base_url), "the Host that was sent is another all along"
