"""Links of openapi.json: from an answer to every read that its ids lead to."""

from collections.abc import Sequence
from typing import Any

from tools.engine.registry import Operation

Schema = dict[str, Any]
SCHEMAS = "#/components/schemas/"


def links_of(op: Operation, shape: Schema, schemas: dict[str, Schema], served: Sequence[Operation]) -> Schema:
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
