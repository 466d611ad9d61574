"""Long documents, read and written page by page; each page is a short read, and nothing is locked between two."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import orjson

from tools.engine.arguments import Arguments
from tools.engine.authentication import still_opens
from tools.engine.context import ReadContext, TxContext
from tools.engine.errors import Archived, NotFound, Unauthenticated
from tools.engine.registry import CATALOGUE
from tools.kernel.records import Json, encode, stamp

T = TypeVar("T")
PAGE = 50  # records in one read; a page of large records may hold fewer
PIECE_BYTES = 65_536  # text is sent once this much has been collected


class Page(NamedTuple):
    """Records as JSON text, the name of each, and the start of the next page (None: no more)."""

    records: Sequence[bytes]
    names: Sequence[str]
    after: Json


Pages = Callable[["Reader", str, Json], Awaitable[Page]]  # `str`: id of the list's owner; `Json`: start of the page
One = Callable[["Reader", str], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Section:
    """A list in the document; with `called`, each element holds its record under that name."""

    pages: Pages
    record: One | None = None  # reads each record whole, if the list shows less
    called: str = ""
    beside: Mapping[str, One] = field(default_factory=dict)
    within: Mapping[str, "Section"] = field(default_factory=dict)


class Reader:
    """Reads with the caller's rights; each read is a unit of work and sees the data of its time.

    Raises Unauthenticated if the caller's credential ends during the export.
    """

    def __init__(self, read_ctx: ReadContext) -> None:
        self.read_ctx = read_ctx

    @property
    def agent(self) -> str:
        return self.read_ctx.caller.agent

    def now(self) -> str:
        return stamp(self.read_ctx.world.clock.now())

    async def read(self, read: Callable[[TxContext], T]) -> T:
        here = await self._here()
        return await here.store.read(lambda tx: read(here.within(tx)))

    async def ask(self, name: str, **given: Json) -> Any:
        """Return what an operation answers the caller, or raise its error."""
        op = CATALOGUE[name]
        arguments: Arguments = op.input(**given)
        if not op.outside_transaction:
            return await self.read(lambda ctx: op.run(ctx, arguments))
        return await op.run(await self._here(), arguments)

    async def may_go_on(self) -> bool:
        """Check whether the caller's credential is still valid."""
        read_ctx = self.read_ctx
        return await still_opens(read_ctx.caller, read_ctx.services)

    async def _here(self) -> ReadContext:
        await asyncio.sleep(0)  # a read may run on the event loop, so let other tasks run between two
        if not await self.may_go_on():
            raise Unauthenticated("this credential ended while the export was written")
        return replace(self.read_ctx, now=self.read_ctx.world.clock.now())


async def written(reader: Reader, section: Section, of: str) -> AsyncGenerator[bytes, None]:
    """Yield a section as the text of a JSON list."""
    between, place, more = b"[", None, True
    while more:
        try:
            page = await section.pages(reader, of, place)
        except (NotFound, Archived):  # the owner of the list was deleted meanwhile, or its texts were archived
            break
        for record, name in zip(page.records, page.names, strict=True):
            async with aclosing(_element(reader, section, record, name)) as pieces:
                async for piece in pieces:
                    yield between + piece
                    between = b""
            between = b","
        place, more = page.after, page.after is not None
    yield b"[]" if between == b"[" else b"]"


async def gather_pages(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Yield the same text in fewer, larger pieces."""
    waiting = bytearray()
    async for piece in pieces:
        waiting += piece
        if len(waiting) >= PIECE_BYTES:
            yield bytes(waiting)
            waiting.clear()
    yield bytes(waiting)


async def _element(reader: Reader, section: Section, record: bytes, name: str) -> AsyncGenerator[bytes, None]:
    """Yield one element; nothing if it was deleted after its list was read."""
    try:
        whole = record if section.record is None else await section.record(reader, name)
    except NotFound:
        return
    if not section.called:
        yield whole
        return
    yield b'{"%s":%s' % (section.called.encode(), whole)
    for key, read in section.beside.items():
        yield b',"%s":%s' % (key.encode(), await read(reader, name))
    for key, inner in section.within.items():
        yield b',"%s":' % key.encode()
        async with aclosing(written(reader, inner, name)) as pieces:
            async for piece in pieces:
                yield piece
    yield b"}"


def one_record(name: str, of: str = "") -> One:
    """Make a reader of the record that an operation returns; `of` names the argument for its id."""

    async def read(reader: Reader, known_as: str) -> bytes:
        return encode(await reader.ask(name, **({of: known_as} if of else {})))

    return read


def pages_of(name: str, of: str = "", known_by: str = "id", **given: Json) -> Pages:
    """Make a reader of a list operation's pages; `of` names the argument for the list's owner."""

    async def read(reader: Reader, owner: str, cursor: Json) -> Page:
        named = {of: owner} if of else {}
        page = await reader.ask(name, limit=PAGE, cursor=cursor, **named, **given)
        records = [encode(record) for record in page.data]
        return Page(records, [str(orjson.loads(record)[known_by]) for record in records], page.next_cursor)

    return read


def pages_of_rows(read: Callable[[TxContext, str, Json], Page]) -> Pages:
    """Make a reader of pages that no operation lists in a stable order."""

    async def pages(reader: Reader, owner: str, place: Json) -> Page:
        return await reader.read(lambda ctx: read(ctx, owner, place))

    return pages


def page_of(records: Sequence[object], names: Sequence[str], asked: Sequence[object]) -> Page:
    """Return a page that continues after its last record; the last page if `asked` is not full."""
    return Page([encode(record) for record in records], names, names[-1] if len(asked) == PAGE else None)
