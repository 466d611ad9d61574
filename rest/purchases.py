"""x402 over HTTP: what its clients read in headers, and whether the one that is served is still there."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import orjson

from rest.headers import Headers
from tools.answers import Answer
from tools.rules.x402quotes import header, settled_headers


@asynccontextmanager
async def listening(receive: Callable[[], Awaitable[MutableMapping[str, Any]]]) -> AsyncIterator[Callable[[], bool]]:
    """Whether the client has hung up, while its request, which was read whole, is worked on."""

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


def framed(answer: Answer) -> tuple[Answer, Headers]:
    """Terms as x402 writes them, where `error` is a text and version 2 stands in a header; a result with what was paid."""
    if answer.refused:
        return answer, []
    told = orjson.loads(answer.body)
    if answer.error is not None:
        return replace(answer, error=None), [(b"payment-required", header(told["required"]).encode())]
    paid = told["paid"]
    said, older = settled_headers(paid["transaction"], paid["network"], paid["payer"], paid["amount"])
    return answer, [(b"payment-response", said.encode()), (b"x-payment-response", older.encode())]
