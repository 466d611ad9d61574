"""The terms of a purchase and the reports about its payment, in the formats of both versions of x402."""

import json
from base64 import b64decode, b64encode
from typing import Any

import pytest

from tools.chain.x402_payload import Token
from tools.purchases.quotes import header, quote, settled_headers, version_1, with_discovery

TOKEN = Token("eip155:84532", 84532, "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC", "2")
PAYEE = "0x1563915e194D8CfBA1943570603F7606A3115508"
ACCEPTED = {
    "scheme": "exact",
    "network": "eip155:84532",
    "amount": "10000",
    "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    "payTo": PAYEE,
    "maxTimeoutSeconds": 900,
    "extra": {"name": "USDC", "version": "2"},
}
INPUT_SHAPE = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "const": "http"},
        "method": {"type": "string", "enum": ["POST"]},
        "bodyType": {"type": "string", "enum": ["json"]},
        "body": {"type": "object"},
    },
    "required": ["type", "bodyType", "body"],
    "additionalProperties": False,
}
OUTPUT_SHAPE = {
    "type": "object",
    "properties": {"type": {"type": "string"}, "example": {}},
    "required": ["type"],
}


def quoted(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"url": "https://market.example/x", "title": "Check", "brand": "service", "tags": ["json"]}
    return quote(TOKEN, **given | {"pay_to": PAYEE, "amount": 10_000, "why": "Payment required"} | changes)


def test_a_quote_holds_what_version_2_names() -> None:
    assert quoted() == {
        "x402Version": 2,
        "error": "Payment required",
        "resource": {
            "url": "https://market.example/x",
            "description": "Check",
            "mimeType": "application/json",
            "serviceName": "service",
            "tags": ["json"],
        },
        "accepts": [ACCEPTED],
    }


def test_names_and_tags_are_cut_to_what_the_specification_takes() -> None:
    resource = quoted(title="t" * 301, brand="b" * 33, tags=["1", "2", "3", "4", "5", "6"])["resource"]
    assert (resource["description"], resource["serviceName"]) == ("t" * 300, "b" * 32)
    assert resource["tags"] == ["1", "2", "3", "4", "5"]
    assert quoted(title="t" * 300, brand="b" * 32)["resource"]["description"] == "t" * 300
    assert quoted(brand=" a~\x1f\x7fé中b")["resource"]["serviceName"] == " a~b", "printable ASCII alone"


def test_the_same_terms_in_the_words_of_version_1() -> None:
    assert version_1(quoted(why="The call failed")) == {
        "x402Version": 1,
        "error": "The call failed",
        "accepts": [
            {
                "scheme": "exact",
                "network": "base-sepolia",
                "maxAmountRequired": "10000",
                "resource": "https://market.example/x",
                "description": "Check",
                "mimeType": "application/json",
                "payTo": PAYEE,
                "maxTimeoutSeconds": 900,
                "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
                "extra": {"name": "USDC", "version": "2"},
            }
        ],
    }


def bazaar(given: Any, answered: Any) -> dict[str, Any]:
    info = {"input": {"type": "http", "method": "POST", "bodyType": "json", "body": given}}
    shape: dict[str, Any] = {"input": INPUT_SHAPE}
    if answered is not None:
        info["output"] = {"type": "json", "example": answered}
        shape["output"] = OUTPUT_SHAPE
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": shape,
        "required": ["input"],
    }
    return {"info": info, "schema": schema}


@pytest.mark.parametrize(
    ("given", "answered", "shown"),
    [
        ({"a": 1}, {"b": 2}, bazaar({"a": 1}, {"b": 2})),
        ({"a": 1}, None, bazaar({"a": 1}, None)),
        (None, {"b": 2}, bazaar({}, {"b": 2})),
        ({"a": 1}, "x" * 9_000, bazaar({"a": 1}, None)),
        ("x" * 9_000, {"b": 2}, bazaar({}, None)),
    ],
)
def test_examples_are_shown_as_far_as_they_fit_into_a_header(given: Any, answered: Any, shown: dict[str, Any]) -> None:
    assert with_discovery(quoted(), given, answered) == quoted() | {"extensions": {"bazaar": shown}}


def filled(characters: int) -> str:
    """Return an example output with which the header has exactly this length."""
    empty = len(header(with_discovery(quoted(), {"a": 1}, "")))
    for size in range((characters - empty) * 3 // 4 - 4, characters):
        if len(header(with_discovery(quoted(), {"a": 1}, "x" * size))) == characters:
            return "x" * size
    raise AssertionError("no text makes the header so long")


def test_a_header_has_7900_characters_at_most() -> None:
    whole = with_discovery(quoted(), {"a": 1}, filled(7_900))
    assert (len(header(whole)), "output" in whole["extensions"]["bazaar"]["info"]) == (7_900, True)
    more = with_discovery(quoted(), {"a": 1}, filled(7_900) + "xxx")
    assert "output" not in more["extensions"]["bazaar"]["info"]


def test_terms_that_fill_the_header_alone_stand_without_an_example() -> None:
    long = quoted(url="https://market.example/" + "x" * 6_000)
    assert with_discovery(long, {"a": 1}, None) == long


def test_a_header_is_standard_base64_of_json() -> None:
    assert header({"a": [1, "é"]}) == b64encode('{"a":[1,"é"]}'.encode()).decode()


@pytest.mark.parametrize(
    ("network", "older"),
    [("eip155:84532", "base-sepolia"), ("eip155:8453", "base"), ("eip155:31337", "eip155:31337")],
)
def test_each_version_hears_its_own_name_of_the_network(network: str, older: str) -> None:
    paid = {"transaction": "0xab", "network": network, "payer": "0xcd", "amount": 10_000}
    told = [json.loads(b64decode(one)) for one in settled_headers(paid)]
    same = {"success": True, "transaction": "0xab", "payer": "0xcd", "amount": "10000"}
    assert told == [same | {"network": network}, same | {"network": older}]
