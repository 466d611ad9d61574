"""Brief responses, the default of tool calls without `detail: "full"`, and schemas that fit brief and full ones."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from protocol.brief import BRIEF, DETAIL, Cuts, cuts, may_lack, without
from protocol.reserved_arguments import LIMIT, MAX_LISTED
from protocol.schema_compaction import compact
from protocol.untrusted_text import kind_of
from tools.engine.json_schemas import Schema, output_schema
from tools.engine.registry import Operation
from tools.kernel.errors import Json

DETAIL_SHOWN: Schema = {"const": BRIEF, "description": "something was left out: ask with detail full for all of it"}


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
    short = _lists(op) and (detail or BRIEF) == BRIEF
    return {LIMIT: MAX_LISTED, **arguments} if short else arguments


@cache
def _lists(op: Operation) -> bool:
    return LIMIT in op.input.model_fields


def in_brief(op: Operation, body: bytes, detail: str | None) -> Brief:
    """Return a response at the requested level of detail."""
    record = orjson.loads(body)
    places = _cuts_of(op, record.get("object")) if (detail or BRIEF) == BRIEF else ()
    if not places:
        return Brief(body, record)
    found, left = without(record, places)
    if not left.pointers:
        return Brief(body, record)
    return Brief(orjson.dumps(found), found, tuple(left.pointers), tuple(left.uris.items()))


def schema_of(op: Operation) -> Schema:
    """Return the output schema, which fits the record in full and in brief."""
    schema: Schema = compact(output_schema(op))
    lacking: dict[str, set[str]] = {}
    for record in op.output:
        lacking |= may_lack(record)
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
def _cuts_of(op: Operation, kind: str | None) -> Cuts:
    """Return the members that the record with this `object` may lack."""
    if len(op.output) == 1:
        return cuts(op.output[0])
    return next((cuts(record) for record in op.output if kind_of(record) == kind), ())
