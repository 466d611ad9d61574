"""All discovery documents of a market by path. They are made once; other documents link to them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from protocol.discovery.ard import manifest
from protocol.discovery.crawlers import API_CATALOG, ICON, api_catalog, robots_txt, security_txt, sitemap_xml
from protocol.discovery.mcp_server import CARD_TYPE, server_card, server_json
from protocol.discovery.skills import FOLDER, MARKDOWN, Skill
from tools.engine.config import MarketConfig
from tools.engine.registry import Operation

HOUR = 3600
CORS = (  # the Server Card requires them on the answer itself, not only for a preflight
    (b"access-control-allow-methods", b"GET"),
    (b"access-control-allow-headers", b"Content-Type, If-None-Match"),
)
JSON, TEXT, XML = "application/json", "text/plain; charset=utf-8", "application/xml"
LINKSET = f'application/linkset+json; profile="{API_CATALOG}"'


@dataclass(frozen=True, slots=True)
class Document:
    """A document with its media type, the seconds it may be cached, and further headers."""

    kind: str
    body: bytes
    max_age: int = HOUR
    headers: tuple[tuple[bytes, bytes], ...] = ()


def discovery_documents(
    skill: Skill, operations: Iterable[Operation], config: MarketConfig, pages: Iterable[str], now: datetime
) -> dict[str, Document]:
    """Return the documents by path; `pages` are the paths of the sitemap."""
    ard = _json(manifest(config), max_age=300)
    card = _json(server_card(config), CARD_TYPE, *CORS)
    catalog = "/.well-known/api-catalog"
    found = {
        "/.well-known/ard.json": ard,
        "/.well-known/ai-catalog.json": ard,
        "/server.json": _json(server_json(operations, config)),
        "/mcp/server-card": card,
        "/.well-known/mcp/server-card.json": card,
        catalog: _json(api_catalog(config), LINKSET, (b"link", f'<{catalog}>; rel="api-catalog"'.encode())),
        "/.well-known/agent-skills/index.json": _json(skill.index(config)),
        **{f"{FOLDER}/{one.path}": Document(f"{MARKDOWN}; charset=utf-8", one.body) for one in skill.files},
        "/robots.txt": Document(TEXT, robots_txt(config).encode()),
        "/sitemap.xml": Document(XML, sitemap_xml(config, pages).encode()),
        "/favicon.svg": Document("image/svg+xml", ICON.encode()),
        "/favicon.ico": Document("image/svg+xml", ICON.encode()),
    }
    if config.contact is not None:
        found["/.well-known/security.txt"] = Document(TEXT, security_txt(config, now).encode())
    return found


def links(config: MarketConfig) -> bytes:
    """Return the Link header of `/` and `/v1` (RFC 8288)."""
    targets = {
        "/.well-known/ard.json": 'rel="ard ai-catalog"',
        "/.well-known/api-catalog": 'rel="api-catalog"',
        "/openapi.json": 'rel="service-desc"',
        "/docs": 'rel="service-doc"',
        "/llms.txt": 'rel="alternate"; type="text/markdown"',
        "/sitemap.xml": 'rel="sitemap"',
    }
    return ", ".join(f"<{config.base_url}{path}>; {about}" for path, about in targets.items()).encode()


def _json(value: dict[str, Any], kind: str = JSON, *headers: tuple[bytes, bytes], max_age: int = HOUR) -> Document:
    return Document(kind, orjson.dumps(value), max_age, headers)
