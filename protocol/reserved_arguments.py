"""The reserved arguments of tool calls: the API key, the idempotency key, dry_run and detail. They are taken out first.

A server without sessions knows a caller only by what is in the call, and a key made in the conversation can be sent in
no other way. The two keys are not validated, fingerprinted, stored or echoed with the other arguments.
"""

from dataclasses import dataclass
from typing import Any

from protocol.brief import BRIEF, DETAIL, FULL, LIMIT, MAX_LISTED, NULL, cuts
from tools.engine.errors import InvalidRequest
from tools.engine.json_schemas import Schema, input_schema
from tools.engine.registry import Operation
from tools.kernel.errors import Json

API_KEY = "api_key"
IDEMPOTENCY_KEY = "idempotency_key"
DRY_RUN = "dry_run"
TEST_KEY_LIMITS = (
    "A test key lists, makes and revokes test keys only. If its agent has anything on live, it cannot delete the agent or change "
    "name, handle, endpoints, domains, evaluator seat or ERC-8004 link."
)
KEY_ADVICE = (
    "To use an API key permanently, set it once as the X-API-Key header of this connection. Until then pass it as the argument "
    f"api_key, and only there. A transcript may keep arguments, so only a test key belongs there. {TEST_KEY_LIMITS}"
)
DRY_RUN_TOLD = "This was a dry run: nothing was done, and what this answer would have made does not exist."
# Each tool has them, so they are described once, in RESERVED_TOLD, and not in each schema.
PROPERTIES: dict[str, Schema] = {
    DETAIL: {"enum": [BRIEF, FULL]},
    API_KEY: {"type": "string"},
    IDEMPOTENCY_KEY: {"type": "string"},
    DRY_RUN: {"type": "boolean"},
}
RESERVED_TOLD = (
    "Arguments that most tools take: api_key, your secret key, only if this connection carries none (better set it once as the "
    "X-API-Key header). idempotency_key: the same key and arguments get the first answer again for 24 hours, so a repeat is "
    "safe. dry_run: true only tells what the call would do. detail: full shortens nothing; brief cuts values over 16 KB, in lists over 1 KB."
)
RESERVED = frozenset(PROPERTIES)


@dataclass(frozen=True, slots=True)
class Reserved:
    """The operation's own arguments, and the reserved ones."""

    arguments: dict[str, Json]
    api_key: str | None
    idempotency_key: str | None
    dry_run: bool
    detail: str | None


def extract(arguments: dict[str, Json]) -> Reserved:
    """Separate the reserved arguments from the rest.

    Raises InvalidRequest for one with a wrong type or value, without echoing it.
    """
    arguments = dict(arguments)
    return Reserved(
        api_key=_take(arguments, API_KEY, str, "a string"),
        idempotency_key=_take(arguments, IDEMPOTENCY_KEY, str, "a string"),
        dry_run=bool(_take(arguments, DRY_RUN, bool, "true or false")),
        detail=_take(arguments, DETAIL, str, "a string", (BRIEF, FULL)),
        arguments=arguments,
    )


def listed_schema(op: Operation, is_anonymous: bool) -> Schema:
    """Return the input schema with the reserved arguments that this caller can use.

    `is_anonymous`: no credential was sent.
    """
    schema = without_nulls(input_schema(op))
    own = schema["properties"]
    if taken := own.keys() & RESERVED:
        raise TypeError(f"{op.name} has an argument with a reserved name: {sorted(taken)}")
    has_brief = LIMIT in own or any(map(cuts, op.output))
    repeats = not op.safe and op.paid_rate is None  # the payment itself makes a purchase safe to repeat
    offered = reserved_properties(is_anonymous=is_anonymous and op.auth != "none", repeats=repeats, cuts=has_brief)
    if LIMIT in own:
        own = {**own, LIMIT: own[LIMIT] | {"default": MAX_LISTED}}
    return {**schema, "properties": {**own, **offered}}


def without_nulls(schema: Any) -> Any:
    """Return a schema with fewer tokens, in which optional members are left out, never null."""
    if isinstance(schema, list):
        return [without_nulls(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        name: without_nulls(value) for name, value in schema.items() if (name, value) != ("additionalProperties", True)
    }
    if "default" not in kept or kept["default"] is not None:
        return kept
    del kept["default"]
    choices = [choice for choice in kept.pop("anyOf", []) if choice != NULL]
    return {**choices[0], **kept} if len(choices) == 1 else {**kept, **({"anyOf": choices} if choices else {})}


def reserved_properties(*, is_anonymous: bool, repeats: bool, cuts: bool) -> Schema:
    """Return the schemas of the reserved arguments.

    Anonymous callers can send their key, and operations that write (`repeats`) an idempotency key.
    """
    offered = {DETAIL: cuts, API_KEY: is_anonymous, IDEMPOTENCY_KEY: repeats, DRY_RUN: repeats}
    return {name: PROPERTIES[name] for name, is_offered in offered.items() if is_offered}


def _take(arguments: dict[str, Json], name: str, kind: type, must_be: str, choices: tuple[str, ...] = ()) -> Any:
    value = arguments.pop(name, None)
    if value is not None and not isinstance(value, kind):
        raise InvalidRequest(f"{name}: must be {must_be}", param=name)
    if value is not None and choices and value not in choices:
        raise InvalidRequest(f"{name}: must be one of {', '.join(choices)}", param=name)
    return value
