"""x402 over HTTP: its response headers, and the detection of a disconnected client."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import orjson

from rest.headers import Headers
from tools.engine.idempotency import Response
from tools.purchases.quotes import header, settled_headers


@asynccontextmanager
async def watch_disconnect(
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
) -> AsyncIterator[Callable[[], bool]]:
    """Yield a function that checks whether the client has disconnected.

    The request must have been read completely before.
    """

    async def hears() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    task = asyncio.create_task(hears(), name="client")
    try:
        yield task.done
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def as_x402(answer: Response) -> tuple[Response, Headers]:
    """Return an answer in the format of x402, and its headers.

    In terms of payment `error` is a text, and a header has them in version 2. A result has headers with the
    payment.
    """
    if answer.refused:
        return answer, []
    told = orjson.loads(answer.body)
    if answer.error is not None:
        return replace(answer, error=None), [(b"payment-required", header(told["required"]).encode())]
    paid = told["paid"]
    said, older = settled_headers(paid["transaction"], paid["network"], paid["payer"], paid["amount"])
    return answer, [(b"payment-response", said.encode()), (b"x-payment-response", older.encode())]
