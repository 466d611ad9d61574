"""JSON Schemas from clients: checks a schema once before it is stored, and documents against it.

Only the part of draft 2020-12 whose cost can be bounded is accepted. Documents are checked by jsonschema-rs, offline
and with a linear-time regex engine.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from itertools import chain, islice
from typing import Any, TypeAlias

import jsonschema_rs
import orjson

from tools.kernel import schema_patterns as patterns
from tools.kernel.strict_json import BadJson, Json, validate_tree

MAX_BYTES, MAX_DEPTH, MAX_SUBSCHEMAS, MAX_EXPANDED = 64 * 1024, 32, 4000, 20_000
MAX_REFS, MAX_ENUM = 200, 1000
MAX_VIOLATIONS, MAX_MESSAGE = 20, 300
MAX_LIGHT_BYTES, MAX_LIGHT_COST, MAX_LIGHT_READING = 64 * 1024, 300_000, 2_000
KEPT_CHECKERS = 256

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = re.compile(r"#/\$defs/([A-Za-z0-9._-]{1,128})")
_REGEX_BYTES = 2 << 20  # shared by a schema's compiled patterns; their caches may take as much again
_EXPLAIN_AT_MOST = 10_000  # subschemas compiled to explain one document, a pattern counting as several: about 50 ms

_REFUSED = {"$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"}
_REFUSED |= {"dependencies"}  # not a keyword of 2020-12, but the engine obeys it
_IN_PLACE = {"not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas"}
_BELOW = {
    "items", "prefixItems", "contains", "properties", "patternProperties", "additionalProperties", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties",
}  # fmt: skip
_LISTS = {"allOf", "anyOf", "oneOf", "prefixItems"}
_MAPS = {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
_SINGLE = (_IN_PLACE | _BELOW | {"contentSchema"}) - _LISTS - _MAPS
_BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
_ALONE = {
    "type", "enum", "const", "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "not",
    "contains", "minProperties", "maxProperties", "dependentRequired", "patternProperties", "propertyNames", *_BOUNDS,
}  # fmt: skip
_COMPANIONS = {"contains": ("minContains", "maxContains")}
# these depend on what other keywords left over
_FROM_ALL = {"additionalProperties", "unevaluatedItems", "unevaluatedProperties"}
_ANY = ["object", "array", "string", "number", "boolean", "null"]
KEYWORDS = sorted({*_ALONE, *_FROM_ALL, "anyOf", "oneOf"})
_TYPES = [*_ANY, "integer"]
_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
KINDS = sorted({*_KINDS.values(), "null"})

Schema: TypeAlias = "dict[str, Any] | bool"


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
    if reading_of(schema) > patterns.MAX_READING:
        raise SchemaRefused(patterns.TOO_LONG)
    _compile(schema)
    measured = _measure_all(schema)
    if measured.height > MAX_DEPTH or measured.size > MAX_EXPANDED:
        bounds = f"{MAX_DEPTH} levels or {MAX_EXPANDED} subschemas"
        raise SchemaRefused(f"The schema has more than {bounds} when its references are followed.")


@lru_cache(KEPT_CHECKERS)
def checker_for(schema_text: str) -> "Validator":
    """Return the checker of an accepted schema, given as its canonical text; cached."""
    return Validator(orjson.loads(schema_text))


@lru_cache(KEPT_CHECKERS)
def pattern_cost(schema_text: str) -> float:
    """Return roughly the microseconds that the engine needs to compile a schema's patterns."""
    return reading_of(orjson.loads(schema_text))


def reading_of(schema: Json) -> float:
    """Return the same for a parsed schema, which need not be accepted."""
    return sum(patterns.reading_weight(one) for _, node in _subschemas(schema) for one in patterns.patterns_in(node))


def is_expensive(schema_text: str, instance_bytes: int) -> bool:
    """Check whether a check may hold the interpreter's lock for more than about 20 ms.

    If so, it belongs in a process that can be stopped: the engine keeps the lock, so a thread does not help. Slow
    patterns count too, because explaining a failure compiles them again for each level above them. A check costs at
    most (values in the document) x (subschemas that can meet at one value). A value takes at least two bytes, a unit of
    that breadth 0.13 microseconds (measured). `violations` takes a few times as long.
    """
    if instance_bytes > MAX_LIGHT_BYTES or pattern_cost(schema_text) > MAX_LIGHT_READING:
        return True
    return instance_bytes * _breadth(schema_text) > MAX_LIGHT_COST


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


def _subschemas(schema: object, pointer: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the schema and every schema in it with its JSON Pointer, except for booleans."""
    if isinstance(schema, dict):
        yield pointer, schema
        for keyword, value in schema.items():
            for steps, inner in _inner(keyword, value):
                yield from _subschemas(inner, pointer + steps)


def _inner(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    if keyword in _SINGLE:
        yield f"/{keyword}", value
    elif keyword in _LISTS and isinstance(value, list):
        yield from ((f"/{keyword}/{place}", item) for place, item in enumerate(value))
    elif keyword in _MAPS and isinstance(value, dict):
        yield from ((f"/{keyword}/{_escape(name)}", item) for name, item in value.items())


def _check_subschemas(schema: dict[str, Any]) -> None:
    names = schema.get("$defs") if isinstance(schema.get("$defs"), dict) else {}
    found = refs = 0
    for count, (pointer, node) in enumerate(_subschemas(schema), 1):
        found, refs = found + len(patterns.patterns_in(node)), refs + ("$ref" in node)
        if count > MAX_SUBSCHEMAS or found > patterns.MAX_PATTERNS or refs > MAX_REFS:
            bounds = f"{MAX_SUBSCHEMAS} subschemas, {patterns.MAX_PATTERNS} patterns and {MAX_REFS} references"
            raise SchemaRefused(f"The schema has more than is admitted: {bounds}.", pointer)
        _check_node(pointer, node, names or {})


def _check_node(pointer: str, node: dict[str, Any], names: Mapping[str, Any]) -> None:
    for keyword in node:
        if keyword in _REFUSED or (keyword == "$schema" and pointer):
            raise SchemaRefused(f"{keyword} is not supported here.", f"{pointer}/{keyword}")
    for pattern in patterns.patterns_in(node):
        if wrong := patterns.refusal_of(pattern):
            raise SchemaRefused(wrong, pointer)
    if isinstance(node.get("enum"), list) and len(node["enum"]) > MAX_ENUM:
        raise SchemaRefused(f"An enum has more than {MAX_ENUM} values.", f"{pointer}/enum")
    if "$ref" in node and _target(node) not in names:
        wanted = "#/$defs/<name> of a schema at the top, its name of letters, digits, '.', '_' and '-'"
        raise SchemaRefused(f"$ref must be {wanted}.", f"{pointer}/$ref")


def _target(node: dict[str, Any]) -> str:
    match = _REF.fullmatch(node["$ref"]) if isinstance(node["$ref"], str) else None
    return match[1] if match else ""


def _compile(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    size = _REGEX_BYTES // max(1, sum(len(patterns.patterns_in(node)) for _, node in _subschemas(schema)))
    options = jsonschema_rs.RegexOptions(size_limit=size, dfa_size_limit=size)
    try:
        return jsonschema_rs.Draft202012Validator(schema, offline=True, validate_formats=False, pattern_options=options)
    except jsonschema_rs.ValidationError as error:
        path = "".join(f"/{_escape(str(step))}" for step in error.instance_path)
        if error.message.endswith('is not a "regex"'):
            why = "is no regular expression without lookaround and backreferences, or too large"
            raise SchemaRefused(f"A pattern {why}.", path) from None
        message = error.message[:200]
        if error.instance_path[-1:] == ["type"] and isinstance(error.instance, (str, list)):
            message = f"{str(error.instance)[:64]} is no type; known are {', '.join(_TYPES)}, or a list of them"
        raise SchemaRefused(f"The schema is not valid in draft 2020-12: {message}.", path) from None


def _escape(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


# --- the cost of a check ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Measure:
    """Expanded subschemas, their levels, and the weight of all that can meet at one value."""

    size: int
    height: int
    breadth: float


@lru_cache(KEPT_CHECKERS)
def _breadth(schema_text: str) -> float:
    return _measure_all(orjson.loads(schema_text)).breadth


def _measure_all(schema: dict[str, Any]) -> _Measure:
    """Measure each definition after those it refers to; raises SchemaRefused for a cycle."""
    defs: dict[str, Schema] = schema.get("$defs") or {}
    edges = {name: [_target(node) for _, node in _subschemas(part) if "$ref" in node] for name, part in defs.items()}
    measures: dict[str, _Measure] = {}
    try:
        for name in TopologicalSorter(edges).static_order():
            measures[name] = _measure(defs[name], measures)
    except CycleError:
        raise SchemaRefused("A recursive $ref is not supported.", "/$defs") from None
    whole = _measure(schema, measures)
    return _Measure(whole.size, max(part.height for part in (whole, *measures.values())), whole.breadth)


def _measure(schema: Schema, defs: Mapping[str, _Measure]) -> _Measure:
    """Measure one schema, given the measures of the definitions that it refers to.

    The engine evaluates what is beside an unevaluated* keyword twice, so nesting them doubles the cost each time.
    """
    if not isinstance(schema, dict):
        return _Measure(1, 1, 1)
    keywords = schema.keys() & (_IN_PLACE | _BELOW)
    parts = {keyword: [_measure(inner, defs) for _, inner in _inner(keyword, schema[keyword])] for keyword in keywords}
    here = [part for keyword in keywords & _IN_PLACE for part in parts[keyword]]
    here += [defs[_target(schema)]] if "$ref" in schema else []
    every = [*here, *(part for keyword in keywords & _BELOW for part in parts[keyword])]
    twice = 2 if "unevaluatedItems" in schema or "unevaluatedProperties" in schema else 1
    again = sum(part.size for part in (*here, *parts.get("contains", ())))
    breadth = {keyword: [part.breadth for part in found] for keyword, found in parts.items()}
    return _Measure(
        size=1 + sum(part.size for part in every) + (twice - 1) * again,
        height=1 + max((part.height for part in every), default=0),
        breadth=max(_own_weight(schema), _weight_below(breadth, twice)) + twice * sum(part.breadth for part in here),
    )


def _weight_below(breadth: dict[str, list[float]], twice: int) -> float:
    """Weigh what is at one member: one property and all patterns, or a place and all `contains`."""
    most = {keyword: max(found, default=0) for keyword, found in breadth.items()}.get
    in_object = max(most("properties", 0), most("additionalProperties", 0)) + sum(breadth.get("patternProperties", ()))
    in_array = max(most("prefixItems", 0), most("items", 0)) + twice * most("contains", 0) + most("unevaluatedItems", 0)
    return max(in_object + most("propertyNames", 0) + most("unevaluatedProperties", 0), in_array)


def _own_weight(schema: dict[str, Any]) -> float:
    """Weigh the keywords that judge a value alone, in subschemas, each measured at its slowest."""
    weight = 1 + 8.0 * len(_BOUNDS & schema.keys()) + (45 if schema.get("uniqueItems") is True else 0)
    if "multipleOf" in schema:
        weight += 30 if isinstance(schema["multipleOf"], int) else 350
    weight += sum(len(schema.get(keyword, ())) / 8 for keyword in ("dependentRequired", "dependentSchemas"))
    weight += _literal_weight([schema.get("const"), schema.get("enum")])
    return weight + sum(map(patterns.running_weight, patterns.patterns_in(schema)))


def _literal_weight(value: object) -> float:
    if isinstance(value, (dict, list)):
        return len(value) / 8 + sum(map(_literal_weight, value.values() if isinstance(value, dict) else value))
    return 10 if isinstance(value, float) else 2 if isinstance(value, int) else 0


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
        """Yield the faults of a value that fails `schema`; at least one."""
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
            parts.append(self._defs[_target(schema)])
        if "if" in schema:
            parts.append(schema.get("then" if self._holds(schema["if"], instance) else "else", True))
        if isinstance(instance, dict):
            parts += [part for name, part in schema.get("dependentSchemas", {}).items() if name in instance]
        return parts

    def _is_for(self, part: Schema, instance: Json) -> bool:
        while isinstance(part, dict) and "type" not in part and "$ref" in part:
            part = self._defs[_target(part)]
        return part is not False and (part is True or self._holds({"type": part.get("type", _ANY)}, instance))

    def _holds(self, part: Schema, instance: Json) -> bool:
        """Check a value against this part alone; true for new parts if too much was compiled."""
        known = self._checks.get(id(part))
        if known is None:
            alone = {"allOf": [part], "$defs": self._reached(part)}
            seen = (patterns.patterns_in(node) for _, node in _subschemas(alone))
            self._spent += sum(1 + sum(map(patterns.explaining_weight, found)) for found in seen)
            if self._spent > _EXPLAIN_AT_MOST:
                return True
            known = self._checks[id(part)] = (part, _compile(alone).is_valid)
        return known[1](instance)

    def _reached(self, part: Schema) -> dict[str, Schema]:
        reached: dict[str, Schema] = {}
        waiting = [part]
        while waiting:
            for name in [_target(node) for _, node in _subschemas(waiting.pop()) if "$ref" in node]:
                if name not in reached:
                    reached[name] = self._defs[name]
                    waiting.append(self._defs[name])
        return reached


def _members(schema: dict[str, Any], instance: Json, path: str) -> Iterator[tuple[Schema, Json, str]]:
    """Yield the members of a document, each with its schema by name or index, and its path."""
    if isinstance(instance, dict):
        named = schema.get("properties", {})
        other = True if "patternProperties" in schema else schema.get("additionalProperties", True)
        yield from ((named.get(name, other), item, f"{path}/{_escape(name)}") for name, item in instance.items())
    elif isinstance(instance, list):
        first, other = schema.get("prefixItems", ()), schema.get("items", True)
        for place, item in enumerate(instance):
            yield first[place] if place < len(first) else other, item, f"{path}/{place}"


def _violation(path: str, keyword: str, schema: dict[str, Any], instance: Json) -> Violation:
    wanted = orjson.dumps(schema.get(keyword))[: 2 * MAX_MESSAGE].decode(errors="ignore")
    kind = _KINDS.get(type(instance), "null")
    return Violation(path, f'The value, {kind}, does not satisfy "{keyword}": {wanted}'[:MAX_MESSAGE])
