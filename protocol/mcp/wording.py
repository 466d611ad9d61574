"""Rename tools in the market's own sentences and next steps over MCP: unlisted tools are named as calls of call_tool.

Many hosts call listed tools only. Only members that a record's type marks as the market's are changed, never other
agents' text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import is_not
from types import UnionType
from typing import Annotated, Any, NotRequired, TypeAlias, Union, get_args, get_origin

import mcp_types as t

from protocol.mcp.toolsets import CALL
from protocol.untrusted_text import held_in, marks_of, members_of, record_type
from tools.engine.registry import Operation
from tools.events.payloads import PAYLOADS
from tools.kernel.errors import Json
from tools.kernel.records import Step
from tools.kernel.signed_records import Signature
from tools.kernel.text_authors import OURS, Payload

WORD = re.compile(r"(?<![\w/`.=])[a-z]+(?:_[a-z0-9]+)+(?![\w/`])")  # not in paths or code, nor a second time
TEXTS = (str, list[str], dict[str, str], list[dict[str, str]])
Sayings: TypeAlias = tuple["Saying", ...]
Reword: TypeAlias = Callable[[Json], Json]


@dataclass(frozen=True, slots=True)
class Saying:
    """A member of a record with sentences of the market, with steps, or with records of both."""

    name: str
    steps: bool = False
    inner: Sayings = ()
    each: bool = False
    payload: Payload | None = None


ERROR: Sayings = (Saying("hint"), Saying("next_steps", steps=True))
FAILING = Saying("details", inner=(Saying("failing", inner=ERROR, each=True),))
REFUSAL: Sayings = (Saying("error", inner=(*ERROR, FAILING)),)


@dataclass(frozen=True, slots=True)
class Wording:
    """The wording for a connection that does not list the tools `hidden`."""

    hidden: frozenset[str]

    def name(self, tool: str) -> str:
        """Return the name of a tool for use in a sentence."""
        return f"{CALL}(name={tool})" if tool in self.hidden else tool

    def text(self, text: str) -> str:
        """Rename the tools in a sentence of the market; a name alone is no sentence."""
        if not self.hidden or "_" not in text or " " not in text:
            return text
        return WORD.sub(lambda found: self.name(found[0]), text)

    def record(self, op: Operation, record: dict[str, Json]) -> dict[str, Json]:
        """Rename the tools in an operation's record; return the same object if nothing changes."""
        if not self.hidden:
            return record
        return self._object(record, sayings_in(record_type(op, record)))

    def refusal(self, record: dict[str, Json]) -> dict[str, Json]:
        """Rename the tools in a refusal, below `error`."""
        return self._object(record, REFUSAL) if self.hidden else record

    def tool(self, tool: t.Tool) -> t.Tool:
        """Rename the tools in the descriptions of a tool, its arguments and its results."""
        if not self.hidden:
            return tool
        schemas = {name: self._schema(getattr(tool, name)) for name in ("input_schema", "output_schema")}
        return tool.model_copy(update={"description": self.text(tool.description or ""), **schemas})

    def _schema(self, schema: Json) -> Json:
        if isinstance(schema, list):
            return [self._schema(one) for one in schema]
        if not isinstance(schema, dict):
            return schema
        return {
            name: self.text(one) if name == "description" and isinstance(one, str) else self._schema(one)
            for name, one in schema.items()
        }

    def _object(self, record: dict[str, Json], sayings: Sayings) -> dict[str, Json]:
        found = record
        for saying in sayings:
            value = record.get(saying.name)
            told = self._said(value, saying, record) if value else value
            if told is not value:
                found = {**found, saying.name: told}
        return found

    def _said(self, value: Json, saying: Saying, beside: dict[str, Json]) -> Json:
        if saying.steps:
            return _each(value, self._step)
        inner = saying.inner
        if saying.payload is not None:
            kind = PAYLOADS.get(f"{saying.payload.prefix}{beside.get('type')}")
            inner = () if kind is None else sayings_in(kind)
        elif not inner:
            return _deep(value, self.text)
        if saying.each:
            return _each(value, lambda one: self._object(one, inner))
        return self._object(value, inner)

    def _step(self, step: dict[str, Json]) -> dict[str, Json]:
        """Replace a step that calls an unlisted tool by a call of call_tool."""
        why = self.text(step.get("why") or "")
        told = step if why == step.get("why", "") else {**step, "why": why}
        if step.get("tool") not in self.hidden:
            return told
        return {**told, "tool": CALL, "arguments": {"name": step["tool"], "arguments": step.get("arguments") or {}}}


@cache
def sayings_in(kind: Any, within: tuple[Any, ...] = ()) -> Sayings:
    """Return the places of the market's sentences and steps in a record type.

    `within`: the types of the records around it.
    """
    hints = members_of(kind)
    if Signature in hints.values():  # signed content must not change
        return ()
    found = (_saying(name, hint, (*within, kind)) for name, hint in hints.items())
    return tuple(saying for saying in found if saying is not None)


def _saying(name: str, hint: Any, within: tuple[Any, ...]) -> Saying | None:
    marks = marks_of(hint)
    held = {record: many for record, many in held_in(hint) if record not in within}
    if Step in held:
        return Saying(name, steps=True)
    if OURS in marks and any(bare in TEXTS for bare in _bare(hint)):
        return Saying(name)
    payload = next((mark for mark in marks if isinstance(mark, Payload)), None)
    inner = tuple(dict.fromkeys(saying for record in held for saying in sayings_in(record, within)))
    return Saying(name, inner=inner, each=any(held.values()), payload=payload) if inner or payload else None


def _bare(hint: Any) -> tuple[Any, ...]:
    """Return the types of a field without their annotations."""
    if get_origin(hint) is Annotated:
        return _bare(hint.__origin__)
    if get_origin(hint) in (Union, UnionType, NotRequired):
        return tuple(bare for part in get_args(hint) for bare in _bare(part))
    return (hint,)


def _deep(value: Json, change: Reword) -> Json:
    """Apply a change to every text in a value."""
    return change(value) if isinstance(value, str) else _each(value, lambda one: _deep(one, change))


def _each(values: Json, change: Reword) -> Json:
    """Apply a change to each item; return the same object if nothing changes."""
    if isinstance(values, list):
        told = [change(value) for value in values]
        return told if any(map(is_not, told, values)) else values
    named = {name: change(value) for name, value in values.items()}
    return named if any(map(is_not, named.values(), values.values())) else values
