"""Checks and removes the marks around untrusted text in results of tools."""

import json
import re
from collections.abc import Iterable
from typing import Any

FENCED = re.compile(r"<(untrusted-[a-z2-7]{8})>.*?</\1>", re.DOTALL)
OUR_SENTENCE = re.compile(
    r"The required property|does not satisfy|is wanted|nothing is at|nothing was charged|sha256|has a length"
)
FIRST = re.compile(r"<untrusted-[a-z2-7]{8}>")


def unfenced(text: str, untrusted: Iterable[str]) -> Any:
    """Return the record in a text without its marks.

    Marks must be at both ends of each untrusted value and nowhere else. In a sentence of the market, they are around
    the quoted text. A signed document with an untrusted value is marked as a whole.
    """
    document, marks, pointers, fences = {"": json.loads(text)}, set[str](), [*untrusted], 0
    whole = set[str]()
    for pointer in pointers:
        if any(f"{pointer}/".startswith(f"{place}/") for place in whole):
            continue
        place = _fenced_around(document, pointer)
        holder, name = held(document, place)
        holder[name], mark, count = _without(holder[name])
        marks.add(mark)
        fences += count
        if place != pointer:
            assert "signature" in holder[name], "only what is signed is fenced whole"
            whole.add(place)
    assert len(marks) == bool(pointers), marks
    assert all(text.count(mark) == fences == text.count(_last(mark)) for mark in marks), text
    return document[""]


def _fenced_around(document: Any, pointer: str) -> str:
    """Return the pointer of the marked value: the named value, or the signed record around it."""
    steps = pointer.split("/")
    for length in range(1, len(steps)):
        place = "/".join(steps[:length])
        holder, name = held(document, place)
        value = holder[name]
        if isinstance(value, dict) and value and FIRST.fullmatch(next(iter(value))):
            return place
    return pointer


def held(document: Any, pointer: str) -> tuple[Any, Any]:
    """Return the container of the value at a JSON Pointer (RFC 6901), and its key.

    The root has the key "".
    """
    holder, name = document, ""
    for step in pointer.split("/")[1:]:
        holder = holder[name]
        name = step.replace("~1", "/").replace("~0", "~")
        name = int(name) if isinstance(holder, list) else name
    return holder, name


def value_at(record: Any, pointer: str) -> Any:
    holder, name = held({"": record}, pointer)
    return holder[name]


def _without(value: Any) -> tuple[Any, str, int]:
    """Return the value without its mark, the mark, and its number in the value."""
    if isinstance(value, dict):
        (first, *names, last), empty = value, (value[next(iter(value))], value[next(reversed(value))])
        assert (FIRST.fullmatch(first) is not None, last, empty) == (True, _last(first), ("", "")), value
        return {name: value[name] for name in names}, first, 1
    if isinstance(value, list):
        first, *inner, last = value
        assert FIRST.fullmatch(first), first
        assert last == _last(first)
        return inner, first, 1
    found = FIRST.search(value)
    assert found, value
    first, last = found[0], _last(found[0])
    if value.startswith(first) and value.endswith(last) and value.count(first) == 1:
        return value[len(first) : -len(last)], first, 1
    assert OUR_SENTENCE.search(FENCED.sub("", value)), value
    return value.replace(first, "").replace(last, ""), first, value.count(first)


def _last(mark: str) -> str:
    return mark.replace("<", "</")
