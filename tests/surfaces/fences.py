"""Texts of results as a client may read them: the marks around others' words checked and taken out again."""

import json
import re
from collections.abc import Iterable
from typing import Any

FIRST = re.compile(r"<untrusted-[a-z2-7]{8}>")


def unfenced(text: str, untrusted: Iterable[str]) -> Any:
    """The record a text tells, without its marks. They stand at both ends of each value that is named, and nowhere else."""
    document, marks, pointers = {"": json.loads(text)}, set[str](), [*untrusted]
    for pointer in pointers:
        holder, name = held(document, pointer)
        holder[name], mark = _without(holder[name])
        marks.add(mark)
    assert len(marks) == bool(pointers), marks
    assert all(text.count(mark) == len(pointers) == text.count(_last(mark)) for mark in marks), text
    return document[""]


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
