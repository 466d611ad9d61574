"""Where in a record text of other agents stands: read once from the marks of its type, then asked of each record."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, NotRequired, TypeAlias, Union, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from tools.records.base import Json
from tools.records.eventdata import PAYLOADS
from tools.records.receipts import Signature
from tools.records.words import OURS, OWN, Foreign, Payload

Places = tuple["Place", ...]
WORDY: frozenset[Any] = frozenset({str, list, dict})  # what JSON is read as and can hold words
Change: TypeAlias = Callable[[Json, tuple[str, ...]], Json]  # what to put for a value; JSON Pointers of the text in it


@dataclass(frozen=True, slots=True)
class Place:
    """A member of an object that is text of others, or holds such text further in: in one object, or in each of many.

    `signed`: it is the object itself, which is changed whole or not at all, for it is signed as it stands.
    """

    name: str
    inner: Places = ()
    each: bool = False
    unless: tuple[str, Json] | None = None
    payload: Payload | None = None
    signed: bool = False


def foreign_places(kind: Any) -> Places:
    """The places of text of others in a record of this type; none in most."""
    return _places(kind, ())


def changed(record: dict[str, Json], places: Places, change: Change, at: str = "") -> Json:
    """A copy of the record, as JSON, with `change` made at each of these places. What holds no text stays as it is."""
    if places and places[0].signed:
        return _whole(record, places[0].inner, change, at)
    found = record.copy()
    for place in places:
        name = place.name
        value = found.get(name)
        if not value or value.__class__ not in WORDY:
            continue
        inner, unless = place.inner, place.unless
        if place.payload is not None:
            found[name] = _event(value, place.payload, record, change, f"{at}/{name}")
        elif inner:
            found[name] = _within(value, place.each, inner, change, f"{at}/{name}")
        elif unless is None or record.get(unless[0]) != unless[1]:
            found[name] = change(value, (f"{at}/{name}",))
    return found


def _whole(record: dict[str, Json], inner: Places, change: Change, at: str) -> Json:
    """A signed record, changed from outside where text of others stands in it."""
    named: list[str] = []

    def note(value: Json, pointers: tuple[str, ...]) -> Json:
        named.extend(pointers)
        return value

    changed(record, inner, note, at)
    return change(record, tuple(named)) if named else record


def _event(value: Json, payload: Payload, record: dict[str, Json], change: Change, at: str) -> Json:
    """The data of an event. Of a kind nobody knows all of it may be anybody's words."""
    kind = PAYLOADS.get(f"{payload.prefix}{record.get('type')}")
    return change(value, (at,)) if kind is None else changed(value, foreign_places(kind), change, at)


def _within(value: Json, each: bool, inner: Places, change: Change, at: str) -> Json:
    if not each:
        return changed(value, inner, change, at)
    if isinstance(value, list):
        return [changed(one, inner, change, f"{at}/{number}") for number, one in enumerate(value)]
    return {name: changed(one, inner, change, f"{at}/{_escaped(name)}") for name, one in value.items()}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


@cache
def _places(kind: Any, within: tuple[Any, ...]) -> Places:
    """The places in a record that stands inside the records `within`."""
    if getattr(kind, "own", None) is True:
        return ()
    hints = get_type_hints(get_origin(kind) or kind, include_extras=True)
    inside = (*within, kind)
    found = tuple(
        place for name, hint in hints.items() if (place := _place(name, filled(hint, kind), inside)) is not None
    )
    if found and any(record is kind for hint in hints.values() for record, _ in held_in(hint)):
        raise TypeError(f"{kind} holds itself, so the places of others' text in it have no end")
    return (Place("", found, signed=True),) if found and Signature in hints.values() else found


def _place(name: str, hint: Any, within: tuple[Any, ...]) -> Place | None:
    marks = marks_of(hint)
    if OURS in marks or OWN in marks:
        return None
    for mark in marks:
        if isinstance(mark, Payload):
            return Place(name, payload=mark)
        if isinstance(mark, Foreign):
            inner = tuple(map(place_at, mark.members))
            return Place(name, inner, each=bool(inner) and _many(hint), unless=mark.unless)
    held = [(record, many) for record, many in held_in(hint) if record not in within]
    inner = tuple(dict.fromkeys(place for record, _ in held for place in _places(record, within)))
    if len(inner) > 1 and any(place.signed for place in inner):
        raise TypeError(f"{name} holds a signed record or another, and only one of them is changed whole")
    return Place(name, inner, each=held[0][1]) if inner else None


def place_at(path: str) -> Place:
    """The place at "job/title" of an untyped object."""
    name, _, rest = path.partition("/")
    return Place(name, (place_at(rest),) if rest else ())


def kind_of(record: Any) -> str:
    """What `object` says of a record of this type."""
    kind: str = get_args(get_type_hints(record)["object"])[0]
    return kind


def _many(hint: Any) -> bool:
    return get_origin(hint) is list or any(_many(part) for part in get_args(hint)[: 1 if _is_annotated(hint) else None])


def marks_of(hint: Any) -> tuple[Any, ...]:
    """What a field is marked with, itself or one of its alternatives."""
    if _is_annotated(hint):
        return (*hint.__metadata__, *marks_of(hint.__origin__))
    if get_origin(hint) in (Union, UnionType, NotRequired):
        return tuple(mark for part in get_args(hint) for mark in marks_of(part))
    return ()


def held_in(hint: Any, many: bool = False) -> Iterator[tuple[Any, bool]]:
    """The record types a field holds, and whether it may hold many of them."""
    origin = get_origin(hint)
    if _is_record(origin or hint):
        yield hint, many
    elif _is_annotated(hint):
        yield from held_in(hint.__origin__, many)
    else:
        for part in get_args(hint):
            yield from held_in(part, many or origin in (list, dict))


def filled(hint: Any, kind: Any) -> Any:
    """The hint of a generic record's field with its parameter filled in."""
    names = getattr(get_origin(kind), "__parameters__", ())
    filled: Any = hint
    if names and getattr(hint, "__parameters__", ()):
        known = dict(zip(names, get_args(kind), strict=True))
        filled = hint[tuple(known[name] for name in hint.__parameters__)]
    return filled


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (is_dataclass(kind) or is_typeddict(kind))


def _is_annotated(hint: Any) -> bool:
    return get_origin(hint) is Annotated
