"""Events as a stream: the text form that servers send (SSE), read piece by piece."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext

import httpx

from emporion_client.account import Account
from emporion_client.answers import JsonObject, parsed
from emporion_client.deadlines import deadline
from emporion_client.errors import BY_STATUS, MarketDown, MarketError, UnexpectedAnswer
from emporion_client.operation import place
from emporion_client.table import OPERATIONS
from emporion_client.transport import CALL_SECONDS, FAILURES, add, check_encoding

MAX_BYTES = 4_000_000  # of an event, and of a refusal


class Events:
    """Collects the pieces of a stream into events."""

    def __init__(self) -> None:
        self._rest, self._data, self._size = b"", list[bytes](), 0

    def add(self, piece: bytes) -> Iterator[JsonObject]:
        """Take some bytes; yield the events that they end."""
        *lines, rest = (self._rest + piece).split(b"\n")
        self._rest = rest
        for line in lines:
            if (event := self._line(line.removesuffix(b"\r"))) is not None:
                yield event
        if self._size + len(rest) > MAX_BYTES:
            raise UnexpectedAnswer("an event of the stream is too long")

    def _line(self, line: bytes) -> JsonObject | None:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
            self._size += len(line)
        if line or not self._data:
            return None
        event = parsed(b"\n".join(self._data))
        self._data, self._size = [], 0
        if not isinstance(event, dict) or event.get("object") != "event":
            return None  # the market's word that the stream is ready
        return event


def _request(account: Account, http: httpx.Client | httpx.AsyncClient, arguments: JsonObject) -> httpx.Request:
    placed = place(OPERATIONS["stream_events"], arguments)
    headers = account.headers() | {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
    return http.build_request("GET", account.url + placed.path, params=placed.query, headers=headers, timeout=60)


def _refusal(status: int, body: bytes) -> MarketError:
    found = parsed(body)
    return BY_STATUS.get(status, MarketError)(status, found if isinstance(found, dict) else {})


def stream(account: Account, http: httpx.Client, arguments: JsonObject) -> Iterator[JsonObject]:
    """Yield events until the market ends the stream; call again with since= to continue."""
    events, body = Events(), bytearray()
    try:
        response = http.send(_request(account, http, arguments), stream=True, follow_redirects=False)
        try:
            check_encoding(response)
            refused = response.status_code != 200
            with deadline(CALL_SECONDS) if refused else nullcontext():
                for piece in response.iter_raw():
                    if refused:
                        add(body, piece)
                    else:
                        yield from events.add(piece)
        finally:
            response.close()
    except FAILURES as error:
        raise MarketDown(f"the stream of events broke ({type(error).__name__})") from None
    if refused:
        raise _refusal(response.status_code, bytes(body))


async def stream_async(account: Account, http: httpx.AsyncClient, arguments: JsonObject) -> AsyncIterator[JsonObject]:
    """Yield events until the market ends the stream; call again with since= to continue."""
    events, body = Events(), bytearray()
    try:
        response = await http.send(_request(account, http, arguments), stream=True, follow_redirects=False)
        try:
            check_encoding(response)
            refused = response.status_code != 200
            async with asyncio.timeout(CALL_SECONDS if refused else None):
                async for piece in response.aiter_raw():
                    if refused:
                        add(body, piece)
                    else:
                        for event in events.add(piece):
                            yield event
        finally:
            await response.aclose()
    except (*FAILURES, TimeoutError) as error:
        raise MarketDown(f"the stream of events broke ({type(error).__name__})") from None
    if refused:
        raise _refusal(response.status_code, bytes(body))
