"""The page docs/reference: every operation and every schema, made only from openapi.json."""

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

import orjson

from protocol.docs.markdown import described, fields_table, on_one_line, table, type_of
from tools.engine.json_schemas import Schema

BOUNDS = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "pattern", "format", "default")


def reference_text(document: Schema) -> str:
    """Return the page as markdown."""
    return "\n".join(Reference(document).lines())


def pointers(document: Schema) -> dict[str, str]:
    """Map pointers into openapi.json to the ids of their headings on the page."""
    return {
        f"/paths/{quote(path.replace('~', '~0').replace('/', '~1'), safe='~.')}/{method}": op["operationId"]
        for path, methods in document["paths"].items()
        for method, op in methods.items()
    }


class Reference:
    """The sections of the page. Only schemas that are not request bodies have their own section."""

    def __init__(self, document: Schema) -> None:
        self.document, self.components = document, document["components"]
        self.calls = [
            (method.upper(), path, op) for path, methods in document["paths"].items() for method, op in methods.items()
        ]
        sent = [shape for _, _, op in self.calls for shape in _content(op.get("requestBody", {}))]
        self.bodies = {_last(shape["$ref"]) for shape in sent if "$ref" in shape}
        refused = [codes for _, _, op in self.calls if (codes := set(self._codes(op)))]  # OAuth's calls have no codes
        self.common: set[tuple[str, str]] = set.intersection(*refused)

    def lines(self) -> Iterator[str]:
        info = self.document["info"]
        yield from ("# Reference", "", info["description"], "", f"Version {info['version']}.", "")
        yield from ("## Credentials", "")
        for name, scheme in self.components["securitySchemes"].items():
            yield from (f"### {name}", "", scheme["description"], "")
        yield from ("## Refusals of every call", "", _refusals(self.common), "")
        for tag in self.document["tags"]:
            yield from (f"## {tag['name']}", "", tag["description"], "")
            for method, path, op in self.calls:
                if op["tags"] == [tag["name"]]:
                    yield from self._call(method, path, op)
        yield from self._webhooks()
        yield from ("## Schemas", "")
        for name, schema in self.components["schemas"].items():
            if name not in self.bodies:
                yield from self._schema(name, schema)

    def _call(self, method: str, path: str, op: Schema) -> Iterator[str]:
        yield from (f"### {op['operationId']}", "", f"`{method} {path}`", "", op["description"], "")
        ways = [" and ".join(f"[{name}](#{name})" for name in way) or "none" for way in op["security"]] or ["none"]
        yield from (f"Credentials: {' or '.join(ways)}.", "")
        if op.get("parameters"):
            rows = (
                (f"`{one['name']}`", one["in"], kind(one["schema"]), described(one, one["required"]))
                for one in op["parameters"]
            )
            yield from (*table("| parameter | in | type | |", rows), "")
        for shape in _content(op.get("requestBody", {}))[:1]:
            yield from (*fields_table(self._whole(shape), kind, head="field of the body"), "")
        yield from self._examples(op)
        yield from self._answers(op)

    def _examples(self, op: Schema) -> Iterator[str]:
        for media in op.get("requestBody", {}).get("content", {}).values():
            for example in media.get("examples", {}).values():
                yield from ("```json", orjson.dumps(example["value"], option=orjson.OPT_INDENT_2).decode(), "```", "")

    def _answers(self, op: Schema) -> Iterator[str]:
        for status, answer in op["responses"].items():
            if status < "400":
                shapes = " or ".join(kind(shape) for shape in _content(answer))
                yield from (f"{status}: {on_one_line(answer['description'])}{f' {shapes}' if shapes else ''}", "")
        own = set(self._codes(op)) - self.common
        if own:
            yield from (_refusals(own), "")
        for status, answer in op["responses"].items():
            terms = _links(_content(answer))
            if status >= "400" and terms:
                yield from (f"{status}: {terms}", "")

    def _codes(self, op: Schema) -> Iterator[tuple[str, str]]:
        """Yield the status and code of each error."""
        for status, answer in op["responses"].items():
            whole = self.components["responses"][_last(answer["$ref"])] if "$ref" in answer else answer
            if status >= "400":
                yield from ((status, code) for code in whole.get("x-codes", ()))

    def _webhooks(self) -> Iterator[str]:
        hooks = {name: hook["post"] for name, hook in self.document["webhooks"].items()}
        first = next(iter(hooks.values()))
        headers = ((f"`{one['name']}`", kind(one["schema"]), described(one, True)) for one in first["parameters"])
        yield from ("## Webhooks as they are sent", "", *table("| header | type | |", headers), "")
        yield from (f"- {status}: {answer['description']}" for status, answer in first["responses"].items())
        bodies = ((hook["summary"], _links(_content(hook["requestBody"]))) for hook in hooks.values())
        yield from ("", *table("| | body |", bodies), "")

    def _schema(self, name: str, schema: Schema) -> Iterator[str]:
        yield from (f"### {name}", "", schema.get("description", ""), "")
        if schema.get("properties"):
            yield from (*fields_table(schema, kind), "")
        else:
            yield from (kind(schema), "")

    def _whole(self, schema: Schema) -> Schema:
        whole: Schema = self.components["schemas"][_last(schema["$ref"])] if "$ref" in schema else schema
        return whole


def kind(schema: Schema) -> str:
    """Return the type of a value in a few words, with its bounds; named schemas are links."""
    return type_of(schema, lambda name: f"[{name}](#{name})", BOUNDS)


def _refusals(codes: Iterable[tuple[str, str]]) -> str:
    """Return the codes grouped by status, each with a link to its explanation."""
    by_status: dict[str, list[str]] = {}
    for status, code in sorted(codes):
        by_status.setdefault(status, []).append(f"[{code}](/docs/errors#{code})")
    return "Refusals: " + "; ".join(f"{status} {', '.join(links)}" for status, links in by_status.items()) + "."


def _links(shape: Any) -> str:
    """Return links to all schemas of records that a schema refers to."""
    names = dict.fromkeys(_last(part["$ref"]) for part in _objects(shape) if "$ref" in part)
    return ", ".join(f"[{name}](#{name})" for name in names if name != "Error")


def _objects(shape: Any) -> Iterator[Schema]:
    """Yield a schema and every object in it."""
    if isinstance(shape, dict):
        yield shape
    for part in shape.values() if isinstance(shape, dict) else shape if isinstance(shape, list) else ():
        yield from _objects(part)


def _content(part: Schema) -> list[Schema]:
    return [media["schema"] for media in part.get("content", {}).values()]


def _last(reference: str) -> str:
    return reference.rpartition("/")[2]
