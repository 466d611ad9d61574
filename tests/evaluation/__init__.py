"""Grades how well a language model can choose and call the tools, with the measures of public graders of tool sets.

A tool begins with 100 points and loses the points in `COSTS` for each finding. Tokens are estimated without a
particular model's tokenizer, as the bytes of compact JSON divided by four and rounded up, which is close for English.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

import mcp_types as t
import orjson

from protocol.reserved_arguments import RESERVED

Schema = Mapping[str, Any]
BYTES_PER_TOKEN = 4
VERBS = {
    "accept", "add", "archive", "award", "buy", "call", "cancel", "check", "claim", "close", "create", "decline", "deliver",
    "delete", "dispute", "find", "get", "hire", "link", "list", "mark", "pay", "post", "propose", "put",
    "quote", "recover", "redeliver", "refund", "register", "remove", "report", "request", "review", "revoke",
    "search", "set", "start", "submit", "test", "unlink", "update", "verify", "withdraw",
}  # fmt: skip
WITHOUT_SCHEMA = {"buy_with_x402"}  # its unpaid result has the form of x402, not that of the record
MAX_NAME_LENGTH, MIN_BYTES, MAX_BYTES = 32, 100, 900  # of a name; of a description without a list of tools
MAX_PARAMETERS, MAX_REQUIRED, MAX_LEVELS = 25, 6, 3
MAX_INPUT_TOKENS = 2000  # of name, description and input schema: every client sends them to its model
ALIKE = 0.9  # descriptions with a higher similarity may be confused
COSTS = {
    "name": 15,  # not verb_noun, or too long
    "name too near another": 15,
    "description too short": 15,
    "description too long": 10,
    "description too near another": 15,
    "says neither when to use it nor what is next": 10,
    "parameter without description": 10,
    "parameter without type": 10,
    "text without a bound": 5,
    "unknown arguments let in": 10,
    "too many parameters": 5,
    "too many required": 10,
    "nested too deep": 10,
    "composed at the root": 15,
    "no output schema": 10,
    "annotations left out": 10,
    "too many tokens": 10,
}
LEADS = re.compile(  # phrases for when to call it, what it needs, what follows
    r"\b(after|afterwards|before|until|else|then|once|first|next|needs?|when|where|while|if|unless|for good|permanently|again|later|instead|"
    r"without|use it|call it|takes?|ends?|goes on)\b|\b[a-z]+_[a-z_]+\b"
)


@dataclass
class Graded:
    """One tool with its findings and its number of tokens in a model's context."""

    name: str
    input_tokens: int
    output_tokens: int
    parameters: int
    findings: list[str] = field(default_factory=list)

    @property
    def score(self) -> int:
        return max(0, 100 - sum(COSTS[finding.split(":")[0]] for finding in self.findings))


def tokens(value: Any) -> int:
    """Estimate tokens as a quarter of the bytes of compact JSON."""
    return -(-len(orjson.dumps(value)) // BYTES_PER_TOKEN)


def grade(tools: Iterable[t.Tool]) -> list[Graded]:
    """Grade each tool, alone and compared with the others."""
    listed = list(tools)
    found = [_graded(tool) for tool in listed]
    for at, tool in enumerate(listed):
        for other in listed[:at]:
            if _stem(tool.name) == _stem(other.name):
                found[at].findings.append(f"name too near another: {other.name}")
            if _alike(_own_words(tool), _own_words(other)):
                found[at].findings.append(f"description too near another: {other.name}")
    return found


def _graded(tool: t.Tool) -> Graded:
    shown = tool.model_dump(by_alias=True, exclude_none=True, mode="json")
    sent = {name: shown[name] for name in ("name", "description", "inputSchema")}
    made = Graded(tool.name, tokens(sent), tokens(shown.get("outputSchema")), len(tool.input_schema["properties"]))
    made.findings += [*_names(tool), *_describes(tool), *_takes(tool.input_schema), *_promises(tool)]
    if made.input_tokens > MAX_INPUT_TOKENS:
        made.findings.append("too many tokens")
    return made


def _names(tool: t.Tool) -> Iterator[str]:
    if not re.fullmatch(r"[a-z]+(_[a-z0-9]+)*", tool.name) or len(tool.name) > MAX_NAME_LENGTH:
        yield "name"
    elif tool.name.split("_")[0] not in VERBS:
        yield "name: no verb that is known"


def _describes(tool: t.Tool) -> Iterator[str]:
    text = _own_words(tool)
    if len(text.encode()) < MIN_BYTES:
        yield "description too short"
    if len(text.encode()) > MAX_BYTES:
        yield "description too long"
    if not LEADS.search(text):
        yield "says neither when to use it nor what is next"


def _takes(schema: Schema) -> Iterator[str]:
    properties: Mapping[str, Schema] = schema["properties"]
    if schema.get("additionalProperties") is not False:
        yield "unknown arguments let in"
    if {"anyOf", "oneOf", "allOf"} & schema.keys():
        yield "composed at the root"
    if len(properties) > MAX_PARAMETERS:
        yield "too many parameters"
    if len(schema.get("required", ())) > MAX_REQUIRED:
        yield "too many required"
    for name, given in properties.items():
        if name in RESERVED:  # described once, in the instructions and by call_tool
            continue
        yield from (f"{finding}: {name}" for finding in _takes_well(given, schema))


def _takes_well(given: Schema, whole: Schema) -> Iterator[str]:
    if not given.get("description"):
        yield "parameter without description"
    kinds = list(_kinds(given, whole))
    if not kinds:
        yield "parameter without type"
    for kind in kinds:
        bounded = {"maxLength", "enum", "const", "pattern", "format"} & kind.keys()
        if kind.get("type") == "string" and not bounded:
            yield "text without a bound"
    if _levels(given, whole) > MAX_LEVELS:
        yield "nested too deep"


def _kinds(given: Schema, whole: Schema) -> Iterator[Schema]:
    """Yield the schemas of a value; references and alternatives are resolved.

    A description with "any JSON" counts as a schema without a type.
    """
    given = _resolved(given, whole)
    choices = given.get("anyOf", given.get("oneOf"))
    if choices is not None:
        for choice in choices:
            yield from _kinds(choice, whole)
    elif {"type", "enum", "const"} & given.keys() or "any json" in str(given.get("description", "")).lower():
        yield given


def _levels(given: Schema, whole: Schema) -> int:
    """Count how deep objects are nested in a parameter."""
    given = _resolved(given, whole)
    inner = [*given.get("properties", {}).values(), *given.get("anyOf", ()), *given.get("oneOf", ())]
    if isinstance(given.get("items"), dict):
        inner.append(given["items"])
    deepest = max((_levels(one, whole) for one in inner), default=0)
    return deepest + (1 if "properties" in given else 0)


def _resolved(given: Schema, whole: Schema) -> Schema:
    if "$ref" in given:
        found: Schema = whole["$defs"][given["$ref"].removeprefix("#/$defs/")]
        return {**found, **{name: value for name, value in given.items() if name != "$ref"}}
    return given


def _promises(tool: t.Tool) -> Iterator[str]:
    bare = tool.output_schema is None and tool.name in WITHOUT_SCHEMA
    if not bare and (tool.output_schema or {}).get("type") != "object":
        yield "no output schema"
    said = tool.annotations
    hints = (
        (said.read_only_hint, said.destructive_hint, said.idempotent_hint, said.open_world_hint) if said else (None,)
    )
    if None in hints:
        yield "annotations left out"


def _own_words(tool: t.Tool) -> str:
    """Return the description without the list of unlisted tools at its end."""
    return (tool.description or "").split("\n\nOther tools: ")[0]


def _stem(name: str) -> str:
    return re.sub(r"s(?=_|$)", "", name).replace("_", "")


def _alike(one: str, other: str) -> bool:
    pair = SequenceMatcher(None, one, other, autojunk=False)
    return pair.real_quick_ratio() > ALIKE and pair.quick_ratio() > ALIKE and pair.ratio() > ALIKE
