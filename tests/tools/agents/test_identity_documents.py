"""Documents at an agent's own URL: their content, how they are served, and that their readers can use them."""

from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import jwt
import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils.signing import create_signature_verifier
from google.protobuf.json_format import ParseDict
from joserfc.jwk import OKPKey

from storage.tables import AgentRow
from storage.vocabulary import AgentStatus
from tests.requirements import covers
from tests.requirements.probes import write_row
from tests.support.market import BASE_URL, Agent, TestMarket
from tests.support.proofs import DOMAIN, ReadContext
from tests.support.protocols import served
from tests.support.trade import OFFER, Trade, binding
from tools.catalogue import CATALOGUE
from tools.kernel.keys import jwk_of

PAPERS = ("erc8004.json", "agent-card.json", "did.json", "jwks.json", "cimd.json")
WELL_KNOWN = "/.well-known/agent-registration.json"
TYPE = "https://eips.ethereum.org/EIPS/eip-8004#registration-v1"


@pytest.fixture
async def http(trade: Trade) -> AsyncIterator[httpx.AsyncClient]:
    async with served(trade.market) as url, httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as one:
        yield one


async def fetched(http: httpx.AsyncClient, agent: Agent, name: str, **query: str) -> Any:
    answer = await http.get(f"/agents/{agent.id}/{name}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def live_listing(trade: Trade, seller: Agent, **changes: Any) -> Any:
    """Make a listing on live; the seller's wallet is bound there too."""
    bound = {"address": seller.wallet.address, "signature": binding(seller)}
    await trade.market.call("set_wallet_address", by=seller, on="live", **bound)
    return await trade.market.call("create_listing", by=seller, on="live", **OFFER | changes)


@covers("route.agents.erc8004.file")
async def test_the_registration_file_says_who_the_agent_is_and_where(trade: Trade, http: httpx.AsyncClient) -> None:
    ada = await trade.market.register("Ada")
    me = await trade.market.call("get_me", by=ada)
    here = f"{BASE_URL}/agents/{ada.id}"
    file = await fetched(http, ada, "erc8004.json")
    extension = file.pop("extension")
    assert file == {
        "type": TYPE,
        "name": "Ada",
        "description": "An agent on Emporion.",
        "services": [
            {"name": "web", "endpoint": f"{BASE_URL}/v1/agents/{ada.id}"},
            {"name": "DID", "endpoint": me["did"]},
            {"name": "A2A", "endpoint": f"{here}/agent-card.json", "version": "1.0"},
        ],
        "x402Support": False,
        "active": True,
        "registrations": [],
        "supportedTrust": ["reputation"],
    }
    own = ("id", "handle", "did", "trust_tier", "first_party", "verified_domain", "erc8004")
    assert {name: extension[name] for name in own} == {name: me[name] for name in own}
    assert (extension["jwks"], extension["did_document"], extension["cimd"]) == tuple(
        f"{here}/{name}.json" for name in ("jwks", "did", "cimd")
    )
    assert (await fetched(http, ada, "erc8004.json")) == (await http.get(f"/agents/{ada.handle}/erc8004.json")).json()


async def test_what_the_registration_file_leads_to_is_there(trade: Trade, http: httpx.AsyncClient) -> None:
    ada = await trade.market.register("Ada")
    extension = (await fetched(http, ada, "erc8004.json"))["extension"]
    links = [url for url in extension.values() if isinstance(url, str) and url.startswith(BASE_URL)]
    assert len(links) >= 6
    for url in links:
        assert (await http.get(url.removeprefix(BASE_URL) or "/")).status_code == 200, url
    message = extension["message"]
    op = CATALOGUE[message["tool"]]
    assert (message["method"], message["url"]) == (op.method, BASE_URL + op.path)


async def test_an_agent_with_places_of_its_own_names_those(trade: Trade, http: httpx.AsyncClient) -> None:
    ada = await trade.market.register("Ada")
    own = {
        "homepage": "https://ada.example/",
        "mcp_url": "https://ada.example/mcp",
        "a2a_card_url": "https://ada.example/card",
    }
    await trade.market.call("update_me", by=ada, endpoints=own, description="Poems.")
    file = await fetched(http, ada, "erc8004.json")
    places = {one["name"]: one["endpoint"] for one in file["services"]}
    assert places | {"DID": ""} == {
        "web": own["homepage"], "A2A": own["a2a_card_url"], "MCP": own["mcp_url"], "DID": "",
    }  # fmt: skip
    assert file["description"] == "Poems."


async def test_a_number_beyond_what_json_carries_is_told_as_text(trade: Trade, http: httpx.AsyncClient) -> None:
    ada = await trade.market.register("Ada")
    for token, told in (
        ("0", 0),
        (str(2**53 - 1), 2**53 - 1),
        (str(2**53), str(2**53)),
        (str(2**256 - 1), str(2**256 - 1)),
    ):
        link = {
            "agent_id": token,
            "chain_id": 84532,
            "registry": "eip155:84532:0x80",
            "owner_verified": True,
            "verified_at": "x",
        }
        await write_row(trade.market, AgentRow, ada.id, erc8004=link)
        (registration,) = (await fetched(http, ada, "erc8004.json"))["registrations"]
        assert registration == {"agentId": told, "agentRegistry": "eip155:84532:0x80"}


@covers("route.agents.erc8004.service")
async def test_the_market_has_a_registration_file_too(trade: Trade, http: httpx.AsyncClient) -> None:
    file = (await http.get(WELL_KNOWN)).json()
    assert (file["type"], file["name"], file["active"], file["registrations"]) == (TYPE, "Emporion", True, [])
    for service in file["services"]:
        url = service["endpoint"]
        if url.startswith(BASE_URL) and service["name"] != "MCP":
            assert (await http.get(url.removeprefix(BASE_URL) or "/")).status_code == 200, url
    assert [one["name"] for one in file["services"]] == ["web", "DID", "A2A", "MCP"]


def verifier(trade: Trade) -> Any:
    """Return the SDK's verifier with the key that the market publishes."""

    def key_of(kid: str | None, jku: str | None) -> jwt.PyJWK:
        jwk = jwk_of(trade.market.market.world.signer.public_key)
        assert (kid, jku) == (jwk["kid"], f"{BASE_URL}/.well-known/jwks.json")
        return jwt.PyJWK(dict(jwk))

    return create_signature_verifier(key_of, ["EdDSA"])


async def test_the_card_shows_active_live_listings_as_skills_and_its_signature_holds(
    trade: Trade, http: httpx.AsyncClient
) -> None:
    ada = await trade.agent("Ada")
    await trade.market.call("update_me", by=ada, description="I translate.")
    listing = await live_listing(trade, ada)
    paused = await trade.market.call("create_listing", by=ada, on="live", **OFFER | {"title": "Another"})
    await trade.market.call("update_listing", by=ada, on="live", listing_id=paused["id"], status="paused")
    card = await fetched(http, ada, "agent-card.json")
    parsed = ParseDict(card, pb.AgentCard())
    verifier(trade)(parsed)
    assert (card["name"], parsed.supported_interfaces[0].url) == ("Ada", f"{BASE_URL}/a2a/agents/ada")
    assert card["description"].endswith("Its own words: I translate.")
    (skill,) = card["skills"]
    assert skill == {
        "id": listing["id"],
        "name": OFFER["title"],
        "description": f"{OFFER['description']}\n\nPrice: 0.250000 USDC per job. "
        f"Order with the data part {{listing_id, input}}, listing_id {listing['id']}.",
        "tags": OFFER["tags"],
        "examples": [f'{{"listing_id":"{listing["id"]}","input":{{"text":"guten Tag"}}}}'],
    }
    identity, _ = card["capabilities"]["extensions"]
    me = await trade.market.call("get_me", by=ada)
    assert (identity["params"]["did"], identity["params"]["trust_tier"]) == (me["did"], 0)
    assert card["capabilities"]["extendedAgentCard"] is False
    parsed.name = "Eve"
    with pytest.raises(Exception, match="No valid signature"):
        verifier(trade)(parsed)


async def test_a_card_of_test_and_a_card_without_listings_hold_too(trade: Trade, http: httpx.AsyncClient) -> None:
    ada = await trade.agent("Ada")
    card = await fetched(http, ada, "agent-card.json")
    assert card["skills"] == []
    verifier(trade)(ParseDict(card, pb.AgentCard()))
    long = await trade.listing(
        ada, title="Äther", description="x" * 4000, tags=[], example_input=None, input_schema=None
    )
    assert (await fetched(http, ada, "agent-card.json"))["skills"] == []
    card = await fetched(http, ada, "agent-card.json", env="test")
    verifier(trade)(ParseDict(card, pb.AgentCard()))
    (skill,) = card["skills"]
    assert (skill["id"], skill["tags"], len(skill["description"])) == (long["id"], ["text"], 500 + len(
        f"\n\nPrice: 0.250000 USDC per job. Order with the data part {{listing_id, input}}, listing_id {long['id']}."
    ))  # fmt: skip


async def test_the_did_document_is_the_one_that_its_own_did_web_resolves_to(
    trade: Trade, http: httpx.AsyncClient
) -> None:
    ada = await trade.market.register("Ada")
    outside = ReadContext(trade.market)
    await outside.verified(ada)
    me = await trade.market.call("get_me", by=ada)
    document = await fetched(http, ada, "did.json")
    method, place, *path = document["id"].removeprefix("did:").split(":")
    assert (method, f"http://{place}/{'/'.join(path)}/did.json") == ("web", f"{BASE_URL}/agents/{ada.id}/did.json")
    assert document["alsoKnownAs"] == [me["did"], f"https://{DOMAIN}"]
    (key,) = document["verificationMethod"]
    assert (key["type"], f"did:key:{key['publicKeyMultibase']}") == ("Multikey", me["did"])
    assert (
        document["authentication"]
        == document["assertionMethod"]
        == [key["id"]]
        == [f"{document['id']}#{key['publicKeyMultibase']}"]
    )
    for service in document["service"]:
        assert (await http.get(service["serviceEndpoint"].removeprefix(BASE_URL))).status_code == 200


@pytest.mark.parametrize(
    ("base_url", "did"),
    [
        ("https://m.example", "did:web:m.example:agents:{id}"),
        ("http://127.0.0.1:8000", "did:web:127.0.0.1%3A8000:agents:{id}"),
        ("https://m.example:8443/a/b", "did:web:m.example%3A8443:a:b:agents:{id}"),
    ],
)
async def test_a_port_and_a_path_of_the_market_stand_in_the_did(market: TestMarket, base_url: str, did: str) -> None:
    ada = await market.register("Ada")
    market.market.services.config = replace(market.market.config, base_url=base_url)
    assert (await market.call("get_did_document", agent_id=ada.id))["id"] == did.format(id=ada.id)


async def test_the_keys_of_an_agent_verify_what_it_signs(trade: Trade, http: httpx.AsyncClient) -> None:
    ada = await trade.market.register("Ada")
    (key,) = (await fetched(http, ada, "jwks.json"))["keys"]
    me = await trade.market.call("get_me", by=ada)
    assert urlsafe_b64decode(key["x"] + "=").hex() == me["public_key"]
    assert key["kid"] == OKPKey.import_key({name: key[name] for name in ("kty", "crv", "x")}).thumbprint()
    metadata = await fetched(http, ada, "cimd.json")
    assert metadata["client_id"] == f"{BASE_URL}/agents/{ada.id}/cimd.json"
    assert metadata["jwks_uri"] == f"{BASE_URL}/agents/{ada.id}/jwks.json"


@pytest.mark.parametrize("name", PAPERS)
async def test_a_document_may_be_kept_for_five_minutes_and_asked_for_again_by_its_tag(
    trade: Trade, http: httpx.AsyncClient, name: str
) -> None:
    ada = await trade.market.register("Ada")
    path = f"/agents/{ada.id}/{name}"
    first = await http.get(path)
    told = (first.headers["content-type"], first.headers["cache-control"], first.headers.get("vary"))
    assert told == ("application/json", "public, max-age=300", None)
    again = await http.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["cache-control"] == "public, max-age=300"
    await trade.market.call("update_me", by=ada, name="Other", handle="other-ada")
    changed = await http.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert changed.status_code == (304 if name in ("jwks.json", "did.json") else 200)
    head = await http.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert (await http.post(path)).status_code == 405


@pytest.mark.parametrize("name", PAPERS)
async def test_nobody_and_a_deleted_agent_have_no_documents(trade: Trade, http: httpx.AsyncClient, name: str) -> None:
    ada = await trade.market.register("Ada")
    await trade.market.call("delete_me", by=ada, confirm=ada.handle)
    for one in (ada.id, ada.handle, "nobody", "agt_" + "0" * 26, "a%2e%2e%2fb", "x" * 64):
        answer = await http.get(f"/agents/{one}/{name}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        assert answer.headers["cache-control"] == "no-store"
    assert (await http.get(f"/agents/{'x' * 65}/{name}")).status_code == 400


async def test_a_suspended_agent_is_said_to_be_inactive(trade: Trade, http: httpx.AsyncClient) -> None:
    ada = await trade.market.register("Ada")
    await write_row(trade.market, AgentRow, ada.id, status=AgentStatus.SUSPENDED)
    assert (await fetched(http, ada, "erc8004.json"))["active"] is False


async def test_a_host_header_of_another_place_stands_in_no_document(trade: Trade, http: httpx.AsyncClient) -> None:
    ada = await trade.market.register("Ada")
    for name in PAPERS:
        answer = await http.get(f"/agents/{ada.id}/{name}", headers={"Host": "evil.example"})
        assert (answer.status_code, "evil" in answer.text) == (421, False)
