"""Records in brief: without large members, and in lists without members that only the reader of one record needs.

No value is shortened or changed: members are left out whole, and the record then has `detail: "brief"`.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, get_origin, get_type_hints

import orjson

from protocol.untrusted_text import held_in, marks_of, with_type_argument
from tools.kernel.records import ONE_ALONE, Bulk, Foremost, Json

DETAIL, BRIEF, FULL = "detail", "brief", "full"
MAX_BYTES: Final = 16 * 1024  # of a value's JSON, in a single record
MAX_BYTES_LISTED: Final = 1024  # of a value's JSON, in a record of a list
Cuts = tuple["Cut", ...]


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


@dataclass(slots=True)
class Left:
    """The members that were left out.

    `pointers`: JSON Pointers (RFC 6901) into the full record. `uris`: the addresses of members that have one, each
    with the member's bytes.
    """

    pointers: list[str]
    uris: dict[str, int]


def cuts(kind: Any) -> Cuts:
    """Return the members that a record of this type may lack in brief; most types have none."""
    return _cuts(kind, False, ())


def without(record: dict[str, Json], places: Cuts) -> tuple[dict[str, Json], Left]:
    """Return the record in brief, or the same object if nothing is left out."""
    left = Left([], {})
    shown = _without(record, places, left, "")
    return (shown | {DETAIL: BRIEF} if left.pointers else record), left


def may_lack(kind: Any) -> dict[str, set[str]]:
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
            left.pointers.append(f"{at}/{cut.name}")
            if cut.uri:
                left.uris[cut.uri.format_map(record)] = size
    return shown


def _within(value: Json, cut: Cut, left: Left, at: str) -> Json:
    if not cut.each:
        return _without(value, cut.inner, left, at)
    foremost = max(inner.first for inner in cut.inner)
    return [
        _without(one, cut.inner if number >= foremost else _of_one(number, cut), left, f"{at}/{number}")
        for number, one in enumerate(value)
    ]


def _of_one(number: int, cut: Cut) -> Cuts:
    """Return the cuts of one of a list's first records."""
    return tuple(inner for inner in cut.inner if inner.first <= number)


@cache
def _cuts(kind: Any, listed: bool, within: tuple[Any, ...]) -> Cuts:
    """Return the members that a record may lack in brief.

    `listed`: it is one of many. `within`: the types of the records around it.
    """
    hints = get_type_hints(get_origin(kind) or kind, include_extras=True)
    inside = (*within, kind)
    found = (_cut(name, with_type_argument(hint, kind), listed, inside) for name, hint in hints.items())
    return tuple(cut for cut in found if cut is not None)


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
        if record not in within and (inner := _cuts(record, listed or many, within)):
            return Cut(name, kind=record, inner=inner, each=many)
    return None
