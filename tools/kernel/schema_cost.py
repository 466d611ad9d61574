"""The parts of a JSON Schema, and what it costs to compile it, to check a document against it and to explain faults."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from graphlib import TopologicalSorter
from math import prod
from typing import Any, TypeAlias

import orjson

from tools.kernel.strict_json import Json

MAX_PATTERNS, MAX_PATTERN_LENGTH = 100, 512
MAX_READING = 20_000  # microseconds to compile all patterns of a schema
TOO_LONG = (
    "The patterns take too long to read: shorten them, count what repeats (\\d{4}, not \\d\\d\\d\\d), "
    "and write [0-9] for \\d or [ \\t] for \\s where that will do."
)
MAX_LIGHT_BYTES, MAX_LIGHT_COST, MAX_LIGHT_READING = 64 * 1024, 300_000, 2_000
KEPT_CHECKERS = 256

_IN_PLACE = {"not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas"}
_BELOW = {
    "items", "prefixItems", "contains", "properties", "patternProperties", "additionalProperties", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties",
}  # fmt: skip
_LISTS = {"allOf", "anyOf", "oneOf", "prefixItems"}
_MAPS = {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
_SINGLE = (_IN_PLACE | _BELOW | {"contentSchema"}) - _LISTS - _MAPS
APPLICATORS = frozenset(_SINGLE | _LISTS | _MAPS)  # the keywords whose values are schemas
BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
_REF = re.compile(r"#/\$defs/([A-Za-z0-9._-]{1,128})")
_COUNTED = re.compile(r"\{(\d{1,9})(?:,(\d{0,9}))?\}")
_FLAGS = re.compile(r"(?<!\\)(?:\\\\)*\(\?[a-zA-Z-]+[:)]")
_RESPELLED = re.compile(r"\\[dDwWcsS]")
_SPACE, _TABLE = re.compile(r"\\[sS]"), re.compile(r"\\[pP]")

Schema: TypeAlias = "dict[str, Any] | bool"


# --- the subschemas of a schema ---------------------------------------------------------------------------------------


def subschemas(schema: object, pointer: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the schema and every schema in it with its JSON Pointer, except for booleans."""
    if isinstance(schema, dict):
        yield pointer, schema
        for keyword, value in schema.items():
            for steps, inner in _inner(keyword, value):
                yield from subschemas(inner, pointer + steps)


def _inner(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    if keyword in _SINGLE:
        yield f"/{keyword}", value
    elif keyword in _LISTS and isinstance(value, list):
        yield from ((f"/{keyword}/{place}", item) for place, item in enumerate(value))
    elif keyword in _MAPS and isinstance(value, dict):
        yield from ((f"/{keyword}/{escape_step(name)}", item) for name, item in value.items())


def referenced_name(node: dict[str, Any]) -> str:
    """Return the definition that a $ref names; "" for any other reference."""
    match = _REF.fullmatch(node["$ref"]) if isinstance(node["$ref"], str) else None
    return match[1] if match else ""


def escape_step(step: str) -> str:
    """Write a name as a step of a JSON Pointer (RFC 6901)."""
    return step.replace("~", "~0").replace("/", "~1")


# --- the cost of patterns ---------------------------------------------------------------------------------------------


def patterns_in(node: dict[str, Any]) -> list[str]:
    """Return the patterns that one subschema has itself."""
    named = node.get("patternProperties")
    found = list(named) if isinstance(named, dict) else []
    return [*found, node["pattern"]] if isinstance(node.get("pattern"), str) else found


def refusal_of(pattern: str) -> str | None:
    """Return why a pattern is refused, as far as its text shows, or None."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        return f"A pattern is longer than {MAX_PATTERN_LENGTH} characters."
    if _FLAGS.search(pattern):
        return "A pattern sets flags, which ECMA-262 has not: leave (?i) out and write [Aa] for both cases."
    return None


def running_weight(pattern: str) -> float:
    """Return the cost of running a pattern per character, in units of one subschema.

    It grows with the states that a character can meet: about one for four letters, and as many as a repetition counts.
    """
    counts = [max(int(low), int(high or 1), 1) for low, high in _COUNTED.findall(pattern)]
    states = len(pattern) / 4 + (prod(counts) if "){" in pattern else sum(counts))
    return 2 + min(states, 400) / 4


def reading_weight(pattern: str) -> float:
    """Return roughly the microseconds that the engine needs at most to compile a pattern.

    The engine rewrites the classes of ECMA-262 one after the other and parses the whole pattern again for each one, and
    \\s becomes ten ranges. A Unicode class is a table. Flags are refused because of the cost of ignoring case:
    milliseconds for one wide class.
    """
    respelled = len(_RESPELLED.findall(pattern))
    spelled_out = len(pattern) + 10 * len(_SPACE.findall(pattern))
    return len(pattern) + respelled * spelled_out / 6 + 20 * len(_TABLE.findall(pattern))


def explaining_weight(pattern: str) -> float:
    """Return the cost of compiling a pattern to explain a failure, in subschemas of 5 µs."""
    return 10 * running_weight(pattern) + reading_weight(pattern) / 5


@lru_cache(KEPT_CHECKERS)
def pattern_cost(schema_text: str) -> float:
    """Return roughly the microseconds that the engine needs to compile a schema's patterns."""
    return reading_of(orjson.loads(schema_text))


def reading_of(schema: Json) -> float:
    """Return the same for a parsed schema, which need not be accepted."""
    return sum(reading_weight(one) for _, node in subschemas(schema) for one in patterns_in(node))


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


# --- the cost of a check ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measure:
    """Expanded subschemas, their levels, and the weight of all that can meet at one value."""

    size: int
    height: int
    breadth: float


@lru_cache(KEPT_CHECKERS)
def _breadth(schema_text: str) -> float:
    return measure_all(orjson.loads(schema_text)).breadth


def measure_all(schema: dict[str, Any]) -> Measure:
    """Measure each definition after those it refers to; raises CycleError if they form a cycle."""
    defs: dict[str, Schema] = schema.get("$defs") or {}
    edges = {
        name: [referenced_name(node) for _, node in subschemas(part) if "$ref" in node] for name, part in defs.items()
    }
    measures: dict[str, Measure] = {}
    for name in TopologicalSorter(edges).static_order():
        measures[name] = _measure(defs[name], measures)
    whole = _measure(schema, measures)
    return Measure(whole.size, max(part.height for part in (whole, *measures.values())), whole.breadth)


def _measure(schema: Schema, defs: Mapping[str, Measure]) -> Measure:
    """Measure one schema, given the measures of the definitions that it refers to.

    The engine evaluates what is beside an unevaluated* keyword twice, so nesting them doubles the cost each time.
    """
    if not isinstance(schema, dict):
        return Measure(1, 1, 1)
    keywords = schema.keys() & (_IN_PLACE | _BELOW)
    parts = {keyword: [_measure(inner, defs) for _, inner in _inner(keyword, schema[keyword])] for keyword in keywords}
    here = [part for keyword in keywords & _IN_PLACE for part in parts[keyword]]
    here += [defs[referenced_name(schema)]] if "$ref" in schema else []
    every = [*here, *(part for keyword in keywords & _BELOW for part in parts[keyword])]
    twice = 2 if "unevaluatedItems" in schema or "unevaluatedProperties" in schema else 1
    again = sum(part.size for part in (*here, *parts.get("contains", ())))
    breadth = {keyword: [part.breadth for part in found] for keyword, found in parts.items()}
    return Measure(
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
    weight = 1 + 8.0 * len(BOUNDS & schema.keys()) + (45 if schema.get("uniqueItems") is True else 0)
    if "multipleOf" in schema:
        weight += 30 if isinstance(schema["multipleOf"], int) else 350
    weight += sum(len(schema.get(keyword, ())) / 8 for keyword in ("dependentRequired", "dependentSchemas"))
    weight += _literal_weight([schema.get("const"), schema.get("enum")])
    return weight + sum(map(running_weight, patterns_in(schema)))


def _literal_weight(value: object) -> float:
    if isinstance(value, (dict, list)):
        return len(value) / 8 + sum(map(_literal_weight, value.values() if isinstance(value, dict) else value))
    return 10 if isinstance(value, float) else 2 if isinstance(value, int) else 0
