"""Acceptance rules: checks that the market makes on a sealed output before it counts as delivered."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from tools.kernel.canonical_json import canonical, sha256_hex
from tools.kernel.json_schema import checker_for
from tools.kernel.schema_cost import MAX_LIGHT_READING, is_expensive, pattern_cost

Json = Any
Kind = Literal["schema", "present", "min_length", "max_length", "sha256"]
MAX_RULES, MAX_BYTES = 16, 16_384
MAX_HASHED = 32_768  # bytes; hashing takes about 10 ms if every number needs the slow canonical form
_ARRAY_INDEX = re.compile("0|[1-9][0-9]*")
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Rule:
    """One acceptance rule; `path` is a JSON Pointer (RFC 6901) into the output.

    The pointer "" means the whole output. The meaning of `value` depends on the kind.
    """

    name: str
    kind: Kind
    path: str
    value: Json = None


def at(document: Json, pointer: str) -> Json:
    """Return the value at a JSON Pointer, or a marker that only `is_missing` recognises."""
    value = document
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _ARRAY_INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            return _MISSING
    return value


def is_missing(value: Json) -> bool:
    return value is _MISSING


def rules_in(text: str) -> list[Rule]:
    """Parse rules from the JSON text in which they are stored."""
    return [Rule(**one) for one in orjson.loads(text)]


def failures(rules: Sequence[Rule], output: Json) -> list[tuple[Rule, str]]:
    """Return the rules that the output breaks and how, faults of schemas last.

    A rule about a missing value is broken.
    """
    hashes: dict[str, str] = {}
    found = []
    for rule in rules:
        value = at(output, rule.path)
        if rule.kind == "sha256" and not is_missing(value) and rule.path not in hashes:
            hashes[rule.path] = sha256_hex(canonical(value))
        why = _why(rule, value, hashes)
        if why is not None:
            found.append((rule, why))
    return found + [fault for rule in rules if rule.kind == "schema" for fault in _schema_faults(rule, output)]


def is_costly(rules: Sequence[Rule], output_bytes: int) -> bool:
    """Check whether `failures` may hold the interpreter's lock for long.

    If so, it belongs in a process that can be stopped.
    """
    hashed = {rule.path for rule in rules if rule.kind == "sha256"}
    schemas = [_text(rule) for rule in rules if rule.kind == "schema"]
    if len(hashed) * output_bytes > MAX_HASHED or sum(map(pattern_cost, schemas)) > MAX_LIGHT_READING:
        return True
    return any(is_expensive(one, output_bytes * len(schemas)) for one in schemas)


def _schema_faults(rule: Rule, output: Json) -> Iterator[tuple[Rule, str]]:
    value = at(output, rule.path)
    found = () if is_missing(value) else checker_for(_text(rule)).violations(value)
    return ((rule, f"{one.path}: {one.message}".removeprefix(": ")) for one in found)


def _text(rule: Rule) -> str:
    return orjson.dumps(rule.value).decode()


def _why(rule: Rule, value: Json, hashes: Mapping[str, str]) -> str | None:
    if is_missing(value):
        return f"nothing is at {rule.path or 'the top'}"
    if rule.kind in ("min_length", "max_length"):
        if not isinstance(value, str | list | dict):
            return "only a text, a list or an object has a length"
        if rule.kind == "min_length" and len(value) < rule.value:
            return f"is {len(value)} long, at least {rule.value} is wanted"
        if rule.kind == "max_length" and len(value) > rule.value:
            return f"is {len(value)} long, at most {rule.value} is wanted"
    if rule.kind == "sha256" and hashes[rule.path] != rule.value:
        return "its RFC 8785 form has another sha256"
    return None
