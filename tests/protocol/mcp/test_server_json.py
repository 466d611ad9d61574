"""server.json is valid by the schema of the official MCP registry and by the registry's further rules."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from jsonschema import Draft7Validator, FormatChecker

from protocol.discovery.mcp_server import PUBLISHER, SCHEMA, namespace, server_json
from tests.support.documented_names import HOUSE, OPERATIONS, pages, served
from tools.engine.caller import Surface

PUBLISHED = json.loads(
    (Path(__file__).parents[2] / "vectors/server_json/server.schema.json").read_text(encoding="utf-8")
)
JUDGE = Draft7Validator(PUBLISHED, format_checker=FormatChecker())
RANGE = re.compile(r"[\^~<>=*|]|\bx\b|\s-\s")  # version ranges, which are refused
MADE = server_json(OPERATIONS, HOUSE)


def faults(document: Any) -> list[str]:
    return ["/".join(map(str, error.absolute_path)) for error in JUDGE.iter_errors(document)]


def known(*kinds: str) -> set[str]:
    """Return the members that the schema defines for objects of these kinds.

    The schema allows other members, but registries ignore them.
    """
    return {name for kind in kinds for part in _parts(kind) for name in part.get("properties", ())}


def _parts(kind: str) -> list[Any]:
    definition = PUBLISHED["definitions"][kind]
    held = [one["$ref"].rpartition("/")[2] for one in definition.get("allOf", ()) if "$ref" in one]
    return [definition, *definition.get("allOf", ()), *(part for name in held for part in _parts(name))]


def test_it_holds_to_the_published_schema_and_says_nothing_unknown_to_it() -> None:
    Draft7Validator.check_schema(PUBLISHED)
    assert MADE["$schema"] == SCHEMA == PUBLISHED["$id"]
    assert faults(MADE) == []
    (remote,) = MADE["remotes"]
    assert MADE.keys() <= known("ServerDetail")
    assert remote.keys() <= known("StreamableHttpTransport", "RemoteTransport")
    assert all(header.keys() <= known("KeyValueInput") for header in remote["headers"])
    assert MADE["_meta"].keys() == PUBLISHED["definitions"]["ServerDetail"]["properties"]["_meta"]["properties"].keys()


def test_it_keeps_what_the_registry_asks_beyond_its_schema() -> None:
    assert MADE["name"].count("/") == 1
    assert not RANGE.search(MADE["version"])
    assert MADE["version"] != "latest"
    assert "/server.json" in pages()


@pytest.mark.parametrize(
    "change, place",
    [
        ({"name": "emporion"}, "name"),
        ({"description": "x" * 101}, "description"),
        ({"version": 1}, "version"),
        ({"title": ""}, "title"),
        ({"remotes": [{"type": "stdio", "url": "https://market.example/mcp"}]}, "remotes/0"),
        ({"remotes": [{"type": "streamable-http", "url": "market.example/mcp"}]}, "remotes/0"),
        ({"_meta": {PUBLISHER: 97}}, f"_meta/{PUBLISHER}"),
    ],
)
def test_what_breaks_the_schema_is_found(change: dict[str, Any], place: str) -> None:
    assert faults(MADE | change) == [place]


def test_it_is_this_markets_own() -> None:
    assert (MADE["name"], MADE["title"], MADE["version"]) == ("example.market/emporion", "Emporion", HOUSE.version)
    (remote,) = MADE["remotes"]
    assert (remote["type"], remote["url"]) == ("streamable-http", "https://market.example/mcp")
    more = MADE["_meta"][PUBLISHER]
    for url in (remote["url"], MADE["websiteUrl"], more["llms_txt"], more["agent_card"]):
        assert url.startswith(HOUSE.base_url)
        assert served(urlsplit(url).path)
    tools = [op for op in OPERATIONS if Surface.MCP in op.surfaces]
    assert more["tools"] == len(tools)
    assert set(more["toolsets"]) == {op.toolset for op in tools}


def test_the_key_is_a_secret_and_needed_for_nothing_at_first() -> None:
    (header,) = MADE["remotes"][0]["headers"]
    assert (header["name"], header["isSecret"], header["isRequired"]) == ("X-API-Key", True, False)
    assert "register_agent" in header["description"]


@pytest.mark.parametrize(
    "url, space",
    [
        ("https://market.example", "example.market"),
        ("https://a.b.market.example:8443", "example.market.b.a"),
        ("http://localhost:8000", "localhost"),
        ("http://127.0.0.1:8000", "localhost"),
        ("http://[::1]:8000", "localhost"),
    ],
)
def test_the_namespace_is_the_host_backwards(url: str, space: str) -> None:
    assert namespace(url) == space
    assert faults(server_json(OPERATIONS, replace(HOUSE, base_url=url))) == []
