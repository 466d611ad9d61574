"""The agent card (A2A 1.0), made from the registry and signed with the platform's key as a JWS over its RFC 8785 form."""

from base64 import urlsafe_b64encode
from collections.abc import Iterable
from typing import Any

import orjson

from tools.context import Surface
from tools.house import House
from tools.ports import Signer
from tools.registry import Operation
from tools.rules.canonical import canonical
from tools.rules.keys import jwk_of

Card = dict[str, Any]
KINDS = ["application/json", "text/plain"]
WORKFLOWS = ("hire",)  # shown beside the toolsets where the market has them
MOST_EXAMPLES = 3
HOW = (
    'Send a message whose one data part is {"tool": <name>, "arguments": {…}}; the answer is a message with the record, or '
    'with {"error": …}, as its data part. A key goes into the header Authorization: Bearer or X-API-Key, or into the '
    "message's metadata as api_key; metadata idempotency_key makes a repeat safe."
)


def card_json(house: House, operations: Iterable[Operation], signer: Signer) -> bytes:
    """The public card as it is served: one skill per toolset, and the workflows."""
    return orjson.dumps(signed(public_card(house, operations), house.base_url, signer))


def public_card(house: House, operations: Iterable[Operation]) -> Card:
    """The unsigned public card: pure 1.0, no empty member."""
    offered = [op for op in operations if Surface.A2A in op.surfaces]
    toolsets: dict[str, list[Operation]] = {}
    for op in offered:
        toolsets.setdefault(op.toolset, []).append(op)
    workflows = [_skill_of(op) for op in offered if op.name in WORKFLOWS]
    return _card(house, [*(_skill_of_all(name, ops) for name, ops in toolsets.items()), *workflows])


def extended_card(house: House, operations: Iterable[Operation]) -> Card:
    """The unsigned card for callers with a key: every operation is a skill."""
    return _card(house, [_skill_of(op) for op in operations if Surface.A2A in op.surfaces])


def signed(card: Card, base_url: str, signer: Signer) -> Card:
    """The card with its signature (A2A 1.0, 8.4): a detached JWS (RFC 7515, EdDSA of RFC 8037) over the card without it.

    The payload is the RFC 8785 form without empty members, so `card` must have none. The key is found in the JWKS by `kid`.
    """
    jwk = jwk_of(signer.public_key)
    header = {"alg": jwk["alg"], "kid": jwk["kid"], "jku": f"{base_url}/.well-known/jwks.json", "typ": "JOSE"}
    protected, payload = _base64url(orjson.dumps(header)), _base64url(canonical(card))
    signature = _base64url(signer.sign(f"{protected}.{payload}".encode()))
    return {**card, "signatures": [{"protected": protected, "signature": signature}]}


def example_of(op: Operation) -> dict[str, Any]:
    """A data part that calls the operation; where the registry has no example, required arguments are marked by name."""
    if op.examples:
        return {"tool": op.name, "arguments": op.examples[0]}
    required = [name for name, argument in op.input.model_fields.items() if argument.is_required()]
    return {"tool": op.name, "arguments": {name: f"<{name}>" for name in required}}


def _card(house: House, skills: list[Card]) -> Card:
    url = f"{house.base_url}/a2a"
    return {
        "name": house.brand,
        "description": f"A market where software agents hire each other and pay wallet to wallet in USDC. {HOW}",
        "version": house.version,
        "provider": {"organization": house.brand, "url": house.base_url},
        "documentationUrl": f"{house.base_url}/llms.txt",
        "supportedInterfaces": [
            {"url": url, "protocolBinding": binding, "protocolVersion": "1.0"} for binding in ("JSONRPC", "HTTP+JSON")
        ],
        "capabilities": {"streaming": True, "pushNotifications": False, "extendedAgentCard": True},
        "securitySchemes": {
            "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer", "description": "An API key of this market."}},
            "apiKey": {"apiKeySecurityScheme": {"location": "header", "name": "X-API-Key"}},
        },
        "defaultInputModes": KINDS,
        "defaultOutputModes": KINDS,
        "skills": skills,
    }


def _skill_of_all(toolset: str, ops: list[Operation]) -> Card:
    shown = sorted(ops, key=lambda op: not op.examples)[:MOST_EXAMPLES]
    return {
        "id": toolset,
        "name": toolset.replace("_", " ").capitalize(),
        "description": "\n".join(f"{op.name}: {op.summary}" for op in ops),
        "tags": [toolset],
        "examples": [_written(op) for op in shown],
    }


def _skill_of(op: Operation) -> Card:
    needs = "\n\nNeeds an API key." if op.auth == "key" else ""
    return {
        "id": op.name,
        "name": op.title,
        "description": op.description + needs,
        "tags": [op.toolset, "read" if op.safe else "write"],
        "examples": [_written(op)],
    }


def _written(op: Operation) -> str:
    return orjson.dumps(example_of(op)).decode()


def _base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
