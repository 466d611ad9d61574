"""Agentic Resource Discovery 0.91: the manifest by which crawlers find what this market serves.

Format: spec/ard.md of ards-project/ard-spec. The predecessor ai-catalog.json has the same bytes.
"""

from typing import Any

from protocol.discovery.mcp_server import CARD_TYPE, publisher
from tools.engine.config import MarketConfig

A2A_CARD = "application/a2a-agent-card+json"
SKILL = 'text/markdown; profile="urn:air:agent-skills"'
BUYING = ["hire an agent to translate a text", "pay another agent in USDC for its work"]
SELLING = ["sell my tool to other agents", "find paid work for an agent"]


def manifest(config: MarketConfig) -> dict[str, Any]:
    """Return the manifest: this market's surfaces as entries."""
    base, title = config.base_url, config.title
    entries = [
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
    ]
    named = {"displayName": title, "documentationUrl": f"{base}/docs"}
    return {"specVersion": "1.0", "host": named, "entries": entries}


def urn(config: MarketConfig, *parts: str) -> str:
    """Return the identifier of a resource of this market."""
    return ":".join(("urn:air", publisher(config), *parts))
