"""The JSON Schemas of an operation's arguments and of what it answers, as every surface publishes them."""

from functools import reduce
from operator import or_
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from tools.records.base import record_schema
from tools.registry import Operation

Schema = dict[str, Any]


def input_schema(op: Operation) -> Schema:
    """The arguments: one flat object, every argument a property, no composition at the root."""
    schema = op.input.model_json_schema(schema_generator=_Untitled)
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
    schema.pop("description", None)  # the operation's own description says what it is for
    return {"type": "object", "properties": {}, **schema}


def output_schema(op: Operation) -> Schema:
    """The record answered, an object at the root. Several records are told apart by their `object`."""
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


class _Untitled(GenerateJsonSchema):
    """Without the titles pydantic makes of names: they say nothing new and cost a fifth of the bytes of tools/list."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _object(op: Operation, schema: Schema) -> Schema:
    """The schema with an object at its root, where pydantic only points at a definition."""
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    if name:
        schema = {"$defs": schema["$defs"], **schema["$defs"][name]}
    if schema.get("type") != "object":
        raise TypeError(f"{op.name} answers with something that is no record")
    return schema
