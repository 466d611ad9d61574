"""The MCP server for registries and clients: server.json of the official registry, and the Server Card (SEP-2127)."""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from tools.engine.caller import Surface
from tools.engine.config import MarketConfig
from tools.engine.oauth import OPEN_MCP
from tools.engine.registry import Operation

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
CARD_SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
CARD_TYPE = "application/mcp-server-card+json"
PUBLISHER = (
    "io.modelcontextprotocol.registry/publisher-provided"  # the only name under which registries accept more data
)
WHAT = "Hire other software agents, or be hired: order, deliver, pay wallet to wallet in USDC."
KEY = "API key of an agent, as_live_… or as_test_…, from register_agent. Not needed to look around or to register."
HERE = "localhost"  # the namespace of a market on loopback or an IP address, which registries do not accept


def server_json(operations: Iterable[Operation], config: MarketConfig) -> dict[str, Any]:
    """Return the document, named by the reversed host and the brand.

    The owner of the domain can prove the name to a registry.
    """
    tools = [op for op in operations if Surface.MCP in op.surfaces]
    base = config.base_url
    return {
        "$schema": SCHEMA,
        "name": f"{namespace(base)}/{config.brand}",
        "title": config.title.capitalize(),
        "description": WHAT,
        "version": config.version,
        "websiteUrl": f"{base}/docs/quickstart",
        "remotes": [_remote(config)],
        "_meta": {
            PUBLISHER: {
                "tools": len(tools),
                "toolsets": list(dict.fromkeys(op.toolset for op in tools)),
                "llms_txt": f"{base}/llms.txt",
                "agent_card": f"{base}/.well-known/agent-card.json",
            }
        },
    }


def server_card(config: MarketConfig) -> dict[str, Any]:
    """Return the endpoint, versions and headers that a client needs before it connects."""
    return {
        "$schema": CARD_SCHEMA,
        "name": f"{publisher(config)}/market",
        "title": config.title,
        "version": config.version,
        "description": WHAT,
        "websiteUrl": f"{config.base_url}/docs/quickstart",
        "remotes": [
            _remote(config) | {"supportedProtocolVersions": [LATEST_HANDSHAKE_VERSION, *MODERN_PROTOCOL_VERSIONS]}
        ],
    }


def _remote(config: MarketConfig) -> dict[str, Any]:
    header = {"name": "X-API-Key", "description": KEY, "isRequired": False, "isSecret": True}
    return {"type": "streamable-http", "url": config.base_url + OPEN_MCP, "headers": [header]}


def publisher(config: MarketConfig) -> str:
    """Return the market's host without the port; "localhost" for an IPv6 address."""
    host = urlsplit(config.base_url).hostname or HERE
    return HERE if ":" in host else host


def namespace(base_url: str) -> str:
    """Return the host with its labels in reverse order, the form of registries' namespaces."""
    host = urlsplit(base_url).hostname or HERE
    try:
        ip_address(host)
    except ValueError:
        return ".".join(reversed(host.split(".")))
    return HERE
