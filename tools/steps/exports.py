"""How a long document is read and written: page by page, each a short read of its own, and nothing held between two."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from storage.unit import Tx
from tools.arguments import Arguments
from tools.context import Context, Outside
from tools.errors import NotFound, Unauthenticated
from tools.identity import still_opens
from tools.records.base import Json, encode, stamp
from tools.registry import CATALOGUE

T = TypeVar("T")
PAGE = 50  # records of one read; those of large records end earlier
PIECE_BYTES = 65_536  # what is written is handed on once it is so much


class Page(NamedTuple):
    """Records as JSON text, the name each is known by, and where the next page begins; None behind the last."""

    records: Sequence[bytes]
    names: Sequence[str]
    after: Json


Pages = Callable[["Reader", str, Json], Awaitable[Page]]  # `str`: what the list is of; `Json`: where the page begins
One = Callable[["Reader", str], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Section:
    """A list in the document. With `called` each of its elements is an object that holds the record under that name."""

    pages: Pages
    record: One | None = None  # reads each record whole, where the list shows less
    called: str = ""
    beside: Mapping[str, One] = field(default_factory=dict)
    within: Mapping[str, "Section"] = field(default_factory=dict)


class Reader:
    """Reads for the caller what the caller may read: each read is one unit, as of its own moment.

    Unauthenticated once the caller's credential has ended: the rest is then nobody's to have.
    """

    def __init__(self, outside: Outside) -> None:
        self.outside = outside

    @property
    def agent(self) -> str:
        return self.outside.caller.agent

    def now(self) -> str:
        return stamp(self.outside.world.clock.now())

    async def look(self, read: Callable[[Context], T]) -> T:
        here = await self._here()
        return await here.store.look(lambda tx: read(_context(here, tx)))

    async def ask(self, name: str, **given: Json) -> Any:
        """What an operation answers the caller: its own record, and its own refusals."""
        op = CATALOGUE[name]
        arguments: Arguments = op.input(**given)
        if not op.outside:
            return await self.look(lambda ctx: op.run(ctx, arguments))
        return await op.run(await self._here(), arguments)

    async def may_go_on(self) -> bool:
        """Whether the caller may still have the rest."""
        outside = self.outside
        return await still_opens(outside.caller, outside.store, outside.shelf, outside.house, outside.world.clock)

    async def _here(self) -> Outside:
        await asyncio.sleep(0)  # a read may run on the event loop itself: others get their turn between two
        if not await self.may_go_on():
            raise Unauthenticated("this credential ended while the export was written")
        return replace(self.outside, now=self.outside.world.clock.now())


async def written(reader: Reader, section: Section, of: str) -> AsyncGenerator[bytes, None]:
    """A section as the text of a JSON list."""
    between, place, more = b"[", None, True
    while more:
        try:
            page = await section.pages(reader, of, place)
        except NotFound:  # what it is a list of was deleted meanwhile
            break
        for record, name in zip(page.records, page.names, strict=True):
            async with aclosing(_element(reader, section, record, name)) as pieces:
                async for piece in pieces:
                    yield between + piece
                    between = b""
            between = b","
        place, more = page.after, page.after is not None
    yield b"[]" if between == b"[" else b"]"


async def gathered(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The same text in fewer pieces."""
    waiting = bytearray()
    async for piece in pieces:
        waiting += piece
        if len(waiting) >= PIECE_BYTES:
            yield bytes(waiting)
            waiting.clear()
    yield bytes(waiting)


async def _element(reader: Reader, section: Section, record: bytes, name: str) -> AsyncGenerator[bytes, None]:
    """One element; nothing where it was deleted since its list was read."""
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


def one(name: str, of: str = "") -> One:
    """The record an operation answers; `of` is the argument that names what is read."""

    async def read(reader: Reader, known_as: str) -> bytes:
        return encode(await reader.ask(name, **({of: known_as} if of else {})))

    return read


def listed(name: str, of: str = "", known_by: str = "id", **given: Json) -> Pages:
    """The pages of an operation that lists; `of` is the argument that names what it lists of."""

    async def read(reader: Reader, owner: str, cursor: Json) -> Page:
        named = {of: owner} if of else {}
        page = await reader.ask(name, limit=PAGE, cursor=cursor, **named, **given)
        names = [str(getattr(record, known_by)) for record in page.data]
        return Page([encode(record) for record in page.data], names, page.next_cursor)

    return read


def rows(read: Callable[[Context, str, Json], Page]) -> Pages:
    """Pages that no operation lists in an order that stays."""

    async def pages(reader: Reader, owner: str, place: Json) -> Page:
        return await reader.look(lambda ctx: read(ctx, owner, place))

    return pages


def page_of(records: Sequence[object], names: Sequence[str], asked: Sequence[object]) -> Page:
    """A page whose place is the name of its last record; the last page where fewer were found than could be."""
    return Page([encode(record) for record in records], names, names[-1] if len(asked) == PAGE else None)


def _context(outside: Outside, tx: Tx) -> Context:
    return Context(tx, outside.world, outside.house, outside.caller, outside.env, outside.now, outside.operations)
