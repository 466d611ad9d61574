"""Find other agents' text in records: the places are read once from the types' marks and then used for each record."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import Annotated, Any, NotRequired, TypeAlias, Union, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from tools.engine.registry import Operation
from tools.events.payloads import PAYLOADS
from tools.kernel.records import Json
from tools.kernel.signed_records import Signature
from tools.kernel.text_authors import CALLER, OURS, OWN, Conditions, Foreign, Payload

Places = tuple["Place", ...]
WORDY: frozenset[Any] = frozenset({str, list, dict})  # the types of parsed JSON that can contain text
Change: TypeAlias = Callable[[Json, tuple[str, ...]], Json]  # a value and JSON Pointers to its text → new value
Parts: TypeAlias = Callable[[str], list[str]]  # a sentence → the market's words, others' words, the market's, …


@dataclass(frozen=True, slots=True)
class Place:
    """A member of an object that is other agents' text, or that contains objects with such text.

    With `unless`, it is not if one of these conditions is met. With `parts`, only parts of its sentences are.
    With `each`, it contains many such objects. With `signed`, the place is the object itself: it is signed, so it is
    changed as a whole or not at all.
    """

    name: str
    inner: Places = ()
    each: bool = False
    unless: tuple[Conditions, ...] = ()
    parts: Parts | None = None
    payload: Payload | None = None
    signed: bool = False


def changed(record: dict[str, Json], places: Places, change: Change, caller: str | None = None, at: str = "") -> Json:
    """Return a copy of a record with `change` applied to the text at each place.

    Values without text stay unchanged, and so does what the agent `caller` wrote itself.
    """
    if places and places[0].signed:
        return _whole(record, places[0].inner, change, caller, at)
    found = record.copy()
    for place in places:
        name = place.name
        value = found.get(name)
        if not value or value.__class__ not in WORDY or any(_stands(one, record, caller) for one in place.unless):
            continue
        if place.payload is not None:
            found[name] = _event(value, place.payload, record, change, caller, f"{at}/{name}")
        elif place.inner:
            found[name] = _within(value, place.each, place.inner, change, caller, f"{at}/{name}")
        elif place.parts is not None:
            found[name] = _in_parts(value, place.parts, change, f"{at}/{name}")
        else:
            found[name] = change(value, (f"{at}/{name}",))
    return found


def _stands(beside: Conditions, record: dict[str, Json], caller: str | None) -> bool:
    """Check one condition on a record. A caller without an agent has written nothing."""
    return all(
        member_at(record, *place.split("/")) == (caller if wanted is CALLER else wanted)
        and (wanted is not CALLER or caller is not None)
        for place, wanted in beside
    )


def member_at(value: Json, *names: str) -> Json:
    """Return a member inside of nested objects; None if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _in_parts(value: Json, parts: Parts, change: Change, at: str) -> Json:
    """Change the quoted parts of a sentence, or of each sentence in a list."""
    if isinstance(value, list):
        return [_in_parts(one, parts, change, f"{at}/{number}") for number, one in enumerate(value)]
    told = enumerate(parts(value))
    return "".join(change(part, (at,)) if number % 2 and part else part for number, part in told)


def _whole(record: dict[str, Json], inner: Places, change: Change, caller: str | None, at: str) -> Json:
    """Change a signed record as a whole if it contains other agents' text."""
    named: list[str] = []

    def note(value: Json, pointers: tuple[str, ...]) -> Json:
        named.extend(pointers)
        return value

    changed(record, inner, note, caller, at)
    return change(record, tuple(named)) if named else record


def _event(value: Json, payload: Payload, record: dict[str, Json], change: Change, caller: str | None, at: str) -> Json:
    """Change an event's data; for an unknown event type, all of it may be other agents' text."""
    kind = PAYLOADS.get(f"{payload.prefix}{record.get('type')}")
    return change(value, (at,)) if kind is None else changed(value, foreign_places(kind), change, caller, at)


def _within(value: Json, each: bool, inner: Places, change: Change, caller: str | None, at: str) -> Json:
    if not each:
        return changed(value, inner, change, caller, at)
    if isinstance(value, list):
        return [changed(one, inner, change, caller, f"{at}/{number}") for number, one in enumerate(value)]
    return {name: changed(one, inner, change, caller, f"{at}/{_escaped(name)}") for name, one in value.items()}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


@cache
def foreign_places(kind: Any, within: tuple[Any, ...] = ()) -> Places:
    """Return the places of other agents' text in a record type; most have none.

    `within`: the types of the records around it.
    """
    if getattr(kind, "own", None) is True:
        return ()
    hints = members_of(kind)
    places = (_place(name, hint, (*within, kind)) for name, hint in hints.items())
    found = tuple(place for place in places if place is not None)
    if found and any(record is kind for hint in hints.values() for record, _ in held_in(hint)):
        raise TypeError(f"{kind} holds itself, so the places of others' text in it have no end")
    if found and Signature in hints.values():
        return (Place("", found, signed=True),)
    author = getattr(kind, "author", ())
    return tuple(replace(place, unless=(*place.unless, *author)) for place in found) if author else found


def _place(name: str, hint: Any, within: tuple[Any, ...]) -> Place | None:
    marks = marks_of(hint)
    if OURS in marks or OWN in marks:
        return None
    for mark in marks:
        if isinstance(mark, Payload):
            return Place(name, payload=mark)
        if isinstance(mark, Foreign):
            inner = tuple(map(place_at, mark.members))
            return Place(name, inner, each=bool(inner) and _many(hint), unless=mark.unless, parts=mark.parts)
    held = [(record, many) for record, many in held_in(hint) if record not in within]
    inner = tuple(dict.fromkeys(place for record, _ in held for place in foreign_places(record, within)))
    if len(inner) > 1 and any(place.signed for place in inner):
        raise TypeError(f"{name} holds a signed record or another, and only one of them is changed whole")
    return Place(name, inner, each=held[0][1]) if inner else None


def place_at(path: str) -> Place:
    """Return the place of a path such as "job/title" in an untyped object."""
    name, _, rest = path.partition("/")
    return Place(name, (place_at(rest),) if rest else ())


def record_type(op: Operation, record: dict[str, Json]) -> Any:
    """Return the type of a record that an operation answered with."""
    return op.output[0] if len(op.output) == 1 else _types_of(op)[record["object"]]


@cache
def _types_of(op: Operation) -> dict[str, Any]:
    return {get_args(get_type_hints(kind)["object"])[0]: kind for kind in op.output}


def _many(hint: Any) -> bool:
    return get_origin(hint) is list or any(_many(part) for part in get_args(hint)[: 1 if _is_annotated(hint) else None])


def marks_of(hint: Any) -> tuple[Any, ...]:
    """Return the marks of a field and of its alternatives."""
    if _is_annotated(hint):
        return (*hint.__metadata__, *marks_of(hint.__origin__))
    if get_origin(hint) in (Union, UnionType, NotRequired):
        return tuple(mark for part in get_args(hint) for mark in marks_of(part))
    return ()


def held_in(hint: Any, many: bool = False) -> Iterator[tuple[Any, bool]]:
    """Yield the record types a field contains, and whether it may contain many of them."""
    origin = get_origin(hint)
    if _is_record(origin or hint):
        yield hint, many
    elif _is_annotated(hint):
        yield from held_in(hint.__origin__, many)
    else:
        for part in get_args(hint):
            yield from held_in(part, many or origin in (list, dict))


@cache
def members_of(kind: Any) -> dict[str, Any]:
    """Return the type hints of a record type's fields, with type arguments filled in."""
    origin = get_origin(kind)
    hints = get_type_hints(origin or kind, include_extras=True)
    known = dict(zip(getattr(origin, "__parameters__", ()), get_args(kind), strict=False))
    return {name: _with_type_arguments(hint, known) for name, hint in hints.items()}


def _with_type_arguments(hint: Any, known: dict[Any, Any]) -> Any:
    parameters = getattr(hint, "__parameters__", ()) if known else ()
    return hint[tuple(known[name] for name in parameters)] if parameters else hint


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (is_dataclass(kind) or is_typeddict(kind))


def _is_annotated(hint: Any) -> bool:
    return get_origin(hint) is Annotated
