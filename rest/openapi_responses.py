"""The answers of an operation in openapi.json: its records with links, its errors, and the schemas they share."""

import inspect
from collections.abc import Sequence

import orjson

from rest.headers import QUOTA, headers_named
from rest.openapi_examples import answer_example
from tools.catalogue import every_error
from tools.engine import errors as common
from tools.engine.json_schemas import Schema
from tools.engine.registry import Operation
from tools.kernel.errors import MarketError
from tools.kernel.records import record_schema

Responses = dict[str, Schema]
Refusal = type[MarketError]
SCHEMAS = "#/components/schemas/"
JSON = "application/json"
TEXT: Schema = {"type": "string"}
ERROR_REF: Schema = {"$ref": SCHEMAS + "Error"}
ERROR: Schema = {
    "type": "object",
    "description": "The answer of every refused call; `x-codes` of the response has the codes.",
    "required": ["error"],
    "properties": {"error": {"$ref": SCHEMAS + "Refusal"}},
}
ANYWHERE: tuple[Refusal, ...] = (
    *common.COMMON, common.HostNotAllowed, common.OriginNotAllowed, common.PayloadTooLarge,
    common.UnsupportedMediaType, common.HeadersTooLarge, common.InternalError,
)  # fmt: skip
ONLY_WRITES = (common.InvalidIdempotencyKey, common.IdempotencyKeyReused)


class Components:
    """Schemas and responses that several operations share, each defined once."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {"Error": ERROR, "Refusal": _refusal_schema()}
        self.responses: Responses = {}

    def define(self, name: str, schema: Schema) -> Schema:
        if self.schemas.setdefault(name, schema) != schema:
            raise TypeError(f"two different schemas are called {name}")
        return {"$ref": SCHEMAS + name}

    def record(self, kind: type) -> Schema:
        """Return a reference to the schema of an answered record.

        All its fields are always written, so all are required.
        """
        made = relinked(record_schema(kind))
        for name, schema in made.pop("$defs", {}).items():
            self.define(name, _whole(schema))
        return made if "$ref" in made else self.define(kind.__name__, _whole(made))

    def refusal(self, errors: list[Refusal]) -> Schema:
        """Return the response of one status.

        If a single error has this status, all operations share the response.
        """
        if len(errors) > 1:
            return _refusal(errors)
        name = errors[0].__name__
        self.responses.setdefault(name, _refusal(errors))
        return {"$ref": f"#/components/responses/{name}"}


def successes(op: Operation, parts: Components, served: Sequence[Operation]) -> Responses:
    """Return the response of a call that was carried out, and of a read that finds nothing new."""
    if op.document is not None:
        return {"200": _shown(op, _response(inspect.getdoc(op.document), parts.record(op.document)))}
    if op.streams:
        told = "Server-sent events; the id of each resumes after it."
        return {"200": _shown(op, _response(told, TEXT, kind="text/event-stream"))}
    records = [kind for kind in op.output if not _asks(kind)]
    shapes = [parts.record(kind) for kind in records]
    reads = op.method == "GET"
    kept = ("ETag",) if reads else () if op.safe else ("Idempotent-Replayed", "Dry-Run")
    kept = kept if op.paid_rate is None else ("Idempotent-Replayed", "PAYMENT-RESPONSE")
    notice = ("Deprecation", "Sunset") if op.deprecated else ()
    what = inspect.getdoc(records[0]) or records[0].__name__
    links = _links(op, shapes[0], parts.schemas, served)
    done = _shown(op, _response(what, _any_of(shapes), *QUOTA, *kept, *notice)) | ({"links": links} if links else {})
    unchanged = {"304": {"description": "What If-None-Match names still holds.", "headers": headers_named("ETag")}}
    found = (
        {"200": done | {"description": "An earlier call has made it: this is how it stands."}} if op.may_exist else {}
    )
    return {str(op.status): done, **found, **(unchanged if reads else {})}


def refusals(op: Operation, parts: Components) -> Responses:
    """Return one response per status that the operation, the market or the edge may refuse with.

    Terms of payment are in the response of their own status.
    """
    by_status: dict[int, list[Refusal]] = {}
    for error in dict.fromkeys((*op.errors, *ANYWHERE)):
        if (error is common.Forbidden and not op.scopes) or (error in ONLY_WRITES and op.safe):
            continue
        by_status.setdefault(error.status, []).append(error)
    answers = {str(status): parts.refusal(errors) for status, errors in by_status.items()}
    for kind in op.output:
        asks = _asks(kind)
        if asks is not None:
            others = [error for error in by_status.get(asks.status, []) if error is not asks]
            record = parts.record(kind)
            if op.paid_rate is None:  # terms beside their error, or another error of the status
                both = parts.define(f"{kind.__name__}WithError", _with_error(record))
                shapes = [both, *([ERROR_REF] if others else [])]
                answers[str(asks.status)] = _refusal([asks, *others], _any_of(shapes))
            else:  # terms in x402's own format, in which `error` is a text
                answers[str(asks.status)] = _response(inspect.getdoc(kind), record, *QUOTA, "PAYMENT-REQUIRED")
    return answers


def _response(what: str | None, schema: Schema, *headers: str, kind: str = JSON) -> Schema:
    return {"description": what, "headers": headers_named(*headers), "content": {kind: {"schema": schema}}}


def _shown(op: Operation, response: Schema) -> Schema:
    """Add the recorded answer as the example of a success."""
    (content,) = response["content"].values()
    content |= answer_example(op.name)
    return response


def _any_of(shapes: list[Schema]) -> Schema:
    return shapes[0] if len(shapes) == 1 else {"anyOf": shapes}


def _refusal(errors: list[Refusal], schema: Schema | None = None) -> Schema:
    what = "\n".join(f"{error.code}: {inspect.getdoc(error)}" for error in errors)
    waits = ("Retry-After",) if any(error.retryable for error in errors) else ()
    challenges = ("WWW-Authenticate",) if errors[0].status == 401 else ()
    refused = _response(what, schema or ERROR_REF, *QUOTA, *waits, *challenges)
    return refused | {"x-codes": sorted(error.code for error in errors)}


def _with_error(terms: Schema) -> Schema:
    return {"description": "Terms of payment, beside the error that asks for it.", "allOf": [terms, ERROR_REF]}


def _refusal_schema() -> Schema:
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
    return {"type": "object", "description": "Why a call is refused.", "required": always, "properties": fields}


def _asks(kind: type) -> Refusal | None:
    """Return the error that is sent with a record of terms; None for other records."""
    asks: Refusal | None = kind.asks if issubclass(kind, common.AsksPayment) else None
    return asks


def _links(op: Operation, shape: Schema, schemas: dict[str, Schema], served: Sequence[Operation]) -> Schema:
    """Return links from an answer to every GET whose path its ids can fill."""
    ids = _ids(shape, schemas)
    return {
        other.name: {
            "operationId": other.name,
            "parameters": {name: f"$response.body#{ids[name]}" for name in other.path_names},
        }
        for other in served
        if other.method == "GET" and other is not op and other.path_names and set(other.path_names) <= set(ids)
    }


def _ids(shape: Schema, schemas: dict[str, Schema]) -> dict[str, str]:
    """Return where an answer contains ids: argument name to JSON Pointer.

    These are its own id, ids in its fields, and ids of records inside it.
    """
    found = _own_id(shape, schemas, "")
    for name, schema in _properties(shape, schemas).items():
        if name.endswith("_id") and schema.get("type") == "string":
            found.setdefault(name, f"/{name}")
        for argument, pointer in _own_id(schema, schemas, f"/{name}").items():
            found.setdefault(argument, pointer)
    return found


def _own_id(shape: Schema, schemas: dict[str, Schema], at: str) -> dict[str, str]:
    fields = _properties(shape, schemas)
    kind = fields.get("object", {}).get("const")
    return {f"{kind}_id": f"{at}/id"} if kind and "id" in fields else {}


def _properties(shape: Schema, schemas: dict[str, Schema]) -> dict[str, Schema]:
    found: dict[str, Schema] = schemas.get(shape.get("$ref", "").removeprefix(SCHEMAS), {}).get("properties", {})
    return found


def relinked(schema: Schema) -> Schema:
    """Return a copy of a schema with references to components in place of local ones."""
    made: Schema = orjson.loads(orjson.dumps(schema).replace(b'"$ref":"#/$defs/', f'"$ref":"{SCHEMAS}'.encode()))
    return made


def _whole(schema: Schema) -> Schema:
    return {**schema, "required": list(schema["properties"])} if "properties" in schema else schema
