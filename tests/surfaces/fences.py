"""Texts of results as a client may read them: the marks around others' words checked and taken out again."""

import json
import re
from collections.abc import Iterable
from typing import Any

FIRST = re.compile(r"<untrusted-[a-z2-7]{8}>")


def unfenced(text: str, untrusted: Iterable[str]) -> Any:
    """The record a text tells, without its marks. They stand at both ends of each value that is named, and nowhere else;
    of what is named in a signed document, at both ends of that.
    """
    document, marks, pointers, fences = {"": json.loads(text)}, set[str](), [*untrusted], 0
    whole = set[str]()
    for pointer in pointers:
        if any(f"{pointer}/".startswith(f"{place}/") for place in whole):
            continue
        place = _fenced_around(document, pointer)
        holder, name = held(document, place)
        holder[name], mark = _without(holder[name])
        marks.add(mark)
        fences += 1
        if place != pointer:
            assert "signature" in holder[name], "only what is signed is fenced whole"
            whole.add(place)
    assert len(marks) == bool(pointers), marks
    assert all(text.count(mark) == fences == text.count(_last(mark)) for mark in marks), text
    return document[""]


def _fenced_around(document: Any, pointer: str) -> str:
    """The pointer itself, or that of what around it stands between marks as a whole."""
    steps = pointer.split("/")
    for length in range(1, len(steps)):
        place = "/".join(steps[:length])
        holder, name = held(document, place)
        value = holder[name]
        if isinstance(value, list) and len(value) == 3 and isinstance(value[0], str) and FIRST.fullmatch(value[0]):
            return place
    return pointer


def held(document: Any, pointer: str) -> tuple[Any, Any]:
    """The object or list that holds what a JSON Pointer (RFC 6901) names, and the name in it; the root stands under ""."""
    holder, name = document, ""
    for step in pointer.split("/")[1:]:
        holder = holder[name]
        name = step.replace("~1", "/").replace("~0", "~")
        name = int(name) if isinstance(holder, list) else name
    return holder, name


def value_at(record: Any, pointer: str) -> Any:
    holder, name = held({"": record}, pointer)
    return holder[name]


def _without(value: Any) -> tuple[Any, str]:
    if isinstance(value, list):
        first, inner, last = value
        assert FIRST.fullmatch(first), first
        assert last == _last(first)
        return inner, first
    found = FIRST.match(value)
    assert found, value
    assert value.endswith(_last(found[0]))
    return value[found.end() : -len(_last(found[0]))], found[0]


def _last(mark: str) -> str:
    return mark.replace("<", "</")
