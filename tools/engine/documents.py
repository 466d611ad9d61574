"""Documents: their canonical form, their storage under its hash, and their validation against schemas.

They are validated before the unit of work opens, because slow work must not hold a lock.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import orjson

from storage.listings import documents_with
from storage.tables import DocumentRow
from storage.transaction import Tx
from tools.engine.context import ReadContext
from tools.engine.errors import InvalidRequest, OutputSchemaMismatch, PayloadTooLarge, SchemaTooExpensive, TooBusy
from tools.engine.ports import ChecksBusy, CheckTooLong
from tools.kernel.canonical_json import canonical, sha256_hex
from tools.kernel.errors import Json, MarketError
from tools.kernel.json_schema import SchemaRefused, Violation, checker_for, validate_schema
from tools.kernel.schema_cost import is_expensive

MAX_DOCUMENT = 524_288  # bytes of the RFC 8785 form of an input or output
MAX_EXAMPLE = 65_536
MAX_PREVIEW = 4_096
LARGE = 32_768  # bytes from which the work runs in a thread instead of on the event loop
READ_AHEAD = 1_048_576  # characters of the texts of a list, as many as a page has

T = TypeVar("T")
K = TypeVar("K")


class StaleInput(Exception):
    """The data that was validated has changed since: gather and validate again."""


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value in its RFC 8785 form, with the hash it is stored under."""

    hash: str
    text: bytes

    @property
    def size(self) -> int:
        return len(self.text)


def document(value: Json, param: str) -> Document:
    """Return a value's canonical form and its hash; raise InvalidRequest if it has none."""
    try:
        text = canonical(value)
    except ValueError as error:
        raise InvalidRequest(f"{param}: {error}", param=param) from None
    return Document(sha256_hex(text), text)


def keep_document(tx: Tx, made: Document | None) -> str | None:
    """Store the document unless it exists; return its hash, or None without a document."""
    if made is None:
        return None
    tx.insert_if_absent(DocumentRow(hash=made.hash, text=made.text.decode()))
    return made.hash


def text_of(tx: Tx, hashed: str | None) -> str | None:
    """Return the text stored under a hash; None if the hash is None."""
    if hashed is None:
        return None
    row = tx.get(DocumentRow, hashed)
    assert row is not None, f"document {hashed} is missing"
    return row.text


class TextsAhead(Generic[K]):
    """The texts of a list, read in one statement.

    Texts beyond a bound are read one by one if they are asked for. A page of a list ends after MAX_PAGE bytes, so most large texts are never asked for.
    """

    def __init__(self, read_one: Callable[[K], str | None]) -> None:
        self.read_one = read_one
        self.known: dict[K, str | None] = {}  # None: too large to be read ahead
        self.complete = False  # no text exists that is not in `known`

    def get(self, key: K) -> str | None:
        """Return the text with this key; None if there is none."""
        text = self.known.get(key)
        if text is not None or (self.complete and key not in self.known):
            return text
        return self.read_one(key)


def texts_ahead(tx: Tx, hashes: Iterable[str | None]) -> TextsAhead[str | None]:
    """Read the documents with these hashes."""
    texts = TextsAhead(partial(text_of, tx))
    if wanted := {one for one in hashes if one is not None}:
        rows, texts.complete = tx.all_within(documents_with, READ_AHEAD, hashes=wanted)
        texts.known.update(rows)
    return texts


def judge_schema(schema: Json, param: str) -> Document | None:
    """Check an untrusted schema; raise InvalidRequest if it is not supported."""
    if schema is None:
        return None
    try:
        validate_schema(schema)
    except SchemaRefused as refused:
        raise InvalidRequest(
            f"{param}{refused.path.replace('/', '.')}: {refused}",
            param=param,
            hint="JSON Schema draft 2020-12: type object on top, local $refs into $defs, short linear patterns without flags, 64 KB.",
        ) from None
    return document(schema, param)


async def judge_example(read_ctx: ReadContext, example: Json, param: str, schema: Document | None) -> str | None:
    """Return an example as JSON text; raise InvalidRequest if it does not satisfy its schema."""
    if example is None:
        return None
    made = await canonical_document(example, param, MAX_EXAMPLE)
    found = await violations(read_ctx, schema.text.decode() if schema else None, example, made.size)
    if found:
        raise schema_error(InvalidRequest, named(param, found))
    return made.text.decode()


async def canonical_document(value: Json, param: str, most: int = MAX_DOCUMENT) -> Document:
    """Return the canonical form of a document; raise PayloadTooLarge if it is over `most` bytes."""
    quick = len(orjson.dumps(value))
    if quick > 2 * most:  # the canonical form can only be shorter or longer by the spelling of numbers
        raise PayloadTooLarge(f"{param} is about {quick} bytes; at most {most} are taken", param=param)
    made = document(value, param) if quick < LARGE else await asyncio.to_thread(document, value, param)
    if made.size > most:
        raise PayloadTooLarge(f"{param} is {made.size} bytes; at most {most} are taken", param=param)
    return made


def json_text(value: Json, param: str, most: int) -> str:
    """Return the JSON text to store; raise PayloadTooLarge if it is over `most` bytes.

    Object members keep their order.
    """
    text = orjson.dumps(value)
    if len(text) > most:
        raise PayloadTooLarge(f"{param} is {len(text)} bytes as JSON; at most {most} are taken", param=param)
    return text.decode()


async def violations(read_ctx: ReadContext, schema: str | None, value: Json, size: int) -> Sequence[Violation]:
    """Return at most 20 violations of a schema; a slow check runs in another process."""
    if schema is None:
        return ()
    if not is_expensive(schema, size):
        return checker_for(schema).violations(value)
    asked = read_ctx.world.checks.violations(schema, value, by=read_ctx.caller.agent_id or read_ctx.caller.request.ip)
    return await in_time(asked, "checking this document against its schema")


async def in_time(asked: Awaitable[T], what: str) -> T:
    """Await a check that runs in another process. Raises SchemaTooExpensive or TooBusy."""
    try:
        return await asked
    except CheckTooLong:
        raise SchemaTooExpensive(f"{what} takes too long") from None
    except ChecksBusy:
        raise TooBusy("too many documents of yours are waiting to be checked", retry_after_seconds=2) from None


def named(param: str, found: Sequence[Violation]) -> list[dict[str, str]]:
    """Return violations in the shape that validation errors have."""
    return [{"param": f"{param}{one.path}", "message": one.message} for one in found]


def schema_error(
    error: type[MarketError], found: Sequence[dict[str, str]], others: Sequence[dict[str, str]] = ()
) -> MarketError:
    """Make the error for all violations of a schema; `others` are violations of another kind.

    The contract puts output_schema_mismatch in the details; other errors do not repeat their code.
    """
    param = found[0]["param"].split("/", 1)[0]
    message = f"{param} does not satisfy its schema: {found[0]['message']}"
    repeated: dict[str, Any] = {"code": error.code} if error is OutputSchemaMismatch else {}
    return error(message, param=param, **repeated, violations=[*found, *others])
