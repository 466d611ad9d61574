"""Brief records, the default of tool calls without `detail: "full"`, and schemas that fit brief and full ones.

A brief record lacks large members, and in lists members that only the reader of one record needs. No value is shortened
or changed: members are left out whole, and the record then has `detail: "brief"`.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import orjson

from protocol.untrusted_text import held_in, marks_of, members_of, record_type
from tools.engine.json_schemas import Schema, output_schema
from tools.engine.registry import Operation
from tools.kernel.records import ONE_ALONE, Bulk, Foremost, Json, Step
from tools.kernel.signed_records import Signature

DETAIL, BRIEF, FULL = "detail", "brief", "full"
LIMIT = "limit"
MAX_LISTED = 10  # records in a brief list, unless the caller gives a limit
MAX_BYTES: Final = 16 * 1024  # of a value's JSON, in a single record
MAX_BYTES_LISTED: Final = 1024  # of a value's JSON, in a record of a list
DETAIL_SHOWN: Schema = {"const": BRIEF, "description": "something was left out: ask with detail full for all of it"}
STAMP = "date-time"
NULL = {"type": "null"}
STEP_OVER_HTTP = ("method", "path", "body")
Cuts = tuple["Cut", ...]
Left = dict[str, tuple[str, int]]  # JSON Pointer of what was left out → its own address or "", and its bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """A member that a record in brief may lack, or that holds records with such members.

    `most`: the bytes of JSON up to which it is shown. `uri`: the address to read it from, filled with the record's
    members. `kind`: the type of the records that it holds; `inner`: their cuts; `each`: it is a list of them. `first`:
    the number of records of a list that are shown with it.
    """

    name: str
    most: int = 0
    uri: str | None = None
    kind: Any = None
    inner: Cuts = ()
    each: bool = False
    first: int = 0


@dataclass(frozen=True, slots=True)
class Brief:
    """A record as it is shown, and what was left out.

    `left_out` has JSON Pointers into the full record, and `uris` the addresses of resources with their sizes in bytes.
    """

    body: bytes
    record: dict[str, Json]
    left_out: tuple[str, ...] = ()
    uris: tuple[tuple[str, int], ...] = ()


def briefly(op: Operation, arguments: dict[str, Json], detail: str | None) -> dict[str, Json]:
    """Return the arguments of a call; a list is short unless full detail or a limit was given."""
    short = LIMIT in op.input.model_fields and (detail or BRIEF) == BRIEF
    return {LIMIT: MAX_LISTED, **arguments} if short else arguments


def in_brief(op: Operation, body: bytes, detail: str | None) -> Brief:
    """Return a response at the requested level of detail."""
    record, left = orjson.loads(body), Left()
    places = cuts(record_type(op, record)) if (detail or BRIEF) == BRIEF else ()
    found = _without(record, places, left, "") if places else record
    if not left:
        return Brief(body, record)
    found[DETAIL] = BRIEF
    uris = {uri: size for uri, size in left.values() if uri}
    return Brief(orjson.dumps(found), found, tuple(left), tuple(uris.items()))


def as_text(op: Operation, record: dict[str, Json]) -> dict[str, Json]:
    """Return a brief record to read: without nulls and the HTTP half of next steps.

    Signed records and the values that agents wrote stay as they are.
    """
    return _shortened(record, record_type(op, record))


def _shortened(record: dict[str, Json], kind: Any) -> dict[str, Json]:
    hints = members_of(kind)
    if Signature in hints.values():
        return record
    inner, unread = _records_in(kind), STEP_OVER_HTTP if kind is Step else ()
    kept = {name: value for name, value in record.items() if value is not None and name not in unread}
    return {name: _each_shortened(value, *inner[name]) if name in inner else value for name, value in kept.items()}


def _each_shortened(value: Json, kind: Any, many: bool) -> Json:
    if isinstance(value, list):
        return [_shortened(one, kind) for one in value]
    return {name: _shortened(one, kind) for name, one in value.items()} if many else _shortened(value, kind)


@cache
def _records_in(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Return the members of a record that hold one type of record, with whether they hold many."""
    held = {name: [*held_in(hint)] for name, hint in members_of(kind).items()}
    return {name: found[0] for name, found in held.items() if len(found) == 1}


def schema_of(op: Operation) -> Schema:
    """Return the output schema, which fits the record in full and in brief."""
    schema: Schema = compact(output_schema(op))
    lacking: dict[str, set[str]] = {}
    for record in op.output:
        lacking |= _may_lack(record)
    if not any(lacking.values()):
        return schema
    known = {**schema.get("$defs", {})}
    for name, missing in lacking.items():
        if name in known:
            known[name] = _loosened(known[name], missing)
    alone = len(op.output) == 1 and "properties" in schema
    root = _loosened(schema, lacking[op.output[0].__name__]) if alone else schema
    told = {"properties": {**root["properties"], DETAIL: DETAIL_SHOWN}}
    return {**root, **told, **({"$defs": known} if known else {})}


def _loosened(schema: dict[str, Any], missing: set[str]) -> dict[str, Any]:
    return {**schema, "required": [name for name in schema.get("required", ()) if name not in missing]}


@cache
def cuts(kind: Any, listed: bool = False, within: tuple[Any, ...] = ()) -> Cuts:
    """Return the members that a record of this type may lack in brief; most types have none.

    `listed`: it is one of many. `within`: the types of the records around it.
    """
    found = (_cut(name, hint, listed, (*within, kind)) for name, hint in members_of(kind).items())
    return tuple(cut for cut in found if cut is not None)


def _may_lack(kind: Any) -> dict[str, set[str]]:
    """Return the names of the members that may be left out, by record type.

    It covers this type and every record type in it.
    """
    found: dict[str, set[str]] = defaultdict(set)
    waiting = [Cut("", kind=kind, inner=cuts(kind))]
    for holder in waiting:
        found[holder.kind.__name__] |= {cut.name for cut in holder.inner if not cut.inner}
        waiting += [cut for cut in holder.inner if cut.inner]
    return found


def _without(record: dict[str, Json], places: Cuts, left: Left, at: str) -> dict[str, Json]:
    shown = record.copy()
    for cut in places:
        value = record.get(cut.name)
        if value is None:
            continue
        if cut.inner:
            shown[cut.name] = _within(value, cut, left, f"{at}/{cut.name}")
        elif (size := len(orjson.dumps(value))) > cut.most:
            del shown[cut.name]
            left[f"{at}/{cut.name}"] = (cut.uri.format_map(record) if cut.uri else "", size)
    return shown


def _within(value: Json, cut: Cut, left: Left, at: str) -> Json:
    if not cut.each:
        return _without(value, cut.inner, left, at)
    foremost = max(inner.first for inner in cut.inner)
    found = []
    for number, one in enumerate(value):
        places = cut.inner if number >= foremost else tuple(inner for inner in cut.inner if inner.first <= number)
        found.append(_without(one, places, left, f"{at}/{number}"))
    return found


def _cut(name: str, hint: Any, listed: bool, within: tuple[Any, ...]) -> Cut | None:
    marks = marks_of(hint)
    if ONE_ALONE in marks:
        return Cut(name) if listed else None
    for mark in marks:
        if isinstance(mark, Foremost):
            return Cut(name, first=mark.count) if listed else None
        if isinstance(mark, Bulk):
            return Cut(name, MAX_BYTES_LISTED) if listed else Cut(name, MAX_BYTES, mark.uri)
    for record, many in held_in(hint):
        if record not in within and (inner := cuts(record, listed or many, within)):
            return Cut(name, kind=record, inner=inner, each=many)
    return None


def compact(schema: Any) -> Any:
    """Return a schema without defaults and without the details of timestamps.

    Defaults do not matter in a response. A value that may be null gets `type: [T, "null"]`.
    """
    if isinstance(schema, list):
        return [compact(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == STAMP and "type" in schema:
        return {"type": schema["type"], "format": STAMP}
    made = {
        name: {key: compact(part) for key, part in value.items()} if name in ("properties", "$defs") else compact(value)
        for name, value in schema.items()
        if name != "default"
    }
    return _nullable(made) if "anyOf" in made else made


def _nullable(made: dict[str, Any]) -> dict[str, Any]:
    """Replace `anyOf` of one plain type and null by a list of types."""
    choices = [choice for choice in made["anyOf"] if choice != NULL]
    if len(choices) != 1 or len(made["anyOf"]) != 2 or not isinstance(choices[0].get("type"), str):
        return made
    if {"enum", "const"} & choices[0].keys():
        return made
    rest = {name: value for name, value in made.items() if name != "anyOf"}
    return {**choices[0], "type": [choices[0]["type"], "null"], **rest}
