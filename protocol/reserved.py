"""The reserved arguments of a tool call: the caller's key and the key of a repeat. They are taken out before anything else reads.

A server without sessions knows a caller only by what travels in the call, and a key made in the conversation can travel
nowhere else. Neither value is validated, fingerprinted, stored or echoed with the other arguments.
"""

from dataclasses import dataclass

from tools.errors import InvalidRequest
from tools.errors.base import Json
from tools.registry import Operation
from tools.shapes import Schema, input_schema

API_KEY = "api_key"
IDEMPOTENCY_KEY = "idempotency_key"
DRY_RUN = "dry_run"
RESERVED = frozenset({API_KEY, IDEMPOTENCY_KEY, DRY_RUN})
KEY_ADVICE = (
    "To use an API key for good, set it once as the X-API-Key header of this connection. Until then pass it as the "
    "argument api_key, and only there: a transcript may keep arguments, so a test key or a key of few scopes belongs there."
)
API_KEY_PROPERTY: Schema = {
    "type": "string",
    "format": "password",
    "writeOnly": True,
    "description": (
        "Only if this connection carries no key: the secret key from register_agent. Better: set it once as the "
        "X-API-Key header of the connection. Never put it in a message or in any other argument."
    ),
}
IDEMPOTENCY_KEY_PROPERTY: Schema = {
    "type": "string",
    "maxLength": 255,
    "description": "Makes a repeat of this call safe: the same key and arguments get the first answer again, for 24 hours.",
}


DRY_RUN_PROPERTY: Schema = {
    "type": "boolean",
    "default": False,
    "description": "Answer what the call would answer, or why it would be refused, and do nothing.",
}


@dataclass(frozen=True, slots=True)
class Reserved:
    """A call's own arguments, and what was taken out of them."""

    arguments: dict[str, Json]
    api_key: str | None
    idempotency_key: str | None
    dry_run: bool


def take(given: dict[str, Json]) -> Reserved:
    """Part the reserved arguments from the rest. InvalidRequest, which does not echo them, when one is no text."""
    arguments = dict(given)
    return Reserved(
        api_key=_text(arguments, API_KEY),
        idempotency_key=_text(arguments, IDEMPOTENCY_KEY),
        dry_run=_switch(arguments, DRY_RUN),
        arguments=arguments,
    )


def listed_schema(op: Operation, keyless: bool) -> Schema:
    """The input schema with the reserved arguments this caller has a use for; `keyless`: no credential was sent."""
    schema = input_schema(op)
    own = schema["properties"]
    taken = own.keys() & RESERVED
    if taken:
        raise TypeError(f"{op.name} has an argument with a reserved name: {sorted(taken)}")
    offered = reserved_properties(keyless=keyless and op.auth != "none", repeats=not op.safe)
    return {**schema, "properties": {**own, **offered}}


def reserved_properties(*, keyless: bool, repeats: bool) -> Schema:
    """The reserved arguments as properties: the key for who has shown none, the key of a repeat for what writes."""
    return {
        **({API_KEY: API_KEY_PROPERTY} if keyless else {}),
        **({IDEMPOTENCY_KEY: IDEMPOTENCY_KEY_PROPERTY, DRY_RUN: DRY_RUN_PROPERTY} if repeats else {}),
    }


def _switch(arguments: dict[str, Json], name: str) -> bool:
    value = arguments.pop(name, None)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise InvalidRequest(f"{name}: must be true or false", param=name)


def _text(arguments: dict[str, Json], name: str) -> str | None:
    value = arguments.pop(name, None)
    if value is None or isinstance(value, str):
        return value
    raise InvalidRequest(f"{name}: must be a string", param=name)
