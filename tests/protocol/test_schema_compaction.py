"""Compacted schemas: they are shorter and accept the same values."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from protocol.schema_compaction import compact
from tools.catalogue import CATALOGUE
from tools.engine.json_schemas import output_schema

NULLABLE: dict[str, Any] = {
    "anyOf": [{"type": "integer", "description": "minor units"}, {"type": "null"}],
    "default": None,
}
VALUES: list[Any] = [None, 1, "a", "2026-11-21T03:51:07.123Z", [], {}, {"default": 1}, {"default": "a"}, True]


@pytest.mark.parametrize(
    "schema, short",
    [
        (NULLABLE, {"type": ["integer", "null"], "description": "minor units"}),
        (NULLABLE | {"description": "the price"}, {"type": ["integer", "null"], "description": "the price"}),
        ({"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "$defs": {"A": {"type": "integer", "default": 1}}},
         {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "$defs": {"A": {"type": "integer"}}}),
        ({"anyOf": [{"enum": ["a"], "type": "string"}, {"type": "null"}]},
         {"anyOf": [{"enum": ["a"], "type": "string"}, {"type": "null"}]}),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
         {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
        ({"type": "string", "format": "date-time", "description": "ISO-8601 UTC"}, {"type": "string", "format": "date-time"}),
        ({"type": "object", "properties": {"default": {"type": "string", "default": ""}}, "required": ["default"]},
         {"type": "object", "properties": {"default": {"type": "string"}}, "required": ["default"]}),
    ],
)  # fmt: skip
def test_a_schema_is_shorter_and_takes_the_same(schema: dict[str, Any], short: dict[str, Any]) -> None:
    assert compact(schema) == short
    judged = [(Draft202012Validator(one).is_valid(value)) for one in (schema, short) for value in VALUES]
    assert judged[: len(VALUES)] == judged[len(VALUES) :]


def test_every_output_schema_stays_a_schema() -> None:
    for op in CATALOGUE.values():
        Draft202012Validator.check_schema(compact(output_schema(op)))
