"""A record in brief: without what is large, and in lists without what only who looks at one record needs.

Nothing is cut or changed: members are left out whole, and the record then says `detail: "brief"`.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, get_origin, get_type_hints

import orjson

from protocol.untrusted_text import filled, held_in, marks_of
from tools.kernel.brief_marks import ONE_ALONE, Bulk, Foremost
from tools.kernel.records import Json

DETAIL, BRIEF, FULL = "detail", "brief", "full"
MOST_BYTES: Final = 16 * 1024  # of a value's JSON, in a record that is shown alone
MOST_BYTES_LISTED: Final = 1024  # ... in one of many
Cuts = tuple["Cut", ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """A member that a record in brief may lack, or one that holds records of a `kind` with such members.

    `most`: bytes of JSON it may have and still be shown. `first`: so many of a list are shown with it. `uri`: where it is to
    be read, made of the members beside it.
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
    """What was left out: JSON Pointers (RFC 6901) into the full record, and the addresses of what has one, with its bytes."""

    pointers: list[str]
    uris: dict[str, int]


def cuts(kind: Any) -> Cuts:
    """What a record of this type may lack in brief; nothing in most."""
    return _cuts(kind, False, ())


def without(record: dict[str, Json], places: Cuts) -> tuple[dict[str, Json], Left]:
    """The record in brief; the same where nothing has to be left out."""
    left = Left([], {})
    shown = _without(record, places, left, "")
    return (shown | {DETAIL: BRIEF} if left.pointers else record), left


def may_lack(kind: Any) -> dict[str, set[str]]:
    """By the name of each record type in this one, itself too: the members it may lack in brief."""
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
    """What may be left out of this one of a list's first records."""
    return tuple(inner for inner in cut.inner if inner.first <= number)


@cache
def _cuts(kind: Any, listed: bool, within: tuple[Any, ...]) -> Cuts:
    """What a record, one of many or not, may lack that stands inside the records `within`."""
    hints = get_type_hints(get_origin(kind) or kind, include_extras=True)
    inside = (*within, kind)
    found = (_cut(name, filled(hint, kind), listed, inside) for name, hint in hints.items())
    return tuple(cut for cut in found if cut is not None)


def _cut(name: str, hint: Any, listed: bool, within: tuple[Any, ...]) -> Cut | None:
    marks = marks_of(hint)
    if ONE_ALONE in marks:
        return Cut(name) if listed else None
    for mark in marks:
        if isinstance(mark, Foremost):
            return Cut(name, first=mark.count) if listed else None
        if isinstance(mark, Bulk):
            return Cut(name, MOST_BYTES_LISTED) if listed else Cut(name, MOST_BYTES, mark.uri)
    for record, many in held_in(hint):
        if record not in within and (inner := _cuts(record, listed or many, within)):
            return Cut(name, kind=record, inner=inner, each=many)
    return None
