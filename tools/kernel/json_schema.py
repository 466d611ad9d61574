"""JSON Schemas from clients: checks a schema once before it is stored, and documents against it.

Only the part of draft 2020-12 whose cost can be bounded is accepted. Documents are checked by jsonschema-rs, offline
and with a linear-time regex engine.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from graphlib import CycleError
from itertools import chain, islice
from typing import Any

import jsonschema_rs
import orjson

from tools.kernel.schema_cost import (
    BOUNDS,
    KEPT_CHECKERS,
    MAX_PATTERNS,
    MAX_READING,
    TOO_LONG,
    Schema,
    escape_step,
    explaining_weight,
    measure_all,
    patterns_in,
    reading_of,
    referenced_name,
    refusal_of,
    subschemas,
)
from tools.kernel.strict_json import BadJson, Json, validate_tree

MAX_BYTES, MAX_DEPTH, MAX_SUBSCHEMAS, MAX_EXPANDED = 64 * 1024, 32, 4000, 20_000
MAX_REFS, MAX_ENUM = 200, 1000
MAX_VIOLATIONS, MAX_MESSAGE = 20, 300

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REGEX_BYTES = 2 << 20  # shared by a schema's compiled patterns; their caches may take as much again
_EXPLAIN_AT_MOST = 10_000  # subschemas compiled to explain one document, a pattern counting as several: about 50 ms

_REFUSED = {"$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"}
_REFUSED |= {"dependencies"}  # not a keyword of 2020-12, but the engine obeys it
_ALONE = {
    "type", "enum", "const", "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "not",
    "contains", "minProperties", "maxProperties", "dependentRequired", "patternProperties", "propertyNames", *BOUNDS,
}  # fmt: skip
_COMPANIONS = {"contains": ("minContains", "maxContains")}
# these depend on what other keywords left over
_FROM_ALL = {"additionalProperties", "unevaluatedItems", "unevaluatedProperties"}
_ANY = ["object", "array", "string", "number", "boolean", "null"]
KEYWORDS = sorted({*_ALONE, *_FROM_ALL, "anyOf", "oneOf"})
_TYPES = [*_ANY, "integer"]
_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
KINDS = sorted({*_KINDS.values(), "null"})


class SchemaRefused(ValueError):
    """A schema that is refused; `path` is a JSON Pointer into it."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path


@dataclass(frozen=True, slots=True)
class Violation:
    """One fault of a document: a JSON Pointer into it, and a message of at most 300 characters."""

    path: str
    message: str


def validate_schema(schema: Json) -> None:
    """Raise SchemaRefused unless `schema` may be stored and any document checked against it.

    Required: `"type": "object"` at the top; $schema absent or 2020-12. At most: 64 KB; 4000 subschemas; 32 levels and
    20 000 subschemas with references expanded; 100 patterns of 512 characters, compiled in 20 ms together. Refused:
    lookaround, backreferences, flags; $id, $anchor, $dynamicRef, $vocabulary; any $ref but `#/$defs/<name>`; recursion.
    """
    try:
        validate_tree(schema)
    except BadJson as bad:
        raise SchemaRefused(bad.message) from None
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise SchemaRefused('The schema must say "type": "object" at its top.')
    if len(orjson.dumps(schema)) > MAX_BYTES:
        raise SchemaRefused(f"The schema is larger than {MAX_BYTES} bytes.")
    if schema.get("$schema", _DIALECT) not in (_DIALECT, _DIALECT + "#"):
        raise SchemaRefused("$schema must be absent or draft 2020-12.", "/$schema")
    _check_subschemas(schema)
    if reading_of(schema) > MAX_READING:
        raise SchemaRefused(TOO_LONG)
    _compile(schema)
    try:
        measured = measure_all(schema)
    except CycleError:
        raise SchemaRefused("A recursive $ref is not supported.", "/$defs") from None
    if measured.height > MAX_DEPTH or measured.size > MAX_EXPANDED:
        bounds = f"{MAX_DEPTH} levels or {MAX_EXPANDED} subschemas"
        raise SchemaRefused(f"The schema has more than {bounds} when its references are followed.")


@lru_cache(KEPT_CHECKERS)
def checker_for(schema_text: str) -> "Validator":
    """Return the checker of an accepted schema, given as its canonical text; cached."""
    return Validator(orjson.loads(schema_text))


class Validator:
    """A compiled schema; `is_valid(document)` is the verdict."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self.is_valid: Callable[[Json], bool] = _compile(schema).is_valid

    def violations(self, instance: Json, limit: int = MAX_VIOLATIONS) -> list[Violation]:
        """Return the first `limit` faults of the document; empty exactly if it is valid."""
        if self.is_valid(instance):
            return []
        return list(islice(_Explanation(self._schema).faults(self._schema, instance, ""), limit))


# --- checking a schema ------------------------------------------------------------------------------------------------


def _check_subschemas(schema: dict[str, Any]) -> None:
    names = schema.get("$defs") if isinstance(schema.get("$defs"), dict) else {}
    found = refs = 0
    for count, (pointer, node) in enumerate(subschemas(schema), 1):
        found, refs = found + len(patterns_in(node)), refs + ("$ref" in node)
        if count > MAX_SUBSCHEMAS or found > MAX_PATTERNS or refs > MAX_REFS:
            bounds = f"{MAX_SUBSCHEMAS} subschemas, {MAX_PATTERNS} patterns and {MAX_REFS} references"
            raise SchemaRefused(f"The schema has more than is admitted: {bounds}.", pointer)
        _check_node(pointer, node, names or {})


def _check_node(pointer: str, node: dict[str, Any], names: Mapping[str, Any]) -> None:
    for keyword in node:
        if keyword in _REFUSED or (keyword == "$schema" and pointer):
            raise SchemaRefused(f"{keyword} is not supported here.", f"{pointer}/{keyword}")
    for pattern in patterns_in(node):
        if wrong := refusal_of(pattern):
            raise SchemaRefused(wrong, pointer)
    if isinstance(node.get("enum"), list) and len(node["enum"]) > MAX_ENUM:
        raise SchemaRefused(f"An enum has more than {MAX_ENUM} values.", f"{pointer}/enum")
    if "$ref" in node and referenced_name(node) not in names:
        wanted = "#/$defs/<name> of a schema at the top, its name of letters, digits, '.', '_' and '-'"
        raise SchemaRefused(f"$ref must be {wanted}.", f"{pointer}/$ref")


def _compile(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    size = _REGEX_BYTES // max(1, sum(len(patterns_in(node)) for _, node in subschemas(schema)))
    options = jsonschema_rs.RegexOptions(size_limit=size, dfa_size_limit=size)
    try:
        return jsonschema_rs.Draft202012Validator(schema, offline=True, validate_formats=False, pattern_options=options)
    except jsonschema_rs.ValidationError as error:
        path = "".join(f"/{escape_step(str(step))}" for step in error.instance_path)
        if error.message.endswith('is not a "regex"'):
            why = "is no regular expression without lookaround and backreferences, or too large"
            raise SchemaRefused(f"A pattern {why}.", path) from None
        message = error.message[:200]
        if error.instance_path[-1:] == ["type"] and isinstance(error.instance, (str, list)):
            message = f"{str(error.instance)[:64]} is no type; known are {', '.join(_TYPES)}, or a list of them"
        raise SchemaRefused(f"The schema is not valid in draft 2020-12: {message}.", path) from None


# --- the faults of a document -----------------------------------------------------------------------------------------


class _Explanation:
    """A search for faults one by one, which follows the schema only where the document fails it.

    The engine makes its whole list before the first fault can be read: 260 000 wrong items cost 4 s and 400 MB.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        self._defs: dict[str, Schema] = schema.get("$defs") or {}
        self._checks: dict[int, tuple[Schema, Callable[[Json], bool]]] = {}
        self._spent = 0.0

    def faults(self, schema: Schema, instance: Json, path: str) -> Iterator[Violation]:
        """Yield each violation in a value that fails `schema`: at least one.

        `path` is the dotted path of the value in its document. Call it only for a value that fails.
        """
        if not isinstance(schema, dict):
            yield Violation(path, "Nothing is allowed here; leave it out.")
            return
        found = False
        for fault in chain(self._own(schema, instance, path), self._inside(schema, instance, path)):
            found = True
            yield fault
        if not found:
            keyword = next((name for name in schema if name in _FROM_ALL), "type")
            yield _violation(path, keyword, schema, instance)

    def _own(self, schema: dict[str, Any], instance: Json, path: str) -> Iterator[Violation]:
        if isinstance(instance, dict):
            for name in schema.get("required", ()):
                if name not in instance:
                    yield Violation(path, f'The required property "{name}" is missing.'[:MAX_MESSAGE])
        for keyword in schema:
            alone = {name: schema[name] for name in (keyword, *_COMPANIONS.get(keyword, ())) if name in schema}
            if keyword in _ALONE and not self._holds(alone, instance):
                yield _violation(path, keyword, schema, instance)

    def _inside(self, schema: dict[str, Any], instance: Json, path: str) -> Iterator[Violation]:
        beside = ((part, instance, path) for part in self._beside(schema, instance))
        for part, value, place in chain(beside, _members(schema, instance, path)):
            if not self._holds(part, value):
                yield from self.faults(part, value, place)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema and not self._holds({keyword: schema[keyword]}, instance):
                fitting = [part for part in schema[keyword] if self._is_for(part, instance)]
                if len(fitting) == 1 and not self._holds(fitting[0], instance):
                    yield from self.faults(fitting[0], instance, path)
                else:
                    yield _violation(path, keyword, schema, instance)

    def _beside(self, schema: dict[str, Any], instance: Json) -> list[Schema]:
        """Return the schemas that must hold for the same value."""
        parts: list[Schema] = [*schema.get("allOf", ())]
        if "$ref" in schema:
            parts.append(self._defs[referenced_name(schema)])
        if "if" in schema:
            parts.append(schema.get("then" if self._holds(schema["if"], instance) else "else", True))
        if isinstance(instance, dict):
            parts += [part for name, part in schema.get("dependentSchemas", {}).items() if name in instance]
        return parts

    def _is_for(self, part: Schema, instance: Json) -> bool:
        while isinstance(part, dict) and "type" not in part and "$ref" in part:
            part = self._defs[referenced_name(part)]
        return part is not False and (part is True or self._holds({"type": part.get("type", _ANY)}, instance))

    def _holds(self, part: Schema, instance: Json) -> bool:
        """Check a value against this part alone; true for new parts if too much was compiled."""
        known = self._checks.get(id(part))
        if known is None:
            alone = {"allOf": [part], "$defs": self._reached(part)}
            seen = (patterns_in(node) for _, node in subschemas(alone))
            self._spent += sum(1 + sum(map(explaining_weight, found)) for found in seen)
            if self._spent > _EXPLAIN_AT_MOST:
                return True
            known = self._checks[id(part)] = (part, _compile(alone).is_valid)
        return known[1](instance)

    def _reached(self, part: Schema) -> dict[str, Schema]:
        reached: dict[str, Schema] = {}
        waiting = [part]
        while waiting:
            for name in [referenced_name(node) for _, node in subschemas(waiting.pop()) if "$ref" in node]:
                if name not in reached:
                    reached[name] = self._defs[name]
                    waiting.append(self._defs[name])
        return reached


def _members(schema: dict[str, Any], instance: Json, path: str) -> Iterator[tuple[Schema, Json, str]]:
    """Yield the members of a document, each with its schema by name or index, and its path."""
    if isinstance(instance, dict):
        named = schema.get("properties", {})
        other = True if "patternProperties" in schema else schema.get("additionalProperties", True)
        yield from ((named.get(name, other), item, f"{path}/{escape_step(name)}") for name, item in instance.items())
    elif isinstance(instance, list):
        first, other = schema.get("prefixItems", ()), schema.get("items", True)
        for place, item in enumerate(instance):
            yield first[place] if place < len(first) else other, item, f"{path}/{place}"


def _violation(path: str, keyword: str, schema: dict[str, Any], instance: Json) -> Violation:
    wanted = orjson.dumps(schema.get(keyword))[: 2 * MAX_MESSAGE].decode(errors="ignore")
    kind = _KINDS.get(type(instance), "null")
    return Violation(path, f'The value, {kind}, does not satisfy "{keyword}": {wanted}'[:MAX_MESSAGE])
