"""Streamed answers: records as server-sent events (WHATWG, lines end in LF), or one JSON document in pieces."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

from starlette.types import Receive, Send

from protocol.http import disconnected, send_response
from tools.events.records import Frame

SEND_SECONDS = 20.0  # a client that has not taken a chunk by then has stopped reading
CHUNK_BYTES = 65_536  # of a document: a slow reader needs less than SEND_SECONDS for one
UNCACHED = [(b"cache-control", b"no-cache, no-transform"), (b"x-accel-buffering", b"no")]


class Gone(Exception):
    """The client no longer reads."""


@dataclass(frozen=True, slots=True)
class Framing:
    """The format of a stream, and whether a reader can accept that it is cut short."""

    headers: list[tuple[bytes, bytes]]
    opening: bytes
    chunks: Callable[[Any], Iterator[bytes]]
    may_be_cut: bool  # False: a cut answer ends as a broken connection, so that its reader notices


async def send_stream(frames: AsyncGenerator[Any, None], receive: Receive, send: Send, framing: Framing) -> None:
    """Send frames until the stream ends, or the client disconnects or stops reading.

    Nothing is buffered here.
    """
    async with aclosing(frames):
        first = await anext(frames)  # starts the generator, so that closing it always frees its place
        await send({"type": "http.response.start", "status": 200, "headers": framing.headers})
        gone = asyncio.create_task(disconnected(receive))
        sending = asyncio.create_task(_pump(first, frames, send, framing))
        del first  # orjson reserves 4 KB for each text, which an idle stream would keep
        try:
            await asyncio.wait({gone, sending}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (gone, sending):
                task.cancel()
                with suppress(asyncio.CancelledError, Gone):
                    await task
    whole = not sending.cancelled() and sending.exception() is None
    if whole or framing.may_be_cut:
        with suppress(OSError, RuntimeError):
            await send({"type": "http.response.body", "body": b""})


async def head_of_stream(frames: AsyncGenerator[Any, None], send: Send, framing: Framing) -> None:
    """Answer a HEAD of the stream with its headers, after opening it."""
    async with aclosing(frames):
        await anext(frames, None)
    await send_response(send, 200, b"", *framing.headers, kind=None)


async def _pump(first: Any, frames: AsyncGenerator[Any, None], send: Send, framing: Framing) -> None:
    """Send all frames. Raises Gone if the client no longer reads."""
    await _send(framing.opening, first, send, framing)
    del first
    async for frame in frames:
        await _send(b"", frame, send, framing)


async def _send(before: bytes, frame: Any, send: Send, framing: Framing) -> None:
    for chunk in framing.chunks(frame):
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await send({"type": "http.response.body", "body": before + chunk, "more_body": True})
        except (OSError, RuntimeError) as closed:  # uvloop raises RuntimeError if the connection is already closed
            raise Gone from closed
        before = b""


def _event(frame: Frame) -> Iterator[bytes]:
    """Yield one event: id (if any), event, data; every line ends in LF."""
    head = b"" if frame.id is None else b"id: " + frame.id.encode() + b"\n"
    yield head + b"event: " + frame.event.encode() + b"\ndata: " + frame.data + b"\n\n"


def _parts(piece: bytes) -> Iterator[bytes]:
    for at in range(0, len(piece), CHUNK_BYTES):
        yield piece[at : at + CHUNK_BYTES]


EVENTS = Framing([(b"content-type", b"text/event-stream; charset=utf-8"), *UNCACHED], b"retry: 2000\n\n", _event, True)
DOCUMENT = Framing([(b"content-type", b"application/json"), *UNCACHED], b"", _parts, False)
