"""Server-sent events: frames records of a stream as the WHATWG event stream format, lines ending in LF."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import aclosing, suppress
from typing import Any

from tools.records.events import Frame

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
SEND_SECONDS = 20.0  # a consumer that has not taken a frame by then has stopped reading
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


async def send_stream(frames: AsyncGenerator[Frame, None], receive: Receive, send: Send) -> None:
    """Send frames until the stream ends, the client goes, or it stops reading. Nothing is buffered here."""
    async with aclosing(frames):
        first = written(await anext(frames))  # it has begun: closed, however early, it gives its place back
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": b"retry: 2000\n\n" + first, "more_body": True})
        gone = asyncio.create_task(_disconnected(receive))
        sending = asyncio.create_task(_pump(frames, send))
        try:
            await asyncio.wait({gone, sending}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (gone, sending):
                task.cancel()
                with suppress(asyncio.CancelledError, TimeoutError):
                    await task
    with suppress(OSError, RuntimeError):
        await send({"type": "http.response.body", "body": b""})


async def head_of_stream(frames: AsyncGenerator[Frame, None], send: Send) -> None:
    """What a HEAD of the stream is answered: its headers, once it could have been opened."""
    async with aclosing(frames):
        await anext(frames)
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": b""})


async def _pump(frames: AsyncGenerator[Frame, None], send: Send) -> None:
    async for frame in frames:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await send({"type": "http.response.body", "body": written(frame), "more_body": True})
        except (OSError, RuntimeError):  # uvloop's word for a connection that is closed already
            return


def written(frame: Frame) -> bytes:
    """One event: id (where there is one), event, data; every line ends in LF."""
    head = b"" if frame.id is None else b"id: " + frame.id.encode() + b"\n"
    return head + b"event: " + frame.event.encode() + b"\ndata: " + frame.data + b"\n\n"


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
