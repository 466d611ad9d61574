"""Shorten JSON Schemas for lists in a model's context; they accept the same values."""

from typing import Any

STAMP = "date-time"
NULL = {"type": "null"}


def compact(schema: Any) -> Any:
    """Return a schema without defaults and without the details of timestamps.

    Defaults do not matter in a response. A value that may be null gets `type: [T, "null"]`.
    """
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
    """Replace `anyOf` of one plain type and null by a list of types."""
    choices = [choice for choice in made["anyOf"] if choice != NULL]
    if len(choices) != 1 or len(made["anyOf"]) != 2 or not isinstance(choices[0].get("type"), str):
        return made
    if {"enum", "const"} & choices[0].keys():
        return made
    rest = {name: value for name, value in made.items() if name != "anyOf"}
    return {**choices[0], "type": [choices[0]["type"], "null"], **rest}
