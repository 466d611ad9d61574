"""JSON Schemas from strangers: the gate they pass once, and the check of a document against one.

A listing's schemas are hostile input, and so are the documents judged by them. The gate admits the part of draft 2020-12 whose cost
can be bounded; the check runs on jsonschema-rs, offline and on a linear-time regex engine.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from math import prod
from typing import Any, TypeAlias

import jsonschema_rs
import orjson

from tools.rules.jsontext import BadJson, Json, check_tree

MAX_SCHEMA_BYTES = 64 * 1024
MAX_SCHEMA_DEPTH = 32
MAX_SUBSCHEMAS = 4000
MAX_EXPANDED = 20_000
MAX_PATTERNS, MAX_PATTERN_LENGTH = 100, 512
MAX_REFS, MAX_ENUM = 200, 1000
MAX_VIOLATIONS = 20
MAX_MESSAGE = 300
KEPT_CHECKERS = 256
MAX_LIGHT_BYTES, MAX_LIGHT_COST = 64 * 1024, 300_000

_DIALECTS = ("https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#")
_REF = re.compile(r"#/\$defs/([A-Za-z0-9._-]{1,128})")
_REGEX_BYTES = 4 << 20  # shared by the patterns of a schema, compiled; their caches may take as much again
_REFUSED = {
    "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary", "dependencies",
}  # fmt: skip
_ONE = {"not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames", "unevaluatedItems"}
_ONE |= {"unevaluatedProperties", "contentSchema"}
_MANY = {"allOf", "anyOf", "oneOf", "prefixItems"}
_NAMED = {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}

Node: TypeAlias = "dict[str, Any] | bool"


class SchemaRefused(ValueError):
    """A schema the gate does not admit; `path` is a JSON Pointer into it."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong with a document: a JSON Pointer into it and at most 300 characters."""

    path: str
    message: str


def admit(schema: Json) -> None:
    """Raise SchemaRefused unless `schema` can be kept and used against any document.

    Admitted: `"type": "object"` on top; at most 64 KB, 4000 subschemas, 32 levels with references followed, 20 000 subschemas with
    references expanded; 100 patterns of at most 512 characters for a linear-time engine (no lookaround, no backreferences);
    references to `#/$defs/<name>` only, never recursive; no $id, $anchor, $dynamicRef, $vocabulary; $schema absent or 2020-12.
    """
    text = _text_of(schema)
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise SchemaRefused('The schema must say "type": "object" at its top.')
    if len(text) > MAX_SCHEMA_BYTES:
        raise SchemaRefused(f"The schema is larger than {MAX_SCHEMA_BYTES} bytes.")
    if schema.get("$schema", _DIALECTS[0]) not in _DIALECTS:
        raise SchemaRefused("$schema must be absent or draft 2020-12.", "/$schema")
    _check_subschemas(schema)
    measured = _measure_all(schema)
    if measured.height > MAX_SCHEMA_DEPTH:
        raise SchemaRefused(f"The schema is nested more than {MAX_SCHEMA_DEPTH} levels deep, references followed.")
    if measured.size > MAX_EXPANDED:
        raise SchemaRefused(f"The schema expands to more than {MAX_EXPANDED} subschemas when its references are followed.")
    _compile(schema)


@lru_cache(KEPT_CHECKERS)
def compiled(schema_text: str) -> "Checker":
    """The checker of an admitted schema, given as its canonical text; the last 256 are kept."""
    return Checker(orjson.loads(schema_text))


def is_heavy(schema_text: str, instance_bytes: int) -> bool:
    """Whether a check may take more than about 20 ms of the interpreter: then it belongs in a process that can be stopped.

    The check's cost is at most (values in the document) x (subschemas that can meet at one value). A value takes two bytes or
    more, so bytes/2 x breadth bounds it; one unit of breadth is 0.13 microseconds, measured. The engine holds the interpreter's lock.
    """
    return instance_bytes > MAX_LIGHT_BYTES or instance_bytes * _breadth(schema_text) > MAX_LIGHT_COST


class Checker:
    """A compiled schema."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._is_valid: Callable[[Any], bool] = _compile(schema).is_valid

    def is_valid(self, instance: Json) -> bool:
        """Whether the document satisfies the schema."""
        return self._is_valid(instance)

    def violations(self, instance: Json, limit: int = MAX_VIOLATIONS) -> list[Violation]:
        """The first `limit` things wrong with the document; empty exactly when it is valid."""
        if self._is_valid(instance):
            return []
        return list(islice(_Explanation(self._schema).of(self._schema, instance, ""), limit))


# --- the gate -------------------------------------------------------------------------------------------------------------


def _text_of(schema: Json) -> bytes:
    try:
        check_tree(schema)
    except BadJson as bad:
        raise SchemaRefused(bad.message, bad.path) from None
    return orjson.dumps(schema)


def _subschemas(schema: Node, pointer: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schema and every schema inside it, each with its JSON Pointer; booleans and misplaced values are left out."""
    if not isinstance(schema, dict):
        return
    yield pointer, schema
    for keyword, value in schema.items():
        here = f"{pointer}/{_escape(keyword)}"
        for name, inner in _inner(keyword, value):
            yield from _subschemas(inner, here if name is None else f"{here}/{_escape(name)}")


def _inner(keyword: str, value: Any) -> Iterator[tuple[str | None, Any]]:
    if keyword in _ONE:
        yield None, value
    elif keyword in _MANY and isinstance(value, list):
        yield from ((str(place), item) for place, item in enumerate(value))
    elif keyword in _NAMED and isinstance(value, dict):
        yield from value.items()


def _check_subschemas(schema: dict[str, Any]) -> None:
    defs = schema.get("$defs")
    names: set[str] = set(defs) if isinstance(defs, dict) else set()
    subschemas = patterns = refs = 0
    for pointer, node in _subschemas(schema, ""):
        subschemas += 1
        patterns += len(_patterns(node))
        refs += "$ref" in node
        if subschemas > MAX_SUBSCHEMAS:
            raise SchemaRefused(f"The schema has more than {MAX_SUBSCHEMAS} subschemas.")
        if patterns > MAX_PATTERNS:
            raise SchemaRefused(f"The schema has more than {MAX_PATTERNS} patterns.")
        if refs > MAX_REFS:
            raise SchemaRefused(f"The schema has more than {MAX_REFS} references.")
        _check_node(pointer, node, names)


def _check_node(pointer: str, node: dict[str, Any], names: set[str]) -> None:
    for keyword in node:
        if keyword in _REFUSED or (keyword == "$schema" and pointer):
            raise SchemaRefused(f"{keyword} is not supported here.", f"{pointer}/{keyword}")
    if any(len(pattern) > MAX_PATTERN_LENGTH for pattern in _patterns(node)):
        raise SchemaRefused(f"A pattern is longer than {MAX_PATTERN_LENGTH} characters.", pointer)
    if isinstance(node.get("enum"), list) and len(node["enum"]) > MAX_ENUM:
        raise SchemaRefused(f"An enum has more than {MAX_ENUM} values.", f"{pointer}/enum")
    if "$ref" in node:
        name = _target(node["$ref"])
        if name is None:
            raise SchemaRefused("$ref must be #/$defs/<name>, the name of letters, digits, '.', '_' and '-'.", f"{pointer}/$ref")
        if name not in names:
            raise SchemaRefused(f"$ref names {name}, which is not in $defs.", f"{pointer}/$ref")


def _patterns(node: dict[str, Any]) -> list[str]:
    named = node.get("patternProperties")
    found = list(named) if isinstance(named, dict) else []
    return [*found, node["pattern"]] if isinstance(node.get("pattern"), str) else found


def _target(ref: object) -> str | None:
    match = _REF.fullmatch(ref) if isinstance(ref, str) else None
    return match[1] if match else None


def _compile(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    patterns = sum(len(_patterns(node)) for _, node in _subschemas(schema, ""))
    size = _REGEX_BYTES // max(patterns, 1)
    options = jsonschema_rs.RegexOptions(size_limit=size, dfa_size_limit=size)
    try:
        return jsonschema_rs.Draft202012Validator(schema, offline=True, validate_formats=False, pattern_options=options)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        raise _refusal(error) from None


def _refusal(error: jsonschema_rs.ValidationError | jsonschema_rs.ReferencingError) -> SchemaRefused:
    path = "".join(f"/{_escape(str(step))}" for step in getattr(error, "instance_path", ()))
    if error.message.endswith('is not a "regex"'):
        reason = "is not a regular expression of the linear-time engine (no lookaround, no backreferences) or too large for it"
        return SchemaRefused(f"A pattern {reason}.", path)
    return SchemaRefused(f"The schema is not valid under draft 2020-12: {error.message[:200]}", path)


def _escape(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


# --- what a check can cost ------------------------------------------------------------------------------------------------

_IN_PLACE = {"not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas"}
_BELOW = {"items", "prefixItems", "contains", "properties", "patternProperties", "additionalProperties", "propertyNames"}
_BELOW |= {"unevaluatedItems", "unevaluatedProperties"}
_NUMBER_BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}


@dataclass(frozen=True, slots=True)
class Measured:
    """Subschemas with references expanded, levels, and the weight of all that can meet at one value of a document."""

    size: int
    height: int
    breadth: float


@lru_cache(KEPT_CHECKERS)
def _breadth(schema_text: str) -> float:
    return _measure_all(orjson.loads(schema_text)).breadth


def _measure_all(schema: dict[str, Any]) -> Measured:
    """Measures each definition after those it refers to; raises SchemaRefused for a circle."""
    defs: dict[str, Node] = schema.get("$defs") or {}
    edges = {name: [_target(node["$ref"]) for _, node in _subschemas(inner, "") if "$ref" in node] for name, inner in defs.items()}
    measured: dict[str, Measured] = {}
    try:
        for name in TopologicalSorter(edges).static_order():
            measured[name] = _measure(defs[name], measured)
    except CycleError:
        raise SchemaRefused("A recursive $ref is not supported.", "/$defs") from None
    whole = _measure(schema, measured)
    return replace(whole, height=max(part.height for part in (whole, *measured.values())))


def _measure(schema: Node, defs: Mapping[str, Measured]) -> Measured:
    """One schema, given its references' measures.

    jsonschema-rs evaluates what stands beside an unevaluated* keyword twice, so nesting doubles the cost each time.
    """
    if not isinstance(schema, dict):
        return Measured(1, 1, 1)
    here = [_measure(inner, defs) for keyword in _IN_PLACE & schema.keys() for _, inner in _inner(keyword, schema[keyword])]
    if "$ref" in schema:
        here.append(defs[_target(schema["$ref"]) or ""])
    below = {
        keyword: [_measure(inner, defs) for _, inner in _inner(keyword, schema[keyword])] for keyword in _BELOW & schema.keys()
    }
    twice = 2 if "unevaluatedItems" in schema or "unevaluatedProperties" in schema else 1
    again = below.get("contains", [])
    every = [*here, *(part for parts in below.values() for part in parts)]
    return Measured(
        size=1 + sum(part.size for part in every) + (twice - 1) * sum(part.size for part in (*here, *again)),
        height=1 + max((part.height for part in every), default=0),
        breadth=max(_own_weight(schema), _breadth_below(below, twice)) + twice * sum(part.breadth for part in here),
    )


def _breadth_below(below: dict[str, list[Measured]], twice: int) -> float:
    """What can meet at one member: one of the properties but all of the patterns; one place of an array but every `contains`."""
    parts = {keyword: [part.breadth for part in found] for keyword, found in below.items()}
    most = {keyword: max(found, default=0) for keyword, found in parts.items()}
    in_object = max(most.get("properties", 0), most.get("additionalProperties", 0)) + sum(parts.get("patternProperties", ()))
    in_object += most.get("propertyNames", 0) + most.get("unevaluatedProperties", 0)
    in_array = max(most.get("prefixItems", 0), most.get("items", 0)) + twice * most.get("contains", 0) + most.get("unevaluatedItems", 0)
    return max(in_object, in_array)


def _own_weight(schema: dict[str, Any]) -> float:
    """The keywords that look at a value alone, in units of one subschema; measured, each at its worst (floats compare slowly)."""
    weight = 1 + 8.0 * len(_NUMBER_BOUNDS & schema.keys()) + sum(map(_pattern_weight, _patterns(schema)))
    weight += _literal_weight([schema.get("const"), schema.get("enum")])
    weight += sum(len(schema[keyword]) / 8 for keyword in ("dependentRequired", "dependentSchemas") if isinstance(schema.get(keyword), dict))
    if "multipleOf" in schema:
        weight += 30 if isinstance(schema["multipleOf"], int) else 350
    return weight + (45 if schema.get("uniqueItems") is True else 0)


def _literal_weight(value: Any) -> float:
    if isinstance(value, (dict, list)):
        return sum(map(_literal_weight, value.values() if isinstance(value, dict) else value)) + len(value) / 8
    return 10 if isinstance(value, float) else 2 if isinstance(value, int) else 0


def _pattern_weight(pattern: str) -> float:
    """Counted repetitions multiply the states that a byte may meet; beyond the cache of states each is visited."""
    counts = [max(int(low), int(high or 1), 1) for low, high in re.findall(r"\{(\d{1,9})(?:,(\d{0,9}))?\}", pattern)]
    states = prod(counts) if "){" in pattern else sum(counts)
    return 2 + min(states, 400) / 4


# --- what is wrong with a document ----------------------------------------------------------------------------------------

_PLACES: tuple[tuple[str, ...], ...] = ()
_COMPANIONS = {
    "if": ("if", "then", "else"),
    "contains": ("contains", "minContains", "maxContains"),
    "additionalProperties": ("additionalProperties", "properties", "patternProperties"),
    "items": ("items", "prefixItems"),
}
_NARROWED = {"$ref", "allOf", "if", "properties", "items", "prefixItems", "additionalProperties", "required"}
_SILENT = {"$defs", "then", "else", "minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties"}


class _Explanation:
    """Finds violations one after the other, following the schema only into parts the document fails.

    The engine's own list of errors is made whole before the first can be read: 260 000 wrong items took 4 s and 400 MB.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        self._defs: dict[str, Any] = schema.get("$defs") or {}
        self._compiled: dict[int, tuple[Node, Callable[[Any], bool]]] = {}

    def of(self, schema: Node, instance: Json, path: str) -> Iterator[Violation]:
        """The violations of a schema that does not hold for `instance`; at least one."""
