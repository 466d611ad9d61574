"""Schemas and documents, judged before the unit of work opens: work that grows with the input never holds a lock."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

import orjson

from tools.context import Outside
from tools.errors import InvalidRequest, MarketError, OutputSchemaMismatch, PayloadTooLarge, SchemaTooExpensive, TooBusy
from tools.errors.base import Json
from tools.ports import ChecksBusy, CheckTooLong
from tools.rules.schemas import SchemaRefused, Violation, admit, compiled, is_heavy
from tools.steps.documents import Document, document

MOST_DOCUMENT = 524_288  # bytes of the RFC 8785 form of an input or output
MOST_EXAMPLE = 65_536
MOST_PREVIEW = 4_096
LARGE = 32_768  # bytes from which work leaves the event loop

T = TypeVar("T")


class GatherAgain(Exception):
    """What was judged has changed since: gather and judge again."""


def judge_schema(schema: Json, param: str) -> Document | None:
    """An untrusted schema, admitted; None for none. InvalidRequest says what is not supported."""
    if schema is None:
        return None
    try:
        admit(schema)
    except SchemaRefused as refused:
        raise InvalidRequest(
            f"{param}{refused.path.replace('/', '.')}: {refused}",
            param=param,
            hint="JSON Schema draft 2020-12: type object on top, local $refs into $defs, short linear patterns without flags, 64 KB.",
        ) from None
    return document(schema, param)


async def judge_example(outside: Outside, example: Json, param: str, schema: Document | None) -> str | None:
    """An example as JSON text; it must satisfy its schema."""
    if example is None:
        return None
    made = await measured(example, param, MOST_EXAMPLE)
    found = await violations(outside, schema.text.decode() if schema else None, example, made.size)
    if found:
        raise mismatch(InvalidRequest, named(param, found))
    return made.text.decode()


async def measured(value: Json, param: str, most: int = MOST_DOCUMENT) -> Document:
    """The canonical form of a document of at most `most` bytes."""
    quick = len(orjson.dumps(value))
    if quick > 2 * most:  # numbers alone are spelled shorter or longer
        raise PayloadTooLarge(f"{param} is about {quick} bytes; at most {most} are taken", param=param)
    made = document(value, param) if quick < LARGE else await asyncio.to_thread(document, value, param)
    if made.size > most:
        raise PayloadTooLarge(f"{param} is {made.size} bytes; at most {most} are taken", param=param)
    return made


def json_text(value: Json, param: str, most: int) -> str:
    """A value as the JSON text that is kept of it, of at most `most` bytes; its names stay in their order."""
    text = orjson.dumps(value)
    if len(text) > most:
        raise PayloadTooLarge(f"{param} is {len(text)} bytes as JSON; at most {most} are taken", param=param)
    return text.decode()


async def violations(outside: Outside, schema: str | None, value: Json, size: int) -> Sequence[Violation]:
    """What is wrong with a document, at most 20 faults; what may take long is checked in a process that can be stopped."""
    if schema is None:
        return ()
    if not is_heavy(schema, size):
        return compiled(schema).violations(value)
    asked = outside.world.checks.violations(schema, value, by=outside.caller.agent_id or outside.caller.approach.ip)
    return await in_time(asked, "checking this document against its schema")


async def in_time(asked: Awaitable[T], what: str) -> T:
    """What a check in a process that can be stopped answers; SchemaTooExpensive and TooBusy where it does not."""
    try:
        return await asked
    except CheckTooLong:
        raise SchemaTooExpensive(f"{what} takes too long") from None
    except ChecksBusy:
        raise TooBusy("too many documents of yours are waiting to be checked", retry_after_seconds=2) from None


def named(param: str, found: Sequence[Violation]) -> list[dict[str, str]]:
    """Violations in the shape every validation error has."""
    return [{"param": f"{param}{one.path}", "message": one.message} for one in found]


def mismatch(
    error: type[MarketError], found: Sequence[dict[str, str]], others: Sequence[dict[str, str]] = ()
) -> MarketError:
    """What does not satisfy its schema, all violations at once; `others` are of another kind.

    Clients of the contract look for output_schema_mismatch in the details; elsewhere that would only repeat the code.
    """
    param = found[0]["param"].split("/", 1)[0]
    message = f"{param} does not satisfy its schema: {found[0]['message']}"
    repeated: dict[str, Any] = {"code": error.code} if error is OutputSchemaMismatch else {}
    return error(message, param=param, **repeated, violations=[*found, *others])
