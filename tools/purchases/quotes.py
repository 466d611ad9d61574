"""x402 quotes: the terms of a purchase for a client that has not paid, in version 2 and in version 1.

Source: the x402 specification, versions 1 and 2, transport HTTP; its extension `bazaar` describes the call.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import orjson

from tools.chain.x402_payload import JSON_TYPE, SCHEME, SECONDS, VERSION, Token, requirements
from tools.chain.x402_payments import V1_NETWORKS
from tools.kernel.strict_json import Json

MAX_HEADER = 7_900  # characters of the header, because clients and proxies accept 8 KB
MAX_NAME, MAX_TAGS, MAX_DESCRIPTION = 32, 5, 300
_V1_NAMES = {caip: name for name, caip in V1_NETWORKS.items()}


def quote(
    token: Token, *, url: str, title: str, brand: str, tags: list[str], pay_to: str, amount: int, why: str
) -> dict[str, Any]:
    """Return PaymentRequired of version 2: `amount` minor units for one call of `url`."""
    resource = {
        "url": url,
        "description": title[:MAX_DESCRIPTION],
        "mimeType": JSON_TYPE,
        "serviceName": _plain(brand),
        "tags": [_plain(tag) for tag in tags[:MAX_TAGS]],
    }
    accepted = requirements(token, pay_to, amount)
    return {"x402Version": VERSION, "error": why, "resource": resource, "accepts": [accepted]}


def with_discovery(terms: dict[str, Any], example_input: Json, example_output: Json) -> dict[str, Any]:
    """Add an example of the call and of its answer, as far as both fit into a header."""
    for given, answered in ((example_input, example_output), (example_input, None), ({}, None)):
        told = terms | {"extensions": {"bazaar": _bazaar(given, answered)}}
        if len(header(told)) <= MAX_HEADER:
            return told
    return terms


def header(body: Json) -> str:
    """Encode JSON as in x402 headers: standard base64."""
    return b64encode(orjson.dumps(body)).decode()


def version_1(terms: dict[str, Any]) -> dict[str, Any]:
    """Return the same terms in version 1, whose clients read them from the body.

    There `error` is a text.
    """
    resource, (accepted,) = terms["resource"], terms["accepts"]
    same = {
        "scheme": SCHEME,
        "network": _V1_NAMES.get(accepted["network"], accepted["network"]),
        "maxAmountRequired": accepted["amount"],
        "resource": resource["url"],
        "description": resource["description"],
        "mimeType": JSON_TYPE,
        "payTo": accepted["payTo"],
        "maxTimeoutSeconds": SECONDS,
        "asset": accepted["asset"],
        "extra": accepted["extra"],
    }
    return {"x402Version": 1, "error": terms["error"], "accepts": [same]}


def receipt(paid: Mapping[str, Json]) -> dict[str, Json]:
    """Return x402's SettlementResponse for the `paid` of a result."""
    return {
        "success": True,
        **{name: paid[name] for name in ("transaction", "network", "payer")},
        "amount": str(paid["amount"]),
    }


def settled_headers(paid: Mapping[str, Json]) -> tuple[str, str]:
    """Return the headers PAYMENT-RESPONSE and X-PAYMENT-RESPONSE for the `paid` of a result.

    The second is for version 1, which has its own names of networks.
    """
    said, network = receipt(paid), str(paid["network"])
    return header(said), header({**said, "network": _V1_NAMES.get(network, network)})


def _bazaar(example_input: Json, example_output: Json) -> dict[str, Any]:
    info: dict[str, Any] = {
        "input": {"type": "http", "method": "POST", "bodyType": "json", "body": example_input or {}}
    }
    shape: dict[str, Any] = {
        "input": {
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
    }
    if example_output is not None:
        info["output"] = {"type": "json", "example": example_output}
        shape["output"] = {
            "type": "object",
            "properties": {"type": {"type": "string"}, "example": {}},
            "required": ["type"],
        }
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": shape,
        "required": ["input"],
    }
    return {"info": info, "schema": schema}


def _plain(text: str) -> str:
    """Return at most 32 printable ASCII characters, as the specification wants names and tags."""
    return "".join(one for one in text if " " <= one <= "~")[:MAX_NAME]
