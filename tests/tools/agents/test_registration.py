"""Clauses of the contract about agents: registration, profile, keys, limits."""

from typing import Any

import base58
import orjson
import pytest
from nacl.signing import SigningKey

from storage.tables import AgentRow
from tests.requirements import covers, named
from tests.requirements.probes import stored, write_row
from tests.support.market import BASE_URL, START, TestMarket
from tools.kernel.ids import is_id
from tools.kernel.records import stamp

SEED = bytes(range(32))
PUBLIC = bytes(SigningKey(SEED).verify_key)
DID = "did:key:z" + base58.b58encode(b"\xed\x01" + PUBLIC).decode()
ENDPOINTS = {
    "a2a_card_url": "https://ada.example/.well-known/agent-card.json",
    "mcp_url": "https://ada.example/mcp",
    "api_url": "https://ada.example/api",
    "webhook_url": "https://ada.example/hook",
    "homepage": "https://ada.example/",
}
EVERYTHING: dict[str, Any] = {
    "name": "Ada",
    "handle": "ada-lovelace",
    "description": "Translates.",
    "capabilities": ["translate"],
    "tags": ["text"],
    "public_key": DID,
    "endpoints": ENDPOINTS,
    "framework": "plain python",
    "metadata": {"shift": "night", "weights": [1, 2.5]},
}


@covers("agent.field.*", "agent.endpoints.*", "me.field.*", "tier.0", "state.agent.active", "record.timestamps")
@covers("register.request.handle", "register.request.description", "register.request.capabilities")
@covers("register.request.tags", "register.request.public_key.did", "register.request.endpoints")
@covers("register.request.framework", "register.request.metadata", "route.agents.me", "route.agents.get")
async def test_a_profile_shows_what_was_registered(market: TestMarket) -> None:
    made = await market.call("register_agent", **EVERYTHING)
    profile = {
        "object": "agent",
        "id": made["agent"]["id"],
        "handle": "ada-lovelace",
        "name": "Ada",
        "description": "Translates.",
        "capabilities": ["translate"],
        "tags": ["text"],
        "did": DID,
        "public_key": PUBLIC.hex(),
        "key_proven": False,
        "endpoints": ENDPOINTS,
        "framework": "plain python",
        "trust_tier": 0,
        "first_party": False,
        "evaluator": False,
        "verified_domain": None,
        "erc8004": None,
        "status": "active",
        "created_at": stamp(START),
        "last_seen_at": None,
    }
    assert made["agent"] == profile
    assert set(profile) == named("agent.field") | {"object", "key_proven"}
    assert set(ENDPOINTS) == named("agent.endpoints")
    for reference in (profile["id"], "ada-lovelace"):
        assert await market.call("get_agent", agent_id=reference) == profile
    for env, key in made["api_keys"].items():
        own = orjson.loads((await market.answer("get_me", key=key)).body)
        private = {"metadata": EVERYTHING["metadata"], "referred_by": None, "wallet_address": None, "env": env}
        later = {"storage": {"used": 0, "limit": 268_435_456}}
        later["wallet_binding"] = f"service:wallet:{profile['id']}:<address_lowercase>"
        assert own == profile | private | later
        assert set(private) == named("me.field")


@covers("register.request.name", "agent.field.last_seen_at")
async def test_only_a_name_is_required_and_the_rest_may_be_null(market: TestMarket) -> None:
    error = await market.refusal("register_agent", handle="ada")
    assert (error["param"], error["details"]["violations"]) == ("name", [{"param": "name", "message": "required"}])
    made = await market.call("register_agent", name="Ada")
    shown = made["agent"]
    assert (shown["description"], shown["framework"], shown["last_seen_at"]) == (None, None, None)
    assert (shown["capabilities"], shown["tags"], shown["endpoints"]) == ([], [], {})
    await market.answer("get_me", key=made["api_keys"]["test"])
    market.pass_seconds(5)
    await market.workers.write_touches()
    assert (await market.call("get_agent", agent_id=shown["id"]))["last_seen_at"] == stamp(START)


@covers("register.response.*", "register.response.api_keys.live", "register.response.api_keys.test")
@covers("register.response.keypair.public_key", "register.response.keypair.secret_key", "register.response.keypair.did")
@covers("register.response.next_steps.*", "register.response.docs.*")
@covers("register.request.public_key.omitted", "service.1.identity", "service.no_sign_up", "auth.1.register")
@covers("env.live.prefix", "env.test.prefix", "api_key.format.live", "api_key.format.test", "id.agt")
async def test_one_call_without_credentials_makes_a_usable_identity(market: TestMarket) -> None:
    made = await market.call("register_agent", name="Ada")
    seed = bytes.fromhex(made["keypair"]["secret_key"])
    public = bytes(SigningKey(seed).verify_key)
    did = "did:key:z" + base58.b58encode(b"\xed\x01" + public).decode()
    assert (made["object"], made["wallet_address"]) == ("agent.created", None)
    assert is_id("agt_", made["agent"]["id"])
    assert made["keypair"] == {"public_key": public.hex(), "secret_key": seed.hex(), "did": did}
    assert (made["agent"]["did"], made["agent"]["public_key"]) == (did, public.hex())
    assert [key[:8] for key in made["api_keys"].values()] == ["as_live_", "as_test_"]
    assert list(made["api_keys"]) == ["live", "test"]
    assert made["docs"] == {
        "openapi": f"{BASE_URL}/openapi.json",
        "llms_txt": f"{BASE_URL}/llms.txt",
        "quickstart": f"{BASE_URL}/docs/quickstart",
        "payments": f"{BASE_URL}/v1/payments",
    }
    store, *calls = made["next_steps"]
    assert (store["action"], store["method"], store["path"]) == ("store_keys", None, None)
    assert ("GET", "/v1/agents/me") in [(step["method"], step["path"]) for step in calls]
    assert all(step["action"] and step["why"] and step["method"] and step["path"] for step in calls)
    (look,) = [step for step in calls if step["tool"] == "search_listings"]
    assert look["arguments"] == {"env": "test"}  # listings on test cost nothing of value
    for env, key in made["api_keys"].items():
        assert orjson.loads((await market.answer("get_me", key=key)).body)["env"] == env


@covers("register.response.api_keys.once", "register.response.keypair.secret_once")
@covers("auth.2.once", "auth.6.not_stored")
async def test_secrets_are_shown_once_and_not_stored(market: TestMarket) -> None:
    made = await market.call("register_agent", name="Ada")
    secrets = [*made["api_keys"].values(), made["keypair"]["secret_key"]]
    shown = [await market.answer("get_agent", {"agent_id": made["agent"]["id"]})]
    shown += [await market.answer("get_me", key=key) for key in made["api_keys"].values()]
    kept = await stored(market.store)
    assert made["agent"]["public_key"] in kept, "the database is read"
    for secret in secrets:
        assert secret not in kept
        assert all(secret.encode() not in answer.body for answer in shown)


@covers("register.request.public_key.hex")
async def test_a_public_key_may_be_given_in_hex_and_then_no_secret_is_made(market: TestMarket) -> None:
    made = await market.call("register_agent", name="Ada", public_key=PUBLIC.hex().upper())
    assert made["keypair"] == {"public_key": PUBLIC.hex(), "did": DID}


async def test_an_apostrophe_makes_no_segment_of_a_handle(market: TestMarket) -> None:
    for name, handle in (("Ada's Shop", "adas-shop"), ("Bo’s desk", "bos-desk")):
        assert (await market.call("register_agent", name=name))["agent"]["handle"] == handle


@covers("register.request.referred_by.id", "register.request.referred_by.handle", "limit.agent.referred_by")
async def test_a_referrer_is_named_by_id_or_handle(market: TestMarket) -> None:
    ada = await market.register("Ada")
    for number, reference in enumerate((ada.id, ada.handle)):
        made = await market.call("register_agent", name=f"Bo {number}", referred_by=reference)
        own = orjson.loads((await market.answer("get_me", key=made["api_keys"]["live"])).body)
        assert own["referred_by"] == ada.id
    unknown = await market.call("register_agent", name="Cy", referred_by="x" * 64)
    assert orjson.loads((await market.answer("get_me", key=unknown["api_keys"]["live"])).body)["referred_by"] is None
    assert (await market.refusal("register_agent", name="Di", referred_by="x" * 65))["param"] == "referred_by"


TAKEN = [
    {"handle": "abc"},
    {"handle": "a" * 32},
    {"handle": "0-_9"},
    {"name": "x"},
    {"name": "x" * 80},
    {"description": "x" * 2000},
    {"capabilities": ["x", "x" * 48]},
    {"capabilities": [f"skill {number}" for number in range(32)]},
    {"tags": ["x", "x" * 48]},
    {"tags": [f"tag {number}" for number in range(32)]},
    {"framework": "x" * 48},
]
REFUSED = [
    {"handle": "ab"},
    {"handle": "a" * 33},
    {"handle": "Abc"},
    {"handle": "-abc"},
    {"handle": "abc_"},
    {"name": ""},
    {"name": "x" * 81},
    {"description": "x" * 2001},
    {"capabilities": [""]},
    {"capabilities": ["x" * 49]},
    {"capabilities": [f"skill {number}" for number in range(33)]},
    {"tags": [""]},
    {"tags": ["x" * 49]},
    {"tags": [f"tag {number}" for number in range(33)]},
    {"framework": "x" * 49},
]


@pytest.mark.parametrize("given", TAKEN, ids=lambda given: next(iter(given)))
@covers("agent.field.handle", "limit.agent.handle", "limit.agent.name", "limit.agent.description")
@covers("limit.agent.capabilities", "limit.agent.tags", "limit.agent.framework")
async def test_what_keeps_to_the_bounds_is_registered(market: TestMarket, given: dict[str, Any]) -> None:
    made = await market.call("register_agent", **({"name": "Ada"} | given))
    assert {name: made["agent"][name] for name in given} == given


@pytest.mark.parametrize("given", REFUSED, ids=lambda given: next(iter(given)))
@covers("agent.field.handle", "limit.agent.handle", "limit.agent.name", "limit.agent.description")
@covers("limit.agent.capabilities", "limit.agent.tags", "limit.agent.framework")
async def test_what_passes_the_bounds_is_refused_by_name(market: TestMarket, given: dict[str, Any]) -> None:
    error = await market.refusal("register_agent", **({"name": "Ada"} | given))
    assert (error["code"], error["param"].split(".")[0]) == ("invalid_request", next(iter(given)))


@covers("invariant.8.agents")
async def test_the_operators_agents_are_marked(market: TestMarket) -> None:
    ours, theirs = await market.register("Ours"), await market.register("Theirs")
    await write_row(market, AgentRow, ours.id, first_party=True)
    assert (await market.call("get_agent", agent_id=ours.id))["first_party"] is True
    assert (await market.call("get_agent", agent_id=theirs.id))["first_party"] is False


@covers("endpoint.auth.key", "auth.7.missing", "auth.7.invalid", "error.code.unauthenticated")
async def test_a_missing_or_unknown_key_is_unauthenticated(market: TestMarket) -> None:
    ada = await market.register("Ada")
    for key in (None, "as_test_" + "x" * 40, ada.keys["test"] + "x", "nonsense"):
        answer = await market.answer("get_me", key=key)
        assert (answer.status, answer.error and answer.error["code"]) == (401, "unauthenticated")
    assert (await market.answer("get_me", key=ada.keys["test"])).status == 200
