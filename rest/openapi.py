"""Builds openapi.json from the registry: OpenAPI 3.1 with JSON Schema 2020-12, one entry per REST operation."""

import inspect
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import metadata
from typing import Any

import orjson

from rest.arguments import DRY_RUN
from rest.credentials import LOGIN, SECURITY, login_path, security_schemes
from rest.headers import QUOTA, documented, headers_named
from rest.links import SCHEMAS, links_of
from rest.webhooks import webhook_entries
from tools.catalogue import every_error
from tools.engine.caller import Surface
from tools.engine.config import MarketConfig
from tools.engine.errors import (
    COMMON,
    AsksPayment,
    Forbidden,
    HeadersTooLarge,
    HostNotAllowed,
    IdempotencyKeyReused,
    InternalError,
    InvalidIdempotencyKey,
    OriginNotAllowed,
    PayloadTooLarge,
    UnsupportedMediaType,
)
from tools.engine.registry import Operation
from tools.kernel.errors import MarketError
from tools.kernel.records import Untitled, record_schema

Schema = dict[str, Any]
Responses = dict[str, Schema]
REF = SCHEMAS + "{model}"
JSON = "application/json"
Refusal = type[MarketError]
BOUNDS = (HostNotAllowed, OriginNotAllowed, PayloadTooLarge, UnsupportedMediaType, HeadersTooLarge)
ANYWHERE: tuple[Refusal, ...] = (*COMMON, *BOUNDS, InternalError)
ONLY_WRITES: frozenset[Refusal] = frozenset({InvalidIdempotencyKey, IdempotencyKeyReused})
DESCRIPTION = """\
A market where software agents hire each other and pay wallet to wallet in USDC.

Credentials: an API key or an access token as `Authorization: Bearer` or `X-API-Key`, or a signed request; open operations take none, but refuse bad ones.
Amounts are integers in USDC minor units (1000000 = 1 USDC), times ISO-8601 UTC. Unknown fields and query parameters are
refused by name; JSON null means absent except where a field is said to hold any JSON. Every error has one shape, its
`hint` says the next call; the 402 of buy_with_x402 alone is x402's. Writes take an `Idempotency-Key`: the same key and request get the first answer for 24 hours.\
"""
TEXT: Schema = {"type": "string"}
PAYMENTS = (("PAYMENT-SIGNATURE", "as version 2 sends it"), ("X-PAYMENT", "as version 1 does; version 2 is read too"))


def openapi_json(operations: Iterable[Operation], config: MarketConfig) -> bytes:
    """Return the document as JSON."""
    return orjson.dumps(openapi(operations, config))


def openapi(operations: Iterable[Operation], config: MarketConfig) -> Schema:
    """Return the document.

    Raises TypeError if two different schemas share a name.
    """
    shared = _shared(tuple(op for op in operations if Surface.REST in op.surfaces))
    return {
        "openapi": "3.1.1",
        "info": _info(config),
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
    paths |= login_path()
    return {
        "tags": [
            *_tags(served),
            {"name": LOGIN, "description": "Access tokens: an endpoint of OAuth's, with OAuth's own errors."},
        ],
        "paths": paths,
        "webhooks": webhook_entries(parts.record),
        "components": {
            "schemas": dict(sorted(parts.schemas.items())),
            "responses": dict(sorted(parts.responses.items())),
            "headers": documented([paths, parts.responses]),
        },
    }


class Components:
    """Schemas and responses that several operations share, each defined once."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {"Error": _error_schema()}
        self.responses: Responses = {}

    def define(self, name: str, schema: Schema) -> Schema:
        if self.schemas.setdefault(name, schema) != schema:
            raise TypeError(f"two different schemas are called {name}")
        return {"$ref": SCHEMAS + name}

    def record(self, kind: type) -> Schema:
        """Return a reference to the schema of an answered record.

        All its fields are always written, so all are required.
        """
        made = dict(record_schema(kind))
        for name, schema in made.pop("$defs", {}).items():
            self.define(name, _whole(_relinked(schema)))
        return _relinked(made) if "$ref" in made else self.define(kind.__name__, _whole(_relinked(made)))

    def refusal(self, errors: list[Refusal]) -> Schema:
        """Return the response of one status.

        If a single error has this status, all operations share the response.
        """
        if len(errors) > 1:
            return _refusal(errors)
        name = errors[0].__name__
        self.responses.setdefault(name, _refusal(errors))
        return {"$ref": f"#/components/responses/{name}"}


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
        "responses": dict(sorted({**_refusals(op, parts), **_successes(op, parts, served)}.items())),
    }


class Input:
    """The arguments of one operation, as parameters and as a body."""

    def __init__(self, op: Operation, parts: Components) -> None:
        made = op.input.model_json_schema(ref_template=REF, schema_generator=Untitled)
        for name, schema in made.get("$defs", {}).items():
            parts.define(name, _without(schema, "title"))
        self.op, self.parts = op, parts
        self.required: list[str] = made.get("required", [])
        self.properties: dict[str, Schema] = made.get("properties", {})
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
        if self.op.body_argument is not None:
            return {"required": False, "content": {JSON: {"schema": self.properties[self.op.body_argument]}}}
        required = [name for name in self.required if name in named]
        schema: Schema = {
            "type": "object" if required else ["object", "null"],  # null is read as {}
            "properties": {name: part if name in required else _nullable(part) for name, part in named.items()},
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }
        content = {"schema": self.parts.define(self.op.input.__name__, schema), **self._body_examples(named)}
        return {"required": bool(required), "content": {JSON: content}}

    def _body_examples(self, named: dict[str, Schema]) -> Schema:
        shown = [{name: value for name, value in example.items() if name in named} for example in self.op.examples]
        return {"examples": {f"example{at}": {"value": value} for at, value in enumerate(shown, 1)}} if shown else {}

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


def _successes(op: Operation, parts: Components, served: Sequence[Operation]) -> Responses:
    if op.document is not None:
        what, schema = inspect.getdoc(op.document), parts.record(op.document)
        return {"200": {"description": what, "headers": headers_named(), "content": {JSON: {"schema": schema}}}}
    if op.streams:
        what = "Server-sent events; the id of each resumes after it."
        return {
            "200": {"description": what, "headers": headers_named(), "content": {"text/event-stream": {"schema": TEXT}}}
        }
    records = [kind for kind in op.output if not _asks(kind)]
    shapes = [parts.record(kind) for kind in records]
    reads = op.method == "GET"
    kept = ("ETag",) if reads else () if op.safe else ("Idempotent-Replayed", "Dry-Run")
    kept = kept if op.paid_rate is None else ("Idempotent-Replayed", "PAYMENT-RESPONSE")
    links = links_of(op, shapes[0], parts.schemas, served)
    notice = ("Deprecation", "Sunset") if op.deprecated else ()
    done: Schema = {
        "description": inspect.getdoc(records[0]) or records[0].__name__,
        "headers": headers_named(*QUOTA, *kept, *notice),
        "content": {JSON: {"schema": shapes[0] if len(shapes) == 1 else {"anyOf": shapes}}},
        **({"links": links} if links else {}),
    }
    unchanged = {"304": {"description": "What If-None-Match names still holds.", "headers": headers_named("ETag")}}
    return {str(op.status): done, **(unchanged if reads else {})}


def _refusals(op: Operation, parts: Components) -> Responses:
    """Return one response per status that the operation, the market or the edge may refuse with.

    Terms of payment are in the response of their own status.
    """
    by_status: dict[int, list[Refusal]] = {}
    for error in dict.fromkeys((*op.errors, *ANYWHERE)):
        if (error is Forbidden and not op.scopes) or (error in ONLY_WRITES and op.safe):
            continue
        by_status.setdefault(error.status, []).append(error)
    answers = {str(status): parts.refusal(errors) for status, errors in by_status.items()}
    for kind in op.output:
        asks = _asks(kind)
        if asks is not None:
            others = [error for error in by_status.get(asks.status, []) if error is not asks]
            record = parts.record(kind)
            answers[str(asks.status)] = _terms(record, asks, others) if op.paid_rate is None else _quoted(kind, record)
    return answers


def _terms(record: Schema, asks: Refusal, others: list[Refusal]) -> Schema:
    """Return the response of terms beside their error, or of another error of the status."""
    shapes = [{"allOf": [record, _coded([asks])]}, *([_coded(others)] if others else [])]
    made = _refusal([asks, *others])
    return {**made, "content": {JSON: {"schema": shapes[0] if len(shapes) == 1 else {"anyOf": shapes}}}}


def _quoted(kind: type, record: Schema) -> Schema:
    """Return the response of terms in x402's own format, in which `error` is a text."""
    headers = headers_named(*QUOTA, "PAYMENT-REQUIRED")
    return {"description": inspect.getdoc(kind), "headers": headers, "content": {JSON: {"schema": record}}}


def _refusal(errors: list[Refusal]) -> Schema:
    waits = any(error.retryable for error in errors)
    unknown = errors[0].status == 401
    more = (*QUOTA, *(("Retry-After",) if waits else ()), *(("WWW-Authenticate",) if unknown else ()))
    return {
        "description": "\n".join(f"{error.code}: {inspect.getdoc(error)}" for error in errors),
        "headers": headers_named(*more),
        "content": {JSON: {"schema": _coded(errors)}},
    }


def _coded(errors: list[Refusal]) -> Schema:
    codes = {"code": {"enum": sorted(error.code for error in errors)}}
    narrow = {"type": "object", "properties": {"error": {"type": "object", "properties": codes}}}
    return {"allOf": [{"$ref": SCHEMAS + "Error"}, narrow]}


def _error_schema() -> Schema:
    known = every_error()
    fields: Schema = {
        "type": {"enum": sorted({error.type for error in known})},
        "code": {"type": "string", "description": "names the error; each is described at docs"},
        "message": {"type": "string", "description": "what is wrong"},
        "hint": {"type": "string", "description": "what to do next"},
        "param": {"type": "string", "description": "the offending field"},
        "docs": {"type": "string", "format": "uri"},
        "request_id": {"type": "string"},
        "retryable": {"type": "boolean", "description": "the same call can work later"},
        "details": {"type": "object", "description": "what a program needs: violations, retry_after_seconds, reason …"},
        "next_steps": {"type": "array", "items": {"type": "object"}, "description": "calls that help, filled in"},
    }
    always = ["type", "code", "message", "docs", "request_id", "retryable"]
    error = {"type": "object", "required": always, "properties": fields}
    return {"type": "object", "description": "A refusal.", "required": ["error"], "properties": {"error": error}}


def _asks(kind: type) -> Refusal | None:
    """Return the error that is sent with a record of terms; None for other records."""
    return kind.asks if issubclass(kind, AsksPayment) else None


def _relinked(schema: Any) -> Any:
    """Replace references to local definitions by references to components."""
    if isinstance(schema, list):
        return [_relinked(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: SCHEMAS + part.removeprefix("#/$defs/") if name == "$ref" and isinstance(part, str) else _relinked(part)
        for name, part in schema.items()
    }


def _whole(schema: Schema) -> Schema:
    return {**schema, "required": list(schema["properties"])} if "properties" in schema else schema


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
