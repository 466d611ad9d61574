"""Readers of untrusted answers: a missing or wrong field is an error that names it."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from emporion_client.errors import UnexpectedAnswer

T = TypeVar("T")
JsonObject = dict[str, Any]
MAX_DEPTH = 200
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")  # half of a pair can neither be sent nor stored
# Possessive, and matching a text without an end too: otherwise the time grows with the square of the length.
STRUCTURE = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
JOB = re.compile(r"job_[0-9A-Za-z]{1,60}")
QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")


def parsed(body: bytes) -> Any:
    """Return the JSON value of a body, or None if it is none.

    None is returned too if it is nested too deeply or has half of a surrogate pair.
    """
    try:
        value = None if _is_deep(body) else json.loads(body.decode())
        if SURROGATE.search(body):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value


def _is_deep(body: bytes) -> bool:
    """Tell whether a body is nested so deeply that the parser could exhaust the stack.

    Libraries that raise Python's recursion limit take its protection away.
    """
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return False
    depth = 0
    for found in STRUCTURE.finditer(body):
        if found[0] in (b"[", b"{"):
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif found[0] in (b"]", b"}"):
            depth -= 1
    return False


def part(record: Any, *path: str) -> Any:
    """Return the value at a path of a record."""
    found = record
    for name in path:
        if not isinstance(found, dict) or name not in found:
            raise UnexpectedAnswer(f"an answer has no field {'.'.join(path)}")
        found = found[name]
    return found


def _of_kind(kind: type[T], record: Any, path: tuple[str, ...]) -> T:
    found = part(record, *path)
    if not isinstance(found, kind) or isinstance(found, bool) is not (kind is bool):
        what = f"the field {'.'.join(path)} of an answer" if path else "an answer"
        raise UnexpectedAnswer(f"{what} is no {kind.__name__}")
    return found


def text(record: Any, *path: str) -> str:
    """Return the text at a path of a record."""
    return _of_kind(str, record, path)


def whole(record: Any, *path: str) -> int:
    """Return the whole number at a path of a record."""
    return _of_kind(int, record, path)


def record_at(record: Any, *path: str) -> JsonObject:
    """Return the object at a path of a record."""
    return _of_kind(dict, record, path)


def rows(page: Any, name: str = "data") -> list[JsonObject]:
    """Return the records of a page, which are in its field `name`."""
    found = _of_kind(list, page, (name,))
    return [one for one in found if isinstance(one, dict)]


def pages(call: Callable[..., JsonObject], name: str, **arguments: Any) -> Iterator[JsonObject]:
    """Yield all records of an operation that answers pages."""
    while True:
        page = call(name, **arguments)
        yield from rows(page)
        arguments["cursor"] = page.get("next_cursor")
        if not page.get("has_more") or arguments["cursor"] is None or not rows(page):
            return


def quantity(value: Any) -> int:
    """Return the number of a hexadecimal text, as nodes write them."""
    if not isinstance(value, str) or not QUANTITY.fullmatch(value):
        raise UnexpectedAnswer("a node answered something that is no number")
    return int(value, 16)


def job_id(job: Any) -> str:
    """Return the id of a job."""
    found = text(job, "id")
    if not JOB.fullmatch(found):
        raise UnexpectedAnswer("the id of a job has an unknown form")
    return found
