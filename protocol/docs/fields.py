"""Render the properties of a JSON Schema as a markdown table, for the documents that agents read."""

from collections.abc import Collection, Iterator
from typing import Any

Schema = dict[str, Any]


def fields_table(schema: Schema, known: Collection[str] = ()) -> Iterator[str]:
    """Yield a table with a row for each property that is not `known` already."""
    yield from ("| field | type | |", "|---|---|---|")
    for name, field in schema["properties"].items():
        if name not in known:
            said = [field.get("description", ""), "" if name in schema.get("required", ()) else "may be absent"]
            yield _cells(f"`{name}`", type_of(field, schema), "; ".join(filter(None, said)))


def type_of(field: Schema, whole: Schema) -> str:
    """Return the type in a few words; `whole` is the schema that has the definitions."""
    if "$ref" in field:
        return type_of(whole["$defs"][field["$ref"].removeprefix("#/$defs/")], whole)
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{one}`" for one in field["enum"])
    for choice in ("anyOf", "oneOf"):
        if choice in field:
            return " or ".join(dict.fromkeys(type_of(one, whole) for one in field[choice]))
    if field.get("type") == "array":
        return f"list of {type_of(field['items'], whole)}"
    return str(field.get("type", "any JSON"))


def _cells(*cells: str) -> str:
    """Return a row of the table, with vertical bars escaped because they would end a cell."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
