"""JSON Schemas of an operation's arguments and answers, as every surface publishes them."""

from functools import cache, reduce
from operator import or_
from typing import Any

from tools.engine.registry import Operation
from tools.kernel.records import Untitled, record_schema

Schema = dict[str, Any]


@cache
def input_schema(op: Operation) -> Schema:
    """Return the schema of the arguments: one flat object without composition at the root.

    Callers share the result and must not change it.
    """
    schema = op.input.model_json_schema(schema_generator=Untitled)
    schema.pop("description", None)  # the operation's own description is published instead
    for argument in schema.get("properties", {}).values():
        if argument.get("default", ...) is None:  # null means absent, which models need not read for each argument
            del argument["default"]
    return {"type": "object", "properties": {}, **schema}


def output_schema(op: Operation) -> Schema:
    """Return the schema of the answer, an object.

    Several records differ by their `object` field.
    """
    if len(op.output) == 1:
        return _object(op, record_schema(op.output[0]))
    shared = record_schema(reduce(or_, op.output))
    kinds = [_object(op, record_schema(record))["properties"]["object"]["const"] for record in op.output]
    return {
        "type": "object",
        "properties": {"object": {"enum": kinds}},
        "required": ["object"],
        **shared,
    }


def _object(op: Operation, schema: Schema) -> Schema:
    """Return the schema with an object at its root, even if pydantic made it a reference."""
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    if name:
        schema = {"$defs": schema["$defs"], **schema["$defs"][name]}
    if schema.get("type") != "object":
        raise TypeError(f"{op.name} answers with something that is no record")
    return schema
