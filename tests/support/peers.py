"""Other markets for tests: a catalogue as another Emporion publishes it, and a market that has read one."""

from dataclasses import replace
from typing import Any

from storage.tables import PeerCatalogRow
from tests.support.market import TestMarket
from tools.kernel.ard_urns import MANIFEST, REGISTRY

OTHER = "https://other.example"
CARD = "application/a2a-agent-card+json"


def entry(name: str = "poems", **changes: Any) -> dict[str, Any]:
    """Return a valid entry of OTHER."""
    return {
        "identifier": f"urn:air:other.example:listing:{name}",
        "displayName": f"Write {name}",
        "type": CARD,
        "url": f"{OTHER}/a2a/agents/ada/.well-known/agent-card.json",
        "description": f"I write {name} by hand.",
        "tags": ["writing"],
        "capabilities": [f"lst_{name}"],
    } | changes


def registry() -> dict[str, Any]:
    return entry("registry", displayName="Other (search)", type=REGISTRY, url=f"{OTHER}/ard")


async def with_peer(market: TestMarket, *entries: dict[str, Any], origin: str = OTHER) -> None:
    """Let the market refer to another one, whose entries were just read."""
    config, now = market.market.config, market.clock.now()
    market.market.services.config = replace(config, referrals=(*config.referrals, origin))
    read = {"url": origin + MANIFEST, "etag": None, "at": now.timestamp(), "entries": list(entries), "nested": []}
    row = PeerCatalogRow(origin=origin, check_at=now, documents=[read])
    await market.store.write(lambda tx: tx.add(row))
