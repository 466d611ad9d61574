"""The templates of the documents, which are written by hand, and markdown tables made from schemas."""

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from tools.engine.json_schemas import Schema

FOLDER = Path(__file__).with_name("templates")
FIELD = re.compile(r"\{\{(\w+)\}\}")


def filled(name: str, **values: object) -> str:
    """Return a template with its {{fields}} replaced. Raises KeyError for an unknown field."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    return FIELD.sub(lambda field: str(values[field[1]]), text)


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the fields of the front matter, if there is one, and the text below it."""
    if not text.startswith("---\n"):
        return {}, text
    _, head, body = text.split("---\n", 2)
    return dict(line.split(": ", 1) for line in head.splitlines() if ": " in line), body


def table(head: str, rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a table; `head` is its first one."""
    yield from (head, "|" + "---|" * (head.count("|") - 1), *map(_row, rows))


def fields_table(schema: Schema, known: Collection[str] = ()) -> Iterator[str]:
    """Yield a table with a row for each property that is not `known` already."""
    required = schema.get("required", ())
    rows = (
        (f"`{name}`", type_of(field, schema), optional(field.get("description", ""), name in required))
        for name, field in schema["properties"].items()
        if name not in known
    )
    return table("| field | type | |", rows)


def optional(description: str, required: bool) -> str:
    """Return the description of a value that may be absent unless it is required."""
    return description if required else "; ".join(filter(None, (description, "may be absent")))


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


def _row(cells: Iterable[str]) -> str:
    """Return a row of a table, with vertical bars escaped because they would end a cell."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
