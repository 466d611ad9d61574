"""JSON Schema validation: documents are checked in the market's own checkers, which are killed if they take too long."""

import re
from collections.abc import Mapping
from typing import Any

from emporion_client import Decline
from server.desk.offers import NULLABLE, JsonObject, exact, object_schema, on_delivery
from server.desk.service import BY, Kit, Order, Service
from tools.engine.ports import ChecksBusy, CheckTooLong
from tools.kernel.canonical_json import canonical
from tools.kernel.json_schema import SchemaRefused, Violation, validate_schema
from tools.kernel.records import Json

DRAFT = "2020-12"
NOT_VALID = f"The schema is not valid in draft {DRAFT}: "
MAX_DOCUMENTS, MAX_ERROR = 100, 300
_KEYWORD = re.compile(r'does not satisfy "([^"]+)"')

ERROR = exact(path={"type": "string"}, keyword=NULLABLE, message={"type": "string"})
RESULT = exact(
    index={"type": "integer"},
    valid={"type": "boolean"},
    errors={"type": "array", "items": ERROR},
)
EXAMPLE: JsonObject = {
    "schema": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}},
    "documents": [{"id": 1}, {"id": "one"}],
}
OFFER: JsonObject = {
    "title": "Validate JSON documents against a JSON Schema",
    "description": (
        f"Give a schema of draft {DRAFT} and one document as data, or up to 100 as documents. For each you get whether it is valid, and "
        "if not, up to 20 errors: a JSON Pointer, the keyword, what is wrong. A schema that is itself not valid is told in schema_error. "
        "Declined before it costs anything: other drafts, remote or recursive references, $id and anchors, schemas above 64 KB, and "
        "patterns that need lookaround or backreferences. A document that takes more than a quarter of a second is not charged for. "
        "`format` is not checked (the draft's default)."
    ),
    "category": "data",
    "tags": ["validate-json", "json-schema", "validation"],
    "pricing_model": "fixed",
    "price": 10_000,
    "input_schema": object_schema(
        {
            "schema": {"type": "object", "description": f"JSON Schema, draft {DRAFT}"},
            "data": {"description": "one document, any JSON"},
            "documents": {"type": "array", "minItems": 1, "maxItems": MAX_DOCUMENTS, "description": "several"},
        },
        ["schema"],
        oneOf=[{"required": ["data"]}, {"required": ["documents"]}],
    ),
    "output_schema": exact(
        draft={"const": DRAFT},
        schema_error=NULLABLE,
        all_valid={"type": "boolean"},
        results={"type": "array", "items": RESULT},
    ),
    "example_input": EXAMPLE,
    "example_output": {
        "draft": DRAFT,
        "schema_error": None,
        "all_valid": False,
        "results": [
            {"index": 0, "valid": True, "errors": []},
            {
                "index": 1,
                "valid": False,
                "errors": [
                    {
                        "path": "/id",
                        "keyword": "type",
                        "message": 'The value, a string, does not satisfy "type": "integer"',
                    }
                ],
            },
        ],
    },
    **on_delivery(120),
}


async def work(kit: Kit, order: Order) -> Json:
    """Validate before the order is accepted; decline what cannot be checked in time."""
    documents = order.input["documents"] if "documents" in order.input else [order.input["data"]]
    wrapped = around(order.input["schema"])
    output: Json = {"draft": DRAFT, "schema_error": None, "all_valid": False, "results": []}
    try:
        validate_schema(wrapped)
    except SchemaRefused as refused:
        if not refused.message.startswith(NOT_VALID):
            raise Decline(f"This schema is not taken: {refused.message} {_inside(refused.path)}".strip()) from None
        output = {**output, "schema_error": refused.message}
    else:
        text = canonical(wrapped).decode()
        results = [await _checked(kit, text, index, one) for index, one in enumerate(documents)]
        output = {**output, "all_valid": all(one["valid"] for one in results), "results": results}
    return output


def around(schema: Mapping[str, Any]) -> JsonObject:
    """Return a schema for {"document": …}, because the checkers take only schemas of objects."""
    inner = {name: value for name, value in schema.items() if name not in ("$defs", "$schema")}
    shared = {name: schema[name] for name in ("$defs", "$schema") if name in schema}
    return {"type": "object", "properties": {"document": inner}, **shared}


async def _checked(kit: Kit, schema: str, index: int, document: Json) -> JsonObject:
    try:
        found = await kit.checks.violations(schema, {"document": document}, by=BY)
    except CheckTooLong:
        raise Decline(f"Document {index} takes more than 250 ms to check against this schema.") from None
    except ChecksBusy:
        raise Decline("Too many documents are being checked here. Order again in a minute.") from None
    return {"index": index, "valid": not found, "errors": [_error(one) for one in found]}


def _error(found: Violation) -> JsonObject:
    return {"path": _inside(found.path), "keyword": keyword_of(found.message), "message": found.message[:MAX_ERROR]}


def keyword_of(message: str) -> str | None:
    """Return the keyword of a violation; None if the schema allows nothing."""
    named = _KEYWORD.search(message)
    if named:
        return named[1]
    return "required" if message.startswith("The required property") else None


def _inside(path: str) -> str:
    """Return the path inside the buyer's document or schema."""
    return path.removeprefix("/properties").removeprefix("/document")


SERVICE = Service("validate-json", OFFER, work)
