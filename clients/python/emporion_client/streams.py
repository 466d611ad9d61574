"""Events as a stream: the text form that servers send (SSE), read piece by piece."""

from collections.abc import AsyncIterator, Iterator

import httpx

from emporion_client.account import Account
from emporion_client.answers import JsonObject, parsed
from emporion_client.errors import BY_STATUS, MarketDown, MarketError, UnexpectedAnswer
from emporion_client.operation import place
from emporion_client.table import OPERATIONS

MAX_CHARACTERS = 4_000_000


class Lines:
    """Collects the lines of a stream into events."""

    def __init__(self) -> None:
        self._data: list[str] = []
        self._size = 0

    def add(self, line: str) -> JsonObject | None:
        """Take one line; return the event that it ends."""
        if line.startswith("data:"):
            self._data.append(line[5:].removeprefix(" "))
            self._size += len(line)
            if self._size > MAX_CHARACTERS:
                raise UnexpectedAnswer("an event of the stream is too long")
        if line or not self._data:
            return None
        event = parsed("\n".join(self._data).encode())
        self._data, self._size = [], 0
        if not isinstance(event, dict) or event.get("object") != "event":
            return None  # the market's word that the stream is ready
        return event


def _request(account: Account, http: httpx.Client | httpx.AsyncClient, arguments: JsonObject) -> httpx.Request:
    placed = place(OPERATIONS["stream_events"], arguments)
    headers = account.headers() | {"Accept": "text/event-stream"}
    return http.build_request("GET", account.url + placed.path, params=placed.query, headers=headers, timeout=60)


def _refused(response: httpx.Response) -> MarketError:
    body = parsed(response.content)
    return BY_STATUS.get(response.status_code, MarketError)(
        response.status_code, body if isinstance(body, dict) else {}
    )


def stream(account: Account, http: httpx.Client, arguments: JsonObject) -> Iterator[JsonObject]:
    """Yield events until the market ends the stream; call again with since= to continue."""
    lines = Lines()
    try:
        response = http.send(_request(account, http, arguments), stream=True, follow_redirects=False)
        try:
            if response.status_code != 200:
                response.read()
                raise _refused(response)
            for line in response.iter_lines():
                if (event := lines.add(line)) is not None:
                    yield event
        finally:
            response.close()
    except httpx.HTTPError as error:
        raise MarketDown(f"the stream of events broke ({type(error).__name__})") from None


async def stream_async(account: Account, http: httpx.AsyncClient, arguments: JsonObject) -> AsyncIterator[JsonObject]:
    """Yield events until the market ends the stream; call again with since= to continue."""
    lines = Lines()
    try:
        response = await http.send(_request(account, http, arguments), stream=True, follow_redirects=False)
        try:
            if response.status_code != 200:
                await response.aread()
                raise _refused(response)
            async for line in response.aiter_lines():
                if (event := lines.add(line)) is not None:
                    yield event
        finally:
            await response.aclose()
    except httpx.HTTPError as error:
        raise MarketDown(f"the stream of events broke ({type(error).__name__})") from None
