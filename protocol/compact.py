"""JSON Schemas in few words, for lists that stand in a model's context: the same values satisfy them."""

from typing import Any

STAMP = "date-time"
NULL = {"type": "null"}


def compact(schema: Any) -> Any:
    """The schema without defaults, which an answer does not need, with `type: [T, "null"]` for what may be null, and without
    saying of each time that it is one."""
    if isinstance(schema, list):
        return [compact(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == STAMP and "type" in schema:
        return {"type": schema["type"], "format": STAMP}
    made = {
        name: {key: compact(part) for key, part in value.items()} if name in ("properties", "$defs") else compact(value)
        for name, value in schema.items()
        if name != "default"
    }
    return _nullable(made) if "anyOf" in made else made


def _nullable(made: dict[str, Any]) -> dict[str, Any]:
    """`anyOf` of one plain type and null as one type."""
    choices = [choice for choice in made["anyOf"] if choice != NULL]
    if len(choices) != 1 or len(made["anyOf"]) != 2 or not isinstance(choices[0].get("type"), str):
        return made
    if {"enum", "const"} & choices[0].keys():
        return made
    rest = {name: value for name, value in made.items() if name != "anyOf"}
    return {**choices[0], "type": [choices[0]["type"], "null"], **rest}
