"""An agent's documents: its ERC-8004 registration file, DID document, OAuth client metadata and A2A card."""

from typing import Final, cast
from urllib.parse import quote, urlsplit

import orjson

from storage.tables import AgentRow, ListingRow
from storage.vocabulary import AgentStatus, Env, PricingModel
from tools.agents.agent_cards import Card, card_of, signed
from tools.agents.document_records import (
    AgentCard,
    ClientMetadata,
    DidDocument,
    Registration,
    RegistrationFile,
    Service,
    VersionedService,
)
from tools.agents.key_possession import proven_did
from tools.engine.config import MarketConfig
from tools.engine.ports import Signer
from tools.kernel.keys import did_of_hex
from tools.kernel.money import price_display
from tools.kernel.records import Json, shortened
from tools.kernel.strict_json import MAX_INTEGER

TYPE: Final = "https://eips.ethereum.org/EIPS/eip-8004#registration-v1"
DID_CONTEXT = ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1"]
DID_CORE = "https://www.w3.org/TR/did-core/"
A2A_VERSION = "1.0"
MAX_CHARACTERS = 500  # of a listing's description in a card
MAX_EXAMPLE = 2000  # characters; a longer example is left out of the card


def registration_file(config: MarketConfig, agent: AgentRow) -> RegistrationFile:
    """Return the ERC-8004 registration file, the target of the token's URI."""
    return {
        "type": TYPE,
        "name": agent.name,
        "description": agent.description or f"An agent on {config.title}.",
        "services": _services(config, agent),
        "x402Support": False,
        "active": agent.status is AgentStatus.ACTIVE,
        "registrations": _registrations(agent),
        "supportedTrust": ["reputation"],
        "extension": _extension(config, agent),
    }


def service_file(config: MarketConfig, did: str) -> RegistrationFile:
    """Return the registration file of the market itself, which holds no token."""
    base = config.base_url
    return {
        "type": TYPE,
        "name": config.title,
        "description": "A market where software agents hire each other and pay wallet to wallet in USDC.",
        "services": [
            {"name": "web", "endpoint": base},
            {"name": "DID", "endpoint": did},
            VersionedService(name="A2A", endpoint=f"{base}/.well-known/agent-card.json", version=A2A_VERSION),
            {"name": "MCP", "endpoint": f"{base}/mcp"},
        ],
        "x402Support": False,
        "active": True,
        "registrations": [],
        "supportedTrust": ["reputation"],
        "extension": {"did": did, "jwks": f"{base}/.well-known/jwks.json", "openapi": f"{base}/openapi.json"},
    }


def did_document(config: MarketConfig, agent: AgentRow) -> DidDocument:
    """Return the document of `did:web:<host>:agents:<id>` (did:web method, 3.2)."""
    did, key = _did_web(config, agent), did_of_hex(agent.public_key)
    multibase = key.removeprefix("did:key:")
    method = f"{did}#{multibase}"
    proven = [f"https://{agent.verified_domain}"] if agent.verified_domain else []
    return {
        "@context": DID_CONTEXT,
        "id": did,
        "alsoKnownAs": [key, *proven],
        "verificationMethod": [
            {"id": method, "type": "Multikey", "controller": did, "publicKeyMultibase": multibase},
        ],
        "authentication": [method],
        "assertionMethod": [method],
        "service": [
            {"id": f"{did}#card", "type": "A2A", "serviceEndpoint": paper(config, agent, "agent-card.json")},
            {"id": f"{did}#erc8004", "type": "ERC8004", "serviceEndpoint": paper(config, agent, "erc8004.json")},
        ],
    }


def client_metadata(config: MarketConfig, agent: AgentRow) -> ClientMetadata:
    """Return the agent as an OAuth client that authenticates with its own key."""
    return {
        "client_id": paper(config, agent, "cimd.json"),
        "client_name": agent.name,
        "client_uri": f"{config.base_url}/v1/agents/{agent.id}",
        "jwks_uri": paper(config, agent, "jwks.json"),
        "grant_types": ["client_credentials"],
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_signing_alg": "EdDSA",
    }


def agent_card(
    config: MarketConfig, signer: Signer, agent: AgentRow, listings: list[ListingRow], env: Env
) -> AgentCard:
    """Return the agent's card.

    Its A2A endpoint is the market's: a listing is ordered there, and the agent gets an event.
    """
    words = f" Its own words: {agent.description}" if agent.description else ""
    description = (
        f"An agent on {config.title}, hired at its A2A endpoint here with a key of this market: each skill is one of its "
        f"{env.value} listings. A data part {{listing_id, input}} orders it, and the answer is a task.{words}"
    )
    skills = [_skill(agent, listing) for listing in listings]
    card = card_of(
        config,
        agent.name,
        description,
        skills,
        at=f"/a2a/agents/{agent.handle}",
        extendedAgentCard=False,
        extensions=[_identity(config, agent)],
    )
    return cast(AgentCard, signed(card, config.base_url, signer))


def paper(config: MarketConfig, agent: AgentRow, name: str) -> str:
    return f"{config.base_url}/agents/{agent.id}/{name}"


def _services(config: MarketConfig, agent: AgentRow) -> list[VersionedService | Service]:
    """Return the agent's endpoints; without a card URL of its own, that of its card here."""
    own: dict[str, str] = agent.endpoints
    found: list[VersionedService | Service] = [
        {"name": "web", "endpoint": own.get("homepage") or f"{config.base_url}/v1/agents/{agent.id}"},
    ]
    if did := proven_did(agent):
        found.append({"name": "DID", "endpoint": did})
    if card := own.get("a2a_card_url"):
        found.append({"name": "A2A", "endpoint": card})
    else:
        found.append({"name": "A2A", "endpoint": paper(config, agent, "agent-card.json"), "version": A2A_VERSION})
    if "mcp_url" in own:
        found.append({"name": "MCP", "endpoint": own["mcp_url"]})
    return found


def _registrations(agent: AgentRow) -> list[Registration]:
    link = agent.erc8004
    if link is None:
        return []
    number = int(link["agent_id"])
    token = number if number <= MAX_INTEGER else link["agent_id"]
    return [{"agentId": token, "agentRegistry": link["registry"]}]


def _extension(config: MarketConfig, agent: AgentRow) -> dict[str, Json]:
    profile = f"{config.base_url}/v1/agents/{agent.id}"
    return {
        "id": agent.id,
        "handle": agent.handle,
        "did": proven_did(agent),
        "trust_tier": agent.trust_tier,
        "first_party": agent.first_party,
        "verified_domain": agent.verified_domain,
        "erc8004": agent.erc8004,
        "profile": profile,
        "reputation": f"{profile}/reputation",
        "attestation": f"{profile}/reputation/attestation",
        "jwks": paper(config, agent, "jwks.json"),
        "did_document": paper(config, agent, "did.json"),
        "cimd": paper(config, agent, "cimd.json"),
        "hire": f"{config.base_url}/v1/listings?seller={agent.id}",
        "message": {"tool": "start_thread", "method": "POST", "url": f"{config.base_url}/v1/threads"},
        "platform": config.base_url,
    }


def _identity(config: MarketConfig, agent: AgentRow) -> Card:
    """Return the agent's identity as an extension, because A2A has no field for it."""
    return {
        "uri": DID_CORE,
        "description": "The agent's own decentralized identifier, and what this market has seen proven.",
        "params": {
            "did": proven_did(agent),
            "jwks": paper(config, agent, "jwks.json"),
            "did_document": paper(config, agent, "did.json"),
            "trust_tier": agent.trust_tier,
        },
    }


def _skill(agent: AgentRow, row: ListingRow) -> Card:
    price = price_display(PricingModel(row.pricing_model), row.price, row.unit_name)
    said = shortened(row.description, MAX_CHARACTERS)
    order: dict[str, Json] = {"listing_id": row.id}
    if row.example_input is not None and len(row.example_input) <= MAX_EXAMPLE:
        order["input"] = orjson.loads(row.example_input)
    return {
        "id": row.id,
        "name": row.title,
        "description": f"{said}\n\nPrice: {price}. Order with the data part {{listing_id, input}}, listing_id {row.id}.",
        "tags": row.tags or [row.category],
        "examples": [orjson.dumps(order).decode()],
    }


def _did_web(config: MarketConfig, agent: AgentRow) -> str:
    parts = urlsplit(config.base_url)
    place = [quote(one, safe="") for one in (parts.netloc, *parts.path.split("/")) if one]
    return ":".join(["did:web", *place, "agents", agent.id])
