"""server.json keeps the rules that the official registry of MCP servers states for its format and for what it takes."""

import re
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest
from jsonschema import Draft7Validator

from protocol.server_json import PUBLISHER, SCHEMA, namespace, server_json
from tests.naming import HOUSE, OPERATIONS, TEXTS, pages, served
from tools.context import Surface

# The rules of 2025-12-11 for what we say, in our words: nothing else may stand there, so nothing unknown to them does.
INPUT: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "description": {"type": "string"},
        "isRequired": {"type": "boolean"},
        "isSecret": {"type": "boolean"},
    },
}
REMOTE: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["type", "url"],
    "properties": {
        "type": {"enum": ["streamable-http", "sse"]},
        "url": {"type": "string", "pattern": r"^https?://\S+$"},
        "headers": {"type": "array", "items": INPUT},
    },
}
RULES: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["$schema", "name", "description", "version", "remotes"],
    "properties": {
        "$schema": {"const": SCHEMA},
        "name": {"type": "string", "minLength": 3, "maxLength": 200, "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"type": "string", "minLength": 1, "maxLength": 255, "not": {"const": "latest"}},
        "websiteUrl": {"type": "string", "pattern": r"^https?://\S+$"},
        "remotes": {"type": "array", "minItems": 1, "items": REMOTE},
        "_meta": {"type": "object", "additionalProperties": False, "properties": {PUBLISHER: {"type": "object"}}},
    },
}
RANGE = re.compile(r"[\^~<>=*|]|\bx\b|\s-\s")  # versions that are refused: ranges
MADE = TEXTS.server_json


def faults(document: Any) -> list[str]:
    return [error.json_path for error in Draft7Validator(RULES).iter_errors(document)]


def test_it_keeps_the_rules_of_the_registry() -> None:
    Draft7Validator.check_schema(RULES)
    assert faults(MADE) == []
    assert MADE["name"].count("/") == 1
    assert not RANGE.search(MADE["version"])
    assert "/server.json" in pages()


@pytest.mark.parametrize(
    "change, place",
    [
        ({"name": "emporion"}, "$.name"),
        ({"description": "x" * 101}, "$.description"),
        ({"version": "latest"}, "$.version"),
        ({"remotes": []}, "$.remotes"),
        ({"remotes": [{"type": "stdio", "url": "https://market.example/mcp"}]}, "$.remotes[0].type"),
        ({"tools": 97}, "$"),
    ],
)
def test_what_breaks_a_rule_is_found(change: dict[str, Any], place: str) -> None:
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
