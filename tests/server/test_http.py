"""Clauses of the contract about HTTP: a whole trade by its documented paths, documents, headers, limits, errors."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import orjson
import pytest

from server.webhook_sender import Sender
from storage.store import Store
from storage.tables import KeyRow
from tests.requirements import covers, named
from tests.requirements.probes import write_row
from tests.support.market import TestMarket, bare
from tests.support.protocols import WIRES, served, wire
from tests.support.trade import OFFER, Trade, binding
from tests.tools.engine.test_dispatch import key_of
from tools.catalogue import CATALOGUE

WELL_KNOWN = {
    "/.well-known/jwks.json",
    "/.well-known/retired-keys.json",
    "/.well-known/agent-registration.json",
    *(f"/agents/{{agent_id}}/{name}.json" for name in ("erc8004", "agent-card", "did", "jwks", "cimd")),  # of an agent
}


@dataclass
class Web:
    """An HTTP client that sends every write twice with one Idempotency-Key and compares."""

    http: httpx.AsyncClient
    replayed: list[str] = field(default_factory=list)

    async def ask(
        self, method: str, path: str, body: Any = None, *, key: str = "", status: int = 200, **query: Any
    ) -> Any:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        if method != "GET":
            headers["Idempotency-Key"] = f"one-call-and-its-repeat-{len(self.replayed)}"
        answer = await self.http.request(method, path, json=body, headers=headers, params=query)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/json"
        if method != "GET" and status < 300:
            again = await self.http.request(method, path, json=body, headers=headers, params=query)
            told = (again.status_code, again.content, again.headers.get("idempotent-replayed"))
            if path != "/v1/receipts/verify":
                assert told == (answer.status_code, answer.content, "true")
            self.replayed.append(f"{method} {path}")
        return answer.json()


@asynccontextmanager
async def web(market: TestMarket) -> AsyncIterator[Web]:
    async with served(market) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
        yield Web(http)


@covers("service.json", "route.agents.register", "route.agents.me", "route.agents.get", "route.agents.wallet")
@covers("listing.create.route", "listing.search.route", "route.listings.get", "route.listings.patch")
@covers("route.jobs.create", "route.jobs.list", "route.jobs.get", "route.jobs.accept.seller", "route.jobs.accept.buyer")
@covers("route.jobs.deliver", "route.jobs.pay", "route.jobs.pay.terms", "route.jobs.reviews", "route.jobs.receipt")
@covers("job.action.by_name", "job.action.review", "job.action.pay", "endpoint.idempotency_key", "route.events")
@covers(
    "verify.route", "jwks.route", "health.route", "changelog.route", "payments.route", "error.code.payment_required"
)
async def test_two_agents_trade_over_http_by_the_contracts_own_paths(trade: Trade) -> None:
    market = trade.market
    await market.workers.check_health()
    async with web(market) as http:
        agents = []
        for name in ("Sela", "Bo"):
            agent = await market.register(name)
            agent.wallet = trade.evm.person(10_000_000)
            made = await http.ask("POST", "/v1/agents", {"name": name, "handle": f"{name.lower()}-2"}, status=201)
            assert (made["object"], (await http.ask("GET", f"/v1/agents/{made['agent']['id']}"))) == (
                "agent.created", made["agent"],
            )  # fmt: skip
            key = agent.keys["test"]
            assert (await http.ask("GET", "/v1/agents/me", key=key))["id"] == agent.id
            proof = {"address": agent.wallet.address, "signature": binding(agent)}
            bound = await http.ask("POST", "/v1/agents/me/wallet-address", proof, key=key)
            assert bound["wallet_address"] == agent.wallet.address
            agents.append(agent)
        seller, buyer = agents
        selling, buying = seller.keys["test"], buyer.keys["test"]

        listing = await http.ask("POST", "/v1/listings", OFFER, key=selling, status=201)
        listing = await http.ask("PATCH", f"/v1/listings/{listing['id']}", {"price": 125_000}, key=selling)
        found = await http.ask("GET", "/v1/listings", q="translate", env="test")
        assert [one["id"] for one in found["data"]] == [listing["id"]]
        assert (await http.ask("GET", f"/v1/listings/{listing['id']}", env="test")) == bare(listing)

        order = {"listing_id": listing["id"], "input": {"text": "guten Tag"}}
        job = await http.ask("POST", "/v1/jobs", order, key=buying, status=201)
        path = f"/v1/jobs/{job['id']}"
        seen = await http.ask("GET", path, key=selling)
        for action, body in (("accept", None), ("deliver", {"output": {"english": "good day"}})):
            assert action in seen["available_actions"]
            seen = await http.ask("POST", f"{path}/{action}", body, key=selling)
        assert (await http.ask("GET", path, key=buying))["available_actions"] == ["pay", "cancel", "message"]

        terms = await http.ask("POST", f"{path}/pay", key=buying, status=402)
        assert terms["error"]["code"] == "payment_required"
        assert (terms["amount"], terms["asset"], terms["network"]) == (125_000, trade.evm.usdc, "eip155:84532")
        sent = trade.evm.transfer(buyer.wallet, terms["pay_to"], terms["amount"])
        paid = await http.ask("POST", f"{path}/pay", {"transaction": sent}, key=buying)
        assert (paid["output"], paid["available_actions"]) == (
            {"english": "good day"},
            ["accept", "request_revision", "dispute", "message"],
        )
        done = await http.ask("POST", f"{path}/accept", key=buying)
        assert (done["status"], done["available_actions"]) == ("completed", ["review", "message"])
        review = await http.ask("POST", f"{path}/reviews", {"rating": 5, "comment": "Quick."}, key=buying, status=201)
        assert (review["object"], review["rating"]) == ("review", 5)

        listed = await http.ask("GET", "/v1/jobs", key=buying)
        assert [one["id"] for one in listed["data"]] == [job["id"]]
        events = await http.ask("GET", "/v1/events", key=selling, types="job.completed")
        assert [one["data"]["job_id"] for one in events["data"]] == [job["id"]]
        signed = await http.ask("GET", f"{path}/receipt", key=selling)
        assert (await http.ask("POST", "/v1/receipts/verify", signed))["valid"] is True
        keys = await http.ask("GET", "/.well-known/jwks.json")
        assert [key["kid"] for key in keys["keys"]] == [signed["signature"]["kid"]]
        assert (await http.ask("GET", "/health"))["status"] == "ok"
        assert (await http.ask("GET", "/v1/changelog"))["object"] == "changelog"
        assert (await http.ask("GET", "/v1/payments"))["env"] == "live"
        assert (await http.ask("GET", "/v1/payments", key=buying))["env"] == "test"
        await webhooks_by_their_paths(http, market, selling)
        await talk(http, buying, seller.handle)
        await remember(http, buying)
        await wake(http, buying)
        await one_leaves(http, buyer.id, buying)


async def webhooks_by_their_paths(http: Web, market: TestMarket, key: str) -> None:
    made = await http.ask("POST", "/v1/webhooks", {"url": "https://sela.example/hook"}, key=key, status=201)
    path = f"/v1/webhooks/{made['id']}"
    assert (await http.ask("PATCH", path, {"event_types": ["job.*"]}, key=key))["event_types"] == ["job.*"]
    assert (await http.ask("POST", f"{path}/test", key=key))["status"] == "queued"
    await Sender(market.market).fan_out()
    for sent in (await http.ask("GET", f"{path}/deliveries", key=key))["data"]:
        await http.ask("POST", f"{path}/deliveries/{sent['id']}/redeliver", key=key)
    assert [one["id"] for one in (await http.ask("GET", "/v1/webhooks", key=key))["data"]] == [made["id"]]
    assert (await http.ask("GET", path, key=key))["status"] == "active"
    assert (await http.ask("DELETE", path, key=key))["deleted"] is True


async def one_leaves(http: Web, agent_id: str, key: str) -> None:
    """Call the remaining paths of an agent; delete the agent at the end."""
    renamed = await http.ask("PATCH", "/v1/agents/me", {"handle": "bo-the-last"}, key=key)
    assert (renamed["handle"], (await http.ask("GET", "/v1/agents/bo-the-last"))["id"]) == ("bo-the-last", agent_id)
    assert (await http.ask("GET", "/v1/agents", q="bo-the-last", verified="false"))["data"][0]["id"] == agent_id
    assert (await http.ask("GET", f"/v1/agents/{agent_id}/reviews", env="test"))["data"] == []
    made = await http.ask("POST", "/v1/agents/me/keys", {"env": "test", "scopes": ["read"]}, key=key, status=201)
    assert made["id"] in {one["id"] for one in (await http.ask("GET", "/v1/agents/me/keys", key=key))["data"]}
    assert (await http.ask("DELETE", f"/v1/agents/me/keys/{made['id']}", key=key))["status"] == "revoked"
    report = await http.ask("POST", "/v1/support/reports", {"message": "Farewell."}, status=201)
    assert report["object"] == "support_report"
    gone = await http.ask("DELETE", "/v1/agents/me", {"confirm": "bo-the-last"}, key=key)
    assert gone == {"object": "agent.deleted", "id": agent_id, "handle": "bo-the-last"}
    assert (await http.ask("GET", f"/v1/agents/{agent_id}", status=404))["error"]["code"] == "not_found"


async def talk(http: Web, key: str, to: str) -> None:
    """Write to an agent and read the messages, by the contract's paths."""
    thread = (await http.ask("POST", "/v1/threads", {"to": to, "body": "Thanks."}, key=key, status=201))["thread"]
    path = f"/v1/threads/{thread['id']}"
    await http.ask("POST", f"{path}/messages", {"body": "See you."}, key=key, status=201)
    said = await http.ask("GET", f"{path}/messages", key=key)
    assert [one["body"] for one in said["data"]] == ["Thanks.", "See you."]
    assert (await http.ask("POST", f"{path}/read", key=key))["unread_count"] == 0
    assert (await http.ask("GET", path, key=key))["message_count"] == 2
    assert (await http.ask("GET", "/v1/threads", key=key, kind="direct"))["data"][0]["id"] == thread["id"]
    assert (await http.ask("GET", "/v1/inbox", key=key))["object"] == "inbox"


async def remember(http: Web, key: str) -> None:
    path = "/v1/memory/notes%2Ftoday"
    assert (await http.ask("PUT", path, {"value": [1]}, key=key))["key"] == "notes/today"
    assert (await http.ask("GET", path, key=key))["value"] == [1]
    assert [one["key"] for one in (await http.ask("GET", "/v1/memory", key=key, prefix="notes/"))["data"]]
    assert (await http.ask("DELETE", path, key=key))["deleted"] is True


async def wake(http: Web, key: str) -> None:
    made = await http.ask("POST", "/v1/schedules", {"in_seconds": 60, "payload": {}}, key=key, status=201)
    path = f"/v1/schedules/{made['id']}"
    assert (await http.ask("PATCH", path, {"status": "paused"}, key=key))["status"] == "paused"
    assert (await http.ask("GET", path, key=key))["id"] == made["id"]
    assert [one["id"] for one in (await http.ask("GET", "/v1/schedules", key=key))["data"]] == [made["id"]]
    assert (await http.ask("DELETE", path, key=key))["deleted"] is True


@covers("endpoint.auth.bearer", "endpoint.auth.x_api_key", "auth.2.bearer", "auth.2.x_api_key")
async def test_a_key_is_taken_from_either_header(market: TestMarket) -> None:
    ada = await market.register("Ada")
    async with web(market) as one:
        for name, value in (("Authorization", "Bearer {}"), ("X-API-Key", "{}")):
            for env, key in ada.keys.items():
                answer = await one.http.get("/v1/agents/me", headers={name: value.format(key)})
                assert (answer.status_code, answer.json()["id"], answer.json()["env"]) == (200, ada.id, env)
            assert (await one.http.get("/v1/agents/me", headers={name: value.format("nonsense")})).status_code == 401


@pytest.mark.parametrize("name", WIRES)
@covers("service.8.mcp", "service.8.a2a", "service.1.identity")
async def test_a_stranger_registers_over_every_endpoint(market: TestMarket, name: str) -> None:
    async with served(market) as url, wire(name, url) as call:
        made = await call("register_agent", {"name": "Ada"}, None)
        own = await call("get_me", {}, made["api_keys"]["live"])
    assert (made["object"], own["id"], own["env"]) == ("agent.created", made["agent"]["id"], "live")


@covers("service.8.agent_card", "service.8.skill", "service.8.llms_txt", "service.8.openapi", "version.one_number")
async def test_every_document_stands_where_the_contract_says_in_the_running_version(market: TestMarket) -> None:
    running = market.market.config.version
    async with web(market) as one:
        card = (await one.http.get("/.well-known/agent-card.json")).json()
        openapi = (await one.http.get("/openapi.json")).json()
        skill, overview = [(await one.http.get(path)) for path in ("/skill.md", "/llms.txt")]
    assert (card["version"], openapi["info"]["version"], openapi["openapi"][:3]) == (running, running, "3.1")
    assert {skill["id"] for skill in card["skills"]}
    assert {"/v1/agents", "/v1/listings", "/v1/jobs"} <= set(openapi["paths"])
    for document in (skill, overview):
        assert (document.status_code, document.headers["content-type"]) == (200, "text/markdown; charset=utf-8")
        assert "create_job" in document.text


@covers("version.v1")
def test_every_path_but_health_and_the_well_known_documents_is_under_v1() -> None:
    assert {op.path for op in CATALOGUE.values() if not op.path.startswith("/v1/")} == {"/health"} | WELL_KNOWN


@covers("env.test.same_api")
async def test_a_test_key_and_a_live_key_are_answered_by_the_same_operations(market: TestMarket) -> None:
    ada = await market.register("Ada")
    reads = [
        op
        for op in CATALOGUE.values()
        if op.safe
        and op.auth != "admin"
        and not op.streams
        and not op.input.model_json_schema().get("required")
        and op.name != "get_faucet"  # this market has no faucet
    ]
    await market.workers.check_health()
    assert len(reads) >= 7
    for op in reads:
        live, test = [await market.call(op.name, by=ada, on=on) for on in ("live", "test")]
        assert set(live) == set(test), op.name
    writes = [{"name": "register_agent", "given": {"name": "Bo"}}, {"name": "create_listing", "given": OFFER}]
    for write in writes:
        live, test = [await market.answer(write["name"], write["given"], key=ada.keys[on]) for on in ("live", "test")]
        assert (live.status, live.error and live.error["code"]) == (test.status, test.error and test.error["code"])


@covers("error.body.*", "error.type.validation_error", "error.code.invalid_request")
async def test_an_error_is_a_status_and_one_object_that_says_what_to_do(market: TestMarket) -> None:
    async with web(market) as one:
        headers = {"X-Request-Id": "req-of-the-caller"}
        answer = await one.http.post("/v1/agents", json={"name": ""}, headers=headers)
    assert (answer.status_code, list(answer.json())) == (400, ["error"])
    error = answer.json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("validation_error", "invalid_request", "name")
    assert error["request_id"] == "req-of-the-caller" == answer.headers["x-request-id"]
    assert error["docs"] == f"{market.market.config.docs_url}#invalid_request"
    assert [one["param"] for one in error["details"]["violations"]] == ["name"]
    assert error["message"]
    assert error["hint"]
    optional = {"hint", "docs", "param", "request_id", "details"}
    assert named("error.body") - {"status"} == {"type", "code", "message"} | optional


@covers("error.code.route_not_found", "error.type.not_found")
async def test_a_path_nobody_serves_is_route_not_found(market: TestMarket) -> None:
    async with web(market) as one:
        answer = await one.http.get("/v1/nothing")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "route_not_found")
    assert answer.json()["error"]["type"] == "not_found"


@covers("error.more.malformed_json", "error.more.method_not_allowed", "error.more.payload_too_large")
@covers("error.more.unsupported_media_type")
async def test_what_http_itself_can_get_wrong_is_a_validation_error(market: TestMarket) -> None:
    bad: list[tuple[str, dict[str, Any], int, str]] = [
        ("POST", {"content": b'{"name": "Ada", "name": "Bo"}'}, 400, "malformed_json"),
        ("PUT", {"json": {}}, 405, "method_not_allowed"),
        ("POST", {"content": b" " * 1_048_577}, 413, "payload_too_large"),
        ("POST", {"content": b"", "headers": {"Content-Encoding": "gzip"}}, 415, "unsupported_media_type"),
    ]
    async with web(market) as one:
        for method, given, status, code in bad:
            answer = await one.http.request(method, "/v1/agents", **given)
            error = answer.json()["error"]
            assert (answer.status_code, error["type"], error["code"]) == (status, "validation_error", code)


@covers("error.code.forbidden", "error.type.permission_error", "auth.7.others")
async def test_a_key_without_the_scope_is_forbidden(market: TestMarket) -> None:
    ada = await market.register("Ada")
    row = await market.store.read(lambda tx: tx.one(key_of, agent_id=ada.id, env="test"))
    assert row is not None
    await write_row(market, KeyRow, row.id, scopes='["read"]')
    async with web(market) as one:
        answer = await one.http.post("/v1/listings", json=OFFER, headers={"X-API-Key": ada.keys["test"]})
    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error["code"]) == (403, "permission_error", "forbidden")
    assert error["details"] == {"scope": "sell"}


@covers("error.code.internal_error", "error.type.internal_error")
async def test_a_fault_of_ours_is_a_500_and_the_same_idempotency_key_works_afterwards(market: TestMarket) -> None:
    class Broken:
        def random_bytes(self, count: int) -> bytes:
            raise RuntimeError("no dice")

    world, headers = market.market.world, {"Idempotency-Key": "a-key-of-22-characters-"}
    async with web(market) as one:
        market.market.world = replace(world, dice=Broken())
        failed = await one.http.post("/v1/agents", json={"name": "Ada"}, headers=headers)
        market.market.world = world
        made = await one.http.post("/v1/agents", json={"name": "Ada"}, headers=headers)
    error = failed.json()["error"]
    assert (failed.status_code, error["type"], error["code"]) == (500, "internal_error", "internal_error")
    assert "no dice" not in failed.text
    assert (made.status_code, made.headers.get("idempotent-replayed")) == (201, None)


@covers("limit.rate.headers", "limit.rate.retry_after", "limit.rate.registration", "route.agents.register.limited")
@covers("error.code.rate_limited", "error.type.rate_limited")
async def test_quotas_are_told_in_headers_and_429_says_how_long_to_wait(store: Store) -> None:
    market = TestMarket(store, enforced=True, registrations_per_hour=2)
    async with web(market) as one:
        answers = [await one.http.post("/v1/agents", json={"name": "Ada"}) for _ in range(3)]
        refused = answers[2]
        market.pass_seconds(int(refused.headers["retry-after"]))
        later = await one.http.post("/v1/agents", json={"name": "Ada"})
    told = [[answer.headers[f"ratelimit-{name}"] for name in ("limit", "remaining")] for answer in answers]
    assert [answer.status_code for answer in answers] == [201, 201, 429]
    assert told == [["2", "1"], ["2", "0"], ["2", "0"]]
    assert all(0 < int(answer.headers["ratelimit-reset"]) <= 3600 for answer in answers)
    error = orjson.loads(refused.content)["error"]
    assert (error["type"], error["code"], later.status_code) == ("rate_limited", "rate_limited", 201)
