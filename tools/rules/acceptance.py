"""Acceptance rules: what an output must hold before it counts as delivered, checked by the market while nobody else can read it."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from tools.rules.canonical import canonical

Json = Any
Kind = Literal["schema", "present", "min_length", "max_length", "sha256"]
MOST_RULES, MOST_BYTES = 16, 16_384
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `path` is a JSON Pointer (RFC 6901) into the output, "" for all of it; what `value` is depends on the kind."""

    name: str
    kind: Kind
    path: str
    value: Json = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A rule an output does not keep."""

    rule: Rule
    message: str


def at(document: Json, pointer: str) -> Json:
    """The value a JSON Pointer names; MISSING's identity is told by `is_missing`."""
    value = document
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif (
            isinstance(value, list)
            and name.isascii()
            and name.isdigit()
            and str(int(name)) == name
            and int(name) < len(value)
        ):
            value = value[int(name)]
        else:
            return _MISSING
    return value


def is_missing(value: Json) -> bool:
    return value is _MISSING


def failures(rules: Sequence[Rule], output: Json) -> list[Failure]:
    """Every rule but those of kind `schema` that the output does not keep; a rule about a value that is not there fails."""
    found = []
    for rule in rules:
        why = _why(rule, at(output, rule.path))
        if why is not None:
            found.append(Failure(rule, why))
    return found


def _why(rule: Rule, value: Json) -> str | None:
    if is_missing(value):
        return f"nothing is at {rule.path or 'the top'}"
    if rule.kind in ("min_length", "max_length"):
        if not isinstance(value, str | list | dict):
            return "only a text, a list or an object has a length"
        if rule.kind == "min_length" and len(value) < rule.value:
            return f"is {len(value)} long, at least {rule.value} is wanted"
        if rule.kind == "max_length" and len(value) > rule.value:
            return f"is {len(value)} long, at most {rule.value} is wanted"
    if rule.kind == "sha256" and sha256(canonical(value)).hexdigest() != rule.value:
        return "its RFC 8785 form has another sha256"
    return None
