"""Agentic Resource Discovery 0.91: the manifest by which crawlers find this market, and listings as entries.

Format: spec/ard.md of ards-project/ard-spec. The predecessor ai-catalog.json has the same bytes.
"""

import re
from collections.abc import Sequence
from typing import Any

from protocol.discovery.mcp_server import CARD_TYPE, publisher
from storage.vocabulary import Env
from tools.engine.config import MarketConfig
from tools.kernel.ard_urns import CATALOG, REGISTRY
from tools.kernel.plain_text import one_line
from tools.kernel.records import Json, shortened

Entry = dict[str, Any]
A2A_CARD = "application/a2a-agent-card+json"
SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])")
MAX_TEXT = 200  # characters of a text that a seller wrote
SKILL = 'text/markdown; profile="urn:air:agent-skills"'
BUYING = ["hire an agent to translate a text", "pay another agent in USDC for its work"]
SELLING = ["sell my tool to other agents", "find paid work for an agent"]


def manifest(config: MarketConfig) -> dict[str, Any]:
    """Return the manifest: this market's surfaces as entries."""
    return document(config, surfaces(config))


def document(config: MarketConfig, entries: Sequence[Entry]) -> dict[str, Any]:
    """Return a catalogue of these entries; old readers need `specVersion`."""
    named = {"displayName": config.title, "documentationUrl": f"{config.base_url}/docs"}
    return {"specVersion": "1.0", "host": named, "entries": entries}


def surfaces(config: MarketConfig) -> list[Entry]:
    """Return the entries of the manifest: the surfaces, the skill, the registry, the catalogue."""
    base, title = config.base_url, config.title
    return [
        {
            "identifier": urn(config, "mcp", "market"),
            "displayName": f"{title} (MCP)",
            "type": CARD_TYPE,
            "url": f"{base}/mcp/server-card",
            "description": "The market as MCP tools: search, hire, pay and sell.",
            "capabilities": ["search_listings", "hire", "pay_job", "create_listing"],
            "representativeQueries": [*BUYING, *SELLING],
        },
        {
            "identifier": urn(config, "a2a", "market"),
            "displayName": f"{title} (A2A)",
            "type": A2A_CARD,
            "url": f"{base}/.well-known/agent-card.json",
            "description": "The market as an A2A agent: a message hires, the task is the job.",
            "capabilities": ["hire"],
            "representativeQueries": BUYING,
        },
        {
            "identifier": urn(config, "skill", "emporion"),
            "displayName": f"How to use {title}",
            "type": SKILL,
            "url": f"{base}/skill.md",
            "description": "A skill that teaches an agent to buy, sell and judge on this market.",
            "representativeQueries": ["how do I hire another agent", "how do I get paid as an agent"],
        },
        registry(config),
        {
            "identifier": urn(config, "catalog", "listings"),
            "displayName": f"{title} (listings)",
            "type": CATALOG,
            "url": f"{base}/ard/listings.json",
            "description": "The newest listings for real money (live) as entries.",
            "representativeQueries": ["services that agents sell", "newest offers of agents"],
        },
    ]


def registry(config: MarketConfig) -> Entry:
    """Return the entry of the registry: the search of listings."""
    return {
        "identifier": urn(config, "registry", "listings"),
        "displayName": f"{config.title} (search)",
        "type": REGISTRY,
        "url": f"{config.base_url}/ard",
        "description": "Search all listings for real money (live), and entries of the markets that this one refers to.",
        "representativeQueries": ["find an agent that does a task for USDC", "search services sold by agents"],
    }


def listing_entry(config: MarketConfig, listing: dict[str, Json]) -> Entry:
    """Return the entry of a listing's record, with its texts cut to short lines."""
    base, seller, price = config.base_url, listing["seller"], listing["pricing"]["price"]
    title, description = line(listing["title"]), line(listing["description"])
    sentence = SENTENCE_END.split(one_line(listing["description"]), maxsplit=1)[0]
    facts = {
        "listing_url": f"{base}/v1/listings/{listing['id']}",
        "price": price,
        "asset": listing["pricing"]["currency"],
        "network": config.networks[Env.LIVE].id,
        "env": listing["env"],
    }
    return {
        "identifier": urn(config, "listing", listing["id"]),
        "displayName": title,
        "type": A2A_CARD,
        "url": f"{base}/a2a/agents/{seller['handle']}/.well-known/agent-card.json",
        "description": description,
        "tags": [line(tag) for tag in listing["tags"]],
        "capabilities": [listing["id"]],
        "updatedAt": listing["updated_at"],
        "representativeQueries": [title, line(f"{listing['category']}: {sentence}")],
        "metadata": {name: fact for name, fact in facts.items() if fact is not None},
    }


def line(text: str) -> str:
    """Return a seller's text in one line of at most MAX_TEXT characters."""
    return shortened(one_line(text), MAX_TEXT)


def urn(config: MarketConfig, *parts: str) -> str:
    """Return the identifier of a resource of this market."""
    return ":".join(("urn:air", publisher(config), *parts))
