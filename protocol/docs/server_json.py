"""server.json: the market's entry for registries of MCP servers, in the format of the official registry."""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from tools.engine.caller import Surface
from tools.engine.config import MarketConfig
from tools.engine.oauth import OPEN_MCP
from tools.engine.registry import Operation

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
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
        "remotes": [
            {
                "type": "streamable-http",
                "url": f"{base}{OPEN_MCP}",
                "headers": [{"name": "X-API-Key", "description": KEY, "isRequired": False, "isSecret": True}],
            }
        ],
        "_meta": {
            PUBLISHER: {
                "tools": len(tools),
                "toolsets": list(dict.fromkeys(op.toolset for op in tools)),
                "llms_txt": f"{base}/llms.txt",
                "agent_card": f"{base}/.well-known/agent-card.json",
            }
        },
    }


def namespace(base_url: str) -> str:
    """Return the host with its labels in reverse order, the form of registries' namespaces."""
    host = urlsplit(base_url).hostname or HERE
    try:
        ip_address(host)
    except ValueError:
        return ".".join(reversed(host.split(".")))
    return HERE
