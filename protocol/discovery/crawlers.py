"""Small files that crawlers read: robots.txt, sitemap.xml, security.txt, the API catalogue and the icon."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from xml.sax.saxutils import escape

from protocol.discovery.mcp_server import CARD_TYPE
from tools.engine.config import MarketConfig

EXPIRY = timedelta(days=360)  # RFC 9116 asks for less than a year
API_CATALOG = "https://www.rfc-editor.org/info/rfc9727"
SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f4d3a"/>'
    '<path d="M9 8h14v3.4H13v3h9v3.3h-9v3h10V24H9z" fill="#fff"/></svg>'
)


def robots_txt(config: MarketConfig) -> str:
    """Return robots.txt (RFC 9309), with Content-Signal and the manifest of ARD."""
    train = "yes" if config.ai_train else "no"
    return (
        f"User-agent: *\nContent-Signal: search=yes, ai-input=yes, ai-train={train}\nDisallow: /v1/admin/\n"
        f"Agentmap: {config.base_url}/.well-known/ard.json\nSitemap: {config.base_url}/sitemap.xml\n"
    )


def sitemap_xml(config: MarketConfig, paths: Iterable[str]) -> str:
    """Return the sitemap (0.9) of these paths."""
    urls = "".join(f"<url><loc>{escape(config.base_url + path)}</loc></url>\n" for path in paths)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{SITEMAP}">\n{urls}</urlset>\n'


def security_txt(config: MarketConfig, now: datetime) -> str:
    """Return the contact for reports of security problems (RFC 9116)."""
    expires = (now + EXPIRY).strftime("%Y-%m-%dT%H:%M:%SZ")
    here = f"{config.base_url}/.well-known/security.txt"
    return f"Contact: {config.contact}\nExpires: {expires}\nCanonical: {here}\n"


def api_catalog(config: MarketConfig) -> dict[str, Any]:
    """Return the linkset of the surfaces, the ARD registry and the x402 services (RFC 9727)."""
    base = config.base_url
    openapi = {"href": f"{base}/openapi.json", "type": "application/vnd.oai.openapi+json;version=3.1"}
    rest = {
        "anchor": f"{base}/v1",
        "service-desc": [openapi],
        "service-doc": [{"href": f"{base}/docs", "type": "text/html"}],
        "status": [{"href": f"{base}/health"}],
    }
    mcp = {"anchor": f"{base}/mcp", "service-desc": [{"href": f"{base}/mcp/server-card", "type": CARD_TYPE}]}
    card = {"href": f"{base}/.well-known/agent-card.json", "type": "application/json"}
    ard = {
        "anchor": f"{base}/ard",
        "service-desc": [{"href": f"{base}/ard", "type": "application/json"}],
        "service-meta": [{"href": f"{base}/.well-known/ard.json", "type": "application/json"}],
    }
    x402 = {
        "anchor": f"{base}/v1/x402",
        "service-desc": [openapi],
        "service-meta": [{"href": f"{base}/v1/x402", "type": "application/json"}],
    }
    return {"linkset": [rest, mcp, {"anchor": f"{base}/a2a", "service-desc": [card]}, ard, x402]}
