"""Write the table of operations, their signatures and the records of the market from its openapi.json.

Usage: emporion openapi | python generate.py
"""

import json
import keyword
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HEAD = '"""{} Written by generate.py from openapi.json: do not change it by hand."""\n\n# fmt: off\n\n'
PLAIN = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, Any]",
}
NOT_ARGUMENTS = {"If-None-Match", "Last-Event-ID"}  # they serve caches and browsers
Schema = dict[str, Any]


def hint(schema: Any) -> str:
    """Return the type hint of a JSON Schema."""
    if not isinstance(schema, dict):
        return "Any"
    if "$ref" in schema:
        return f"{schema['$ref'].rsplit('/', 1)[1]}"
    if "enum" in schema:
        return "Literal[" + ", ".join(text(one) for one in schema["enum"]) + "]"
    if "const" in schema:
        return f"Literal[{text(schema['const'])}]"
    for words in ("anyOf", "oneOf"):
        if words in schema:
            return union(hint(one) for one in schema[words])
    kind = schema.get("type")
    if isinstance(kind, list):
        return union(PLAIN.get(one, "Any") for one in kind)
    if kind == "array":
        return f"list[{hint(schema.get('items'))}]"
    return PLAIN.get(kind or "", "Any")


def union(hints: Iterator[str]) -> str:
    """Join type hints; Any includes all others."""
    found = list(dict.fromkeys(hints))
    return "Any" if "Any" in found else " | ".join(found)


def text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def operations(openapi: Schema) -> Iterator[tuple[str, str, Schema]]:
    """Yield method, path and description of each operation, by name."""
    found = [
        (method.upper(), path, described)
        for path, methods in openapi["paths"].items()
        for method, described in methods.items()
        if isinstance(described, dict) and "operationId" in described
    ]
    yield from sorted(found, key=lambda one: one[2]["operationId"])


def parameters(described: Schema, where: str) -> list[Schema]:
    return [one for one in described.get("parameters", []) if one["in"] == where and one["name"] not in NOT_ARGUMENTS]


def argument(header: str) -> str:
    return header.lower().replace("-", "_")


def body_of(described: Schema, schemas: Schema) -> Schema | None:
    """Return the schema of the body, without references at its top.

    A body that is described as a form can be sent as JSON too.
    """
    content: dict[str, Schema] = described.get("requestBody", {}).get("content", {})
    schema: Schema | None = next((one["schema"] for one in content.values()), None)
    if schema is None or "$ref" not in schema:
        return schema
    named: Schema = schemas[schema["$ref"].rsplit("/", 1)[1]]
    return named


def headers_of(described: Schema) -> list[tuple[str, str]]:
    """List the arguments that are sent as headers; the operator's secret is one of them."""
    found = [(argument(one["name"]), one["name"]) for one in parameters(described, "header")]
    operators = {"adminToken": []} in described.get("security", [])
    return [*found, ("admin_token", "X-Admin-Token")] if operators else found


def login_of(described: Schema) -> str:
    security = described.get("security") or [{}]
    if security == [{"adminToken": []}]:
        return "none"
    if {} not in security:
        return "required"
    return "optional" if len(security) > 1 else "none"


def table(openapi: Schema) -> str:
    """Return the module with one row for each operation."""
    lines = ["from emporion_client.operation import Operation", "", "OPERATIONS: dict[str, Operation] = {"]
    for method, path, described in operations(openapi):
        body = body_of(described, openapi["components"]["schemas"])
        given = {
            "in_path": tuple(re.findall(r"{(\w+)}", path)),
            "in_query": tuple(one["name"] for one in parameters(described, "query")),
            "in_header": tuple(headers_of(described)),
            "body": "none" if body is None else "fields" if "properties" in body else "whole",
            "login": login_of(described),
        }
        usual = {"in_path": (), "in_query": (), "in_header": (), "body": "none", "login": "required"}
        words = [text(method), text(path), *(f"{k}={literal(v)}" for k, v in given.items() if v != usual[k])]
        lines.append(f"    {text(described['operationId'])}: Operation({', '.join(words)}),")
    return HEAD.format("The operations of the market.") + "\n".join([*lines, "}", ""])


def literal(value: Any) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(literal(one) for one in value) + ("," if len(value) == 1 else "") + ")"
    return text(value)


def records(openapi: Schema) -> str:
    """Return the module with a type for each schema."""
    parts = []
    for name, schema in openapi["components"]["schemas"].items():
        fields, needed = schema.get("properties"), schema.get("required", ())
        if not fields:
            parts.append(f"{name}: TypeAlias = {hint(schema)}")
            continue
        hints = {one: hint(what) for one, what in fields.items()}
        hints = {one: what if one in needed else f"NotRequired[{what}]" for one, what in hints.items()}
        if all(one.isidentifier() and not keyword.iskeyword(one) for one in fields):
            parts.append(f"class {name}(TypedDict):\n" + "\n".join(f"    {one}: {what}" for one, what in hints.items()))
        else:
            inner = ", ".join(f"{text(one)}: {what!r}" for one, what in hints.items())
            parts.append(f"{name} = TypedDict({name!r}, {{{inner}}})")
    imports = (
        "from __future__ import annotations\n\nfrom typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n\n\n"
    )
    return HEAD.format("The records of the market, for type checkers.") + imports + "\n\n\n".join(parts) + "\n"


def signatures(openapi: Schema) -> str:
    """Return the stub with a method for each operation, blocking and awaited."""
    schemas, used = openapi["components"]["schemas"], set[str]()
    classes = []
    for name, prefix, stream in (("Operations", "def", "Iterator"), ("AsyncOperations", "async def", "AsyncIterator")):
        lines = [f"class {name}:"]
        for _, path, described in operations(openapi):
            given, answer = arguments(path, described, schemas), answer_of(described, schemas)
            used |= set(re.findall(r"[A-Z]\w+", " ".join([*given, answer]))) & schemas.keys()
            shown = f"self, *, {', '.join(given)}" if given else "self"
            how = prefix
            if answer == "stream":
                how, answer = "def", f"{stream}[Event]"
                used.add("Event")
            lines.append(f"    {how} {described['operationId']}({shown}) -> {answer}: ...")
        classes.append("\n".join(lines))
    imports = "from collections.abc import AsyncIterator, Iterator\nfrom typing import Any, Literal\n\n"
    imports += f"from emporion_client.records import (\n{''.join(f'    {one},{chr(10)}' for one in sorted(used))})\n\n"
    return (
        "# The methods that call operations, written by generate.py.\n# fmt: off\n\n"
        + imports
        + "\n\n".join(classes)
        + "\n"
    )


def arguments(path: str, described: Schema, schemas: Schema) -> list[str]:
    """List the arguments of a method with their types; those that can be left out come last."""
    kinds = {one["name"]: hint(one["schema"]) for one in parameters(described, "path")}
    needed = [f"{name}: {kinds.get(name, 'str')}" for name in re.findall(r"{(\w+)}", path)]
    optional = [f"{name}: str | None = ..." for name, _ in headers_of(described)]
    for one in parameters(described, "query"):
        (needed if one.get("required") else optional).append(
            f"{one['name']}: {hint(one['schema'])}" + ("" if one.get("required") else " | None = ...")
        )
    body = body_of(described, schemas)
    if body is not None and "properties" not in body:
        needed.append("input: Any")
    for name, schema in (body or {}).get("properties", {}).items():
        if name in (body or {}).get("required", ()):
            needed.append(f"{name}: {hint(schema)}")
        else:
            optional.append(f"{name}: {hint(schema)} = ...")
    return needed + optional


def answer_of(described: Schema, schemas: Schema) -> str:
    """Return the type of the answer; `stream` if the operation answers a stream of events."""
    for status, response in described["responses"].items():
        content = response.get("content", {})
        if status.startswith("2") and "text/event-stream" in content:
            return "stream"
        if status.startswith("2") and "application/json" in content:
            return hint(content["application/json"].get("schema"))
    return "dict[str, Any]"


def generate(openapi: Schema, folder: Path) -> None:
    """Write the three modules into a folder."""
    (folder / "table.py").write_text(table(openapi))
    (folder / "records.py").write_text(records(openapi))
    (folder / "methods.pyi").write_text(signatures(openapi))


if __name__ == "__main__":
    generate(json.load(sys.stdin), Path(__file__).parent / "emporion_client")
