"""The templates of the documents, which are written by hand, and markdown tables made from schemas."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson

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


def fields_table(
    schema: Schema, kind: Callable[[Schema], str], known: Collection[str] = (), head: str = "field"
) -> Iterator[str]:
    """Yield a table with a row for each property that is not `known` already.

    `kind` describes types.
    """
    required = schema.get("required", ())
    rows = (
        (f"`{name}`", kind(field), described(field, name in required))
        for name, field in schema.get("properties", {}).items()
        if name not in known
    )
    return table(f"| {head} | type | |", rows)


def described(part: Schema, required: bool) -> str:
    """Return the description on one line; a value may be absent unless it is required."""
    text = on_one_line(part.get("description", ""))
    return text if required else "; ".join(filter(None, (text.removesuffix("."), "may be absent")))


def on_one_line(text: str) -> str:
    return " ".join(text.split())


def type_within(whole: Schema) -> Callable[[Schema], str]:
    """Return a function that describes types with the definitions of this schema."""

    def kind(schema: Schema) -> str:
        return type_of(schema, lambda name: kind(whole["$defs"][name]))

    return kind


def type_of(schema: Schema, named: Callable[[str], str], bounds: Collection[str] = ()) -> str:
    """Return the type of a value in a few words, with these bounds.

    `named` describes a schema by its name.
    """
    if "$ref" in schema:
        return named(schema["$ref"].rpartition("/")[2])
    limits = [f"{name} {as_code(schema[name])}" for name in bounds if schema.get(name) is not None]
    return _bare(schema, partial(type_of, named=named, bounds=bounds)) + (f" ({', '.join(limits)})" if limits else "")


def as_code(value: Any) -> str:
    return f"`{value if isinstance(value, str) and value else orjson.dumps(value).decode()}`"


def _bare(schema: Schema, inner: Callable[[Schema], str]) -> str:
    if "const" in schema:
        return as_code(schema["const"])
    if "enum" in schema:
        return ", ".join(map(as_code, schema["enum"]))
    for choice, word in (("anyOf", " or "), ("oneOf", " or "), ("allOf", " and ")):
        if choice in schema:
            return word.join(dict.fromkeys(map(inner, schema[choice])))
    if schema.get("type") == "array" and "items" in schema:
        return f"list of {inner(schema['items'])}"
    given = schema.get("type", "any JSON")
    return " or ".join(given) if isinstance(given, list) else str(given)


def _row(cells: Iterable[str]) -> str:
    """Return a row of a table, with vertical bars escaped because they would end a cell."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
