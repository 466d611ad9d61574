"""Each discovery document: its form, its headers, and links that lead somewhere."""

import hashlib
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import httpx
import orjson
import pytest
from jsonschema import Draft202012Validator
from mcp.client import Client

from protocol.discovery.documents import discovery_documents
from protocol.discovery.mcp_server import CARD_SCHEMA
from protocol.discovery.skills import FOLDER, Skill
from tests.support.documented_names import HOUSE, OPERATIONS, TEXTS
from tests.support.fixed_market import NOON
from tests.support.protocols import served
from tests.support.trade import Trade

PUBLIC = replace(HOUSE, base_url="https://market.example", contact="mailto:security@market.example")
KINDS = {
    "/.well-known/ard.json": "application/json",
    "/.well-known/ai-catalog.json": "application/json",
    "/.well-known/api-catalog": 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    "/.well-known/agent-skills/index.json": "application/json",
    "/.well-known/agent-skills/emporion/SKILL.md": "text/markdown; charset=utf-8",
    "/.well-known/agent-skills/emporion/references/errors.md": "text/markdown; charset=utf-8",
    "/.well-known/agent-skills/emporion/references/events.md": "text/markdown; charset=utf-8",
    "/.well-known/agent-skills/emporion/references/lifecycle.md": "text/markdown; charset=utf-8",
    "/.well-known/mcp/server-card.json": "application/mcp-server-card+json",
    "/mcp/server-card": "application/mcp-server-card+json",
    "/server.json": "application/json",
    "/robots.txt": "text/plain; charset=utf-8",
    "/sitemap.xml": "application/xml",
    "/favicon.svg": "image/svg+xml",
    "/favicon.ico": "image/svg+xml",
    "/.well-known/security.txt": "text/plain; charset=utf-8",
}
TEXT = {"type": "string", "minLength": 1}
HEADER = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": TEXT,
        "description": TEXT,
        "isRequired": {"type": "boolean"},
        "isSecret": {"type": "boolean"},
    },
}
REMOTE = {
    "type": "object",
    "required": ["type", "url"],
    "additionalProperties": False,
    "properties": {
        "type": {"const": "streamable-http"},
        "url": {"type": "string", "pattern": "^https?://"},
        "supportedProtocolVersions": {"type": "array", "items": {"pattern": r"^\d{4}-\d{2}-\d{2}$"}},
        "headers": {"type": "array", "items": HEADER},
    },
}
SERVER_CARD = {  # the rules of SEP-2127
    "type": "object",
    "required": ["$schema", "name", "description", "version"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"const": CARD_SCHEMA},
        "name": {"pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"type": "string", "maxLength": 255},
        "websiteUrl": {"type": "string", "pattern": "^https?://"},
        "remotes": {"type": "array", "items": REMOTE},
    },
}
URN = re.compile(r"urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+")


def documents(**changed: Any) -> dict[str, bytes]:
    """Return the documents of a public market, with some settings changed."""
    made = discovery_documents(Skill(TEXTS), OPERATIONS, replace(PUBLIC, **changed), ["/docs"], NOON)
    return {path: one.body for path, one in made.items()}


MADE = documents()


def own_urls(value: Any) -> set[str]:
    """Return the URLs of the market in a document."""
    if isinstance(value, dict):
        return {url for one in value.values() for url in own_urls(one)}
    if isinstance(value, list):
        return {url for one in value for url in own_urls(one)}
    return {value} if isinstance(value, str) and value.startswith("http") else set()


def test_every_document_has_its_media_type_and_may_be_cached() -> None:
    made = discovery_documents(Skill(TEXTS), OPERATIONS, PUBLIC, ["/docs"], NOON)
    assert {path: one.kind for path, one in made.items()} == KINDS
    assert {one.max_age for one in made.values()} == {300, 3600}


async def test_documents_are_read_by_everybody_and_kept_by_their_etag(trade: Trade) -> None:
    async with served(trade.market) as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        for path in (*KINDS, "/", "/v1"):
            if path.endswith("security.txt"):
                continue
            whole = await http.get(path)
            assert (whole.status_code, whole.headers["access-control-allow-origin"]) == (200, "*"), path
            assert whole.headers["cache-control"].startswith("public, max-age="), path
            assert "ETag" in whole.headers["access-control-expose-headers"]
            again = await http.get(path, headers={"If-None-Match": whole.headers["etag"]})
            head = await http.head(path)
            assert (again.status_code, again.content) == (304, b""), path
            assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", whole.headers["etag"]), path
            written = await http.post(path, json={})
            assert (written.status_code, written.json()["error"]["code"]) == (405, "method_not_allowed"), path
        assert (await http.get("/.well-known/security.txt")).status_code == 404


async def test_every_link_between_documents_leads_somewhere(trade: Trade) -> None:
    await trade.market.workers.check_health()
    async with served(trade.market, named=True) as url, httpx.AsyncClient(trust_env=False, timeout=30) as http:
        catalogues = [path for path, kind in KINDS.items() if "json" in kind]
        told = {one for path in catalogues for one in own_urls((await http.get(url + path)).json())}
        told |= set(re.findall(r"<loc>([^<]+)</loc>", (await http.get(f"{url}/sitemap.xml")).text))
        told |= set(re.findall(r"(?:Agentmap|Sitemap): (\S+)", (await http.get(f"{url}/robots.txt")).text))
        for path in ("/", "/v1"):
            told |= set(re.findall(r"<([^>]+)>", (await http.get(url + path)).headers["link"]))
        bases = {f"{url}{path}" for path in ("/mcp", "/a2a")}  # of several addresses, and none itself
        ours = {one for one in told if one.startswith(url)} - bases
        assert len(ours) >= 20
        assert {one for one in ours if (await http.get(one, follow_redirects=True)).status_code != 200} == set()


def test_every_name_is_that_of_the_base_url() -> None:
    elsewhere = (b"static.modelcontextprotocol.io", b"rfc-editor.org", b"agentskills.io", b"sitemaps.org", b"w3.org")
    foreign = {
        found
        for path, body in MADE.items()
        if not path.endswith(".md")
        for found in re.findall(rb"https?://[^\"\s<>/]+", body)
        if found != b"https://market.example" and not found.endswith(elsewhere)
    }
    assert foreign == set()


def test_the_server_card_keeps_its_rules() -> None:
    card = orjson.loads(MADE["/mcp/server-card"])
    Draft202012Validator(SERVER_CARD).validate(card)
    assert card["name"] == "market.example/market"
    assert MADE["/mcp/server-card"] == MADE["/.well-known/mcp/server-card.json"]


@pytest.mark.parametrize("base", ["http://127.0.0.1:8000", "http://[::1]:8000", "https://market.example:8443/shop"])
def test_names_are_valid_without_a_domain_and_with_a_port(base: str) -> None:
    made = documents(base_url=base)
    Draft202012Validator(SERVER_CARD).validate(orjson.loads(made["/mcp/server-card"]))
    assert all(URN.fullmatch(one["identifier"]) for one in orjson.loads(made["/.well-known/ard.json"])["entries"])


async def test_the_server_card_says_what_the_server_says(trade: Trade) -> None:
    async with served(trade.market, named=True) as url, Client(f"{url}/mcp", mode="auto") as client:
        async with httpx.AsyncClient(trust_env=False) as http:
            card = (await http.get(f"{url}/mcp/server-card")).json()
        about = client.server_info
        (remote,) = card["remotes"]
        assert (about.name, about.version) == (card["title"], card["version"])
        assert client.protocol_version in remote["supportedProtocolVersions"]
        assert remote["url"] == f"{url}/mcp"


def test_the_manifest_of_ard_keeps_its_rules() -> None:
    assert MADE["/.well-known/ard.json"] == MADE["/.well-known/ai-catalog.json"]
    entries = orjson.loads(MADE["/.well-known/ard.json"])["entries"]
    assert len({one["identifier"] for one in entries}) == len(entries)
    for one in entries:
        assert URN.fullmatch(one["identifier"])
        assert one["identifier"].split(":")[2] == "market.example"
        assert one["displayName"]
        assert ("url" in one) is not ("data" in one)
        assert 2 <= len(one["representativeQueries"]) <= 5


def test_the_api_catalogue_names_every_surface() -> None:
    linkset = orjson.loads(MADE["/.well-known/api-catalog"])["linkset"]
    described = {one["anchor"]: one["service-desc"][0]["href"] for one in linkset}
    assert described == {
        "https://market.example/v1": "https://market.example/openapi.json",
        "https://market.example/mcp": "https://market.example/mcp/server-card",
        "https://market.example/a2a": "https://market.example/.well-known/agent-card.json",
        "https://market.example/ard": "https://market.example/ard",
        "https://market.example/v1/x402": "https://market.example/openapi.json",
    }


def test_the_skill_is_named_with_its_digest() -> None:
    index = orjson.loads(MADE["/.well-known/agent-skills/index.json"])
    (listed,) = index["skills"]
    body = MADE[f"{FOLDER}/SKILL.md"]
    assert listed["digest"] == f"sha256:{hashlib.sha256(body).hexdigest()}"
    assert listed["url"] == f"https://market.example{FOLDER}/SKILL.md"
    assert body.decode() == TEXTS.skill_md


@pytest.mark.parametrize(("allowed", "told"), [(False, "ai-train=no"), (True, "ai-train=yes")])
def test_robots_txt_tells_what_the_operator_allows(allowed: bool, told: str) -> None:
    lines = documents(ai_train=allowed)["/robots.txt"].decode().splitlines()
    assert lines[0] == "User-agent: *"
    assert lines[1] == f"Content-Signal: search=yes, ai-input=yes, {told}"
    assert "Agentmap: https://market.example/.well-known/ard.json" in lines


def test_the_sitemap_is_xml_with_escaped_addresses() -> None:
    made = discovery_documents(Skill(TEXTS), OPERATIONS, PUBLIC, ["/docs", "/a?b=1&c=2"], NOON)
    root = ElementTree.fromstring(made["/sitemap.xml"].body)
    assert [one.text for one in root.iter() if one.tag.endswith("loc")] == [
        "https://market.example/docs",
        "https://market.example/a?b=1&c=2",
    ]


def test_security_txt_names_the_contact_for_less_than_a_year() -> None:
    told = MADE["/.well-known/security.txt"].decode()
    assert "Contact: mailto:security@market.example\n" in told
    (expires,) = re.findall(r"Expires: (\d{4})-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z\n", told)
    assert int(expires) - NOON.year in (0, 1)
    assert "Canonical: https://market.example/.well-known/security.txt\n" in told
    assert "/.well-known/security.txt" not in documents(contact=None)
