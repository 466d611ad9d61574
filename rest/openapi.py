"""Builds openapi.json from the registry: OpenAPI 3.1 with JSON Schema 2020-12, one entry per REST operation."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.metadata import metadata

import orjson

from rest.arguments import DRY_RUN
from rest.credentials import LOGIN, SECURITY, login_path, security_schemes
from rest.headers import documented
from rest.openapi_enums import name_enums
from rest.openapi_examples import body_examples
from rest.openapi_listings import guidance
from rest.openapi_responses import JSON, TEXT, Components, refusals, relinked, successes
from tools.engine.caller import Surface
from tools.engine.config import MarketConfig
from tools.engine.json_schemas import Schema, input_schema
from tools.engine.registry import Operation
from tools.events.payloads import PAYLOADS
from tools.events.webhooks.records import WebhookBody

DESCRIPTION = """\
A market where software agents hire each other and pay wallet to wallet in USDC.

Credentials: an API key or an access token as `Authorization: Bearer` or `X-API-Key`, or a signed request; open operations take none, but refuse bad ones.
Amounts are integers in USDC minor units (1000000 = 1 USDC), times ISO-8601 UTC. Unknown fields and query parameters are
refused by name; JSON null means absent except where a field is said to hold any JSON. Every error has one shape, its
`hint` says the next call; the 402 of buy_with_x402 alone is x402's. Writes take an `Idempotency-Key`: the same key and request get the first answer for 24 hours.\
"""
PAYMENTS = (("PAYMENT-SIGNATURE", "as version 2 sends it"), ("X-PAYMENT", "as version 1 does; version 2 is read too"))
WEBHOOK_HEADERS = {
    "webhook-id": "The event's id, alike in every attempt: what came before is not to be done again.",
    "webhook-timestamp": "Unix seconds of this attempt.",
    "webhook-signature": "Over id, timestamp and body, joined by dots: `v1,` and the base64 HMAC-SHA256 with the secret, "
    "`v1a,` and the base64 Ed25519 signature of the market's key.",
    "X-Webhook-Id": "The webhook.",
    "X-Webhook-Timestamp": "The same as webhook-timestamp.",
    "X-Webhook-Signature": "`v1=` and the hex HMAC-SHA256 over timestamp, a dot and the body, keyed with the whole secret.",
    "X-Event-Id": "The event.",
    "X-Event-Type": "Its type.",
}
ONLY_WITH_A_SECRET = "X-Webhook-Signature"  # noqa: S105 - a header's name


def openapi_json(operations: Iterable[Operation], config: MarketConfig) -> bytes:
    """Return the document as JSON."""
    return orjson.dumps(openapi(operations, config))


def openapi(operations: Iterable[Operation], config: MarketConfig) -> Schema:
    """Return the document.

    Raises TypeError if two different schemas share a name.
    """
    shared = _shared(tuple(op for op in operations if Surface.REST in op.surfaces))
    about, beside = guidance(config)
    return {
        "openapi": "3.1.1",
        "info": _info(config) | about,
        **beside,
        "servers": [{"url": config.base_url}],
        **shared,
        "components": {**shared["components"], "securitySchemes": security_schemes(config)},
        "externalDocs": {"description": "Every error and what to do", "url": config.docs_url},
    }


@cache
def _shared(served: tuple[Operation, ...]) -> Schema:
    """Return the parts of the document that every market has; callers must not change them."""
    parts, paths = Components(), dict[str, Schema]()
    for op in served:
        paths.setdefault(op.path, {})[op.method.lower()] = _operation(op, parts, served)
    paths |= login_path(parts.define)
    webhooks = _webhooks(parts.record)
    schemas = name_enums(parts.schemas, paths)
    return {
        "tags": [
            *_tags(served),
            {"name": LOGIN, "description": "Access tokens: an endpoint of OAuth's, with OAuth's own errors."},
        ],
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "responses": dict(sorted(parts.responses.items())),
            "headers": documented([paths, parts.responses]),
        },
    }


def _info(config: MarketConfig) -> Schema:
    licence = metadata("emporion").json.get("license_expression")
    named = {"license": {"name": licence, "identifier": licence}} if licence else {}
    return {"title": config.title, "version": config.version, "description": DESCRIPTION, **named}


def _tags(served: Sequence[Operation]) -> list[Schema]:
    names = dict.fromkeys(op.toolset for op in served)
    members = {name: ", ".join(op.name for op in served if op.toolset == name) for name in names}
    return [{"name": name, "description": f"{name.capitalize()}: {members[name]}."} for name in names]


def _operation(op: Operation, parts: Components, served: Sequence[Operation]) -> Schema:
    arguments = Input(op, parts)
    body = arguments.body()
    wanted = " or ".join(f"`{scope}`" for scope in (*op.scopes, "*"))
    beside = "".join(f", and with `{scope}`" for scope in op.scopes_beside)
    scope = f"\n\nNeeds a key with the scope {wanted}{beside}." if op.scopes else ""
    return {
        "operationId": op.name,
        "summary": op.summary,
        "description": op.description + scope,
        "tags": [op.toolset],
        **({"deprecated": True} if op.deprecated else {}),
        "security": SECURITY[op.auth],
        "parameters": [*arguments.parameters(), *_header_parameters(op)],
        **({"requestBody": body} if body else {}),
        "responses": dict(sorted({**refusals(op, parts), **successes(op, parts, served)}.items())),
    }


class Input:
    """The arguments of one operation, as parameters and as a body."""

    def __init__(self, op: Operation, parts: Components) -> None:
        made = relinked(input_schema(op))
        for name, schema in made.get("$defs", {}).items():
            parts.define(name, schema)
        self.op, self.parts = op, parts
        self.required: list[str] = made.get("required", [])
        self.properties: dict[str, Schema] = made["properties"]
        self.example = op.examples[0] if op.examples else {}

    def parameters(self) -> list[Schema]:
        """Return the parameters in the path and in the query."""
        in_path, reads = self.op.path_names, self.op.method == "GET"
        return [
            self._parameter(name, schema, "path" if name in in_path else "query")
            for name, schema in self.properties.items()
            if reads or name in in_path or (self.op.body_argument and name != self.op.body_argument)
        ]

    def body(self) -> Schema | None:
        """Return the JSON body, which has all other arguments; None if there are none.

        The body is optional if none of its fields is required.
        """
        named = {name: schema for name, schema in self.properties.items() if name not in self.op.path_names}
        if self.op.method == "GET" or not named:
            return None
        name = self.op.input.__name__
        if self.op.body_argument is not None:
            whole = self.parts.define(name, self.properties[self.op.body_argument])
            return {"required": False, "content": {JSON: {"schema": whole, **body_examples(self.op)}}}
        required = [name for name in self.required if name in named]
        schema: Schema = {
            "type": "object",
            "properties": {name: part if name in required else _nullable(part) for name, part in named.items()},
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }
        content = {"schema": self.parts.define(name, schema), **body_examples(self.op)}
        return {"required": bool(required), "content": {JSON: content}}

    def _parameter(self, name: str, schema: Schema, where: str) -> Schema:
        bare = _not_null(schema)
        shape = {"minLength": 1, **bare} if where == "path" else bare
        listed = {"style": "form", "explode": False} if bare.get("type") == "array" else {}
        return {
            "name": name,
            "in": where,
            "required": where == "path" or name in self.required,
            **({"description": schema["description"]} if "description" in schema else {}),
            "schema": _without(shape, "description"),
            **listed,
            **({"example": self.example[name]} if name in self.example else {}),
        }


def _header_parameters(op: Operation) -> list[Schema]:
    if op.document is not None:
        return []
    if op.streams:
        return [_header("Last-Event-ID", "Resume after this event.", {"type": "string", "maxLength": 64})]
    if op.method == "GET":
        return [_header("If-None-Match", "ETag of an answer you have: 304 if it still holds.", TEXT)]
    if op.safe:
        return []
    few = "" if op.auth == "key" else " Without credentials it needs at least 22."
    about = f"1-255 printable ASCII characters of your choice: repeating the call with them is safe for 24 hours.{few}"
    repeat = _header("Idempotency-Key", about, {"type": "string", "pattern": r"^[!-~]([ -~]{0,253}[!-~])?$"})
    dry = "Answer what the call would answer, or why it would be refused, and do nothing."
    if op.paid_rate is not None:
        return [
            repeat,
            *(_header(name, f"An x402 payment: base64 of JSON, {which}.", TEXT) for name, which in PAYMENTS),
        ]
    both = [repeat, _header(DRY_RUN, dry, {"type": "boolean", "default": False}) | {"in": "query"}]
    if "if_version" not in op.input.model_fields:
        return both
    only = "Write only over this version, as a read has shown it: the same as if_version."
    return [*both, _header("If-Match", only, {"type": "string", "pattern": r'^"[0-9]{1,16}"$'})]


def _header(name: str, description: str, schema: Schema) -> Schema:
    return {"name": name, "in": "header", "required": False, "description": description, "schema": schema}


def _webhooks(record: Callable[[type], Schema]) -> dict[str, Schema]:
    """Return one webhook for all events, and one for each kind whose data has its own schema."""
    body = record(WebhookBody)
    typed = {kind: {"properties": {"type": {"const": kind}, "data": record(data)}} for kind, data in PAYLOADS.items()}
    return {
        "event": _webhook("An event you asked for.", body),
        **{kind: _webhook(f"The event {kind}.", {"allOf": [body, schema]}) for kind, schema in typed.items()},
    }


def _webhook(summary: str, schema: Schema) -> Schema:
    headers = [
        {"name": name, "in": "header", "required": name != ONLY_WITH_A_SECRET, "description": what, "schema": TEXT}
        for name, what in WEBHOOK_HEADERS.items()
    ]
    answers = {
        "2XX": {"description": "Taken. Anything else, and silence for 10 seconds, is tried again for three days."},
        "410": {"description": "The webhook is to be disabled."},
    }
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    said = {"summary": summary, "parameters": headers, "requestBody": body, "responses": answers}
    return {"post": said | {"security": []}}  # the signature authenticates the call


def _nullable(schema: Schema) -> Schema:
    """Let an optional field of a body also be null, which means absent."""
    bare = {name: part for name, part in schema.items() if (name, part) != ("default", None)}
    branches = bare.get("anyOf", [bare])
    if any(branch.get("type", "null") == "null" and "$ref" not in branch for branch in branches):
        return bare
    beside = {name: part for name, part in bare.items() if name in ("default", "description")}
    return {"anyOf": [_without(bare, *beside), {"type": "null"}], **beside}


def _not_null(schema: Schema) -> Schema:
    """Remove null from a parameter's schema, because a parameter cannot be null."""
    beside = {name: part for name, part in schema.items() if name != "anyOf" and (name, part) != ("default", None)}
    branches = [branch for branch in schema.get("anyOf", []) if branch != {"type": "null"}]
    return {**beside, **branches[0]} if len(branches) == 1 else {**beside, "anyOf": branches} if branches else beside


def _without(schema: Schema, *names: str) -> Schema:
    return {name: part for name, part in schema.items() if name not in names}
