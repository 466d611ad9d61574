"""HTTP requests to services that the operator chose: no proxies of the environment, no cookies, bounded answers."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ssl import SSLContext, create_default_context
from typing import Any

import httpx
import orjson

HASH = re.compile(r"0x[0-9a-fA-F]{64}")  # of a transaction, in an answer
JSON_HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}


@cache
def tls_context() -> SSLContext:
    """Return the TLS settings of all clients; loading the system's certificates takes a while."""
    return create_default_context()


def http_client(**given: Any) -> httpx.AsyncClient:
    """Return a client without time limits of its own: its callers limit the total time."""
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    return httpx.AsyncClient(verify=tls_context(), trust_env=False, timeout=None, cookies=cookies, **given)  # noqa: S113


async def read_bounded(pieces: AsyncIterator[bytes], max_bytes: int) -> bytes | None:
    """Read a body; return None, and stop reading, if it is longer than `max_bytes`."""
    read = bytearray()
    async for piece in pieces:
        read += piece
        if len(read) > max_bytes:
            return None
    return bytes(read)


class ServiceClient:
    """A client of one service that answers in JSON. Use it in one event loop and `close` it.

    It raises `not_sent` if the service certainly did not receive the request, and `unknown` if that is unknown. Errors
    never contain the URL, because it may contain a key.
    """

    not_sent: type[Exception]
    unknown: type[Exception]
    max_bytes: int  # of an answer

    def __init__(self, url: str, timeout_in_seconds: float) -> None:
        self.url, self.timeout_in_seconds = url.rstrip("/"), timeout_in_seconds
        # No keep-alive: on a stale connection it is unclear if a request arrived.
        self._http = http_client(limits=httpx.Limits(max_connections=None, max_keepalive_connections=0))

    async def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, dict[str, Any]]:
        """Return the status and the JSON object of the answer; redirects are not followed."""
        try:
            async with (
                asyncio.timeout(self.timeout_in_seconds),
                self._http.stream(method, self.url + path, content=body, headers=JSON_HEADERS) as answer,
            ):
                said = await read_bounded(answer.aiter_bytes(), self.max_bytes)
        except (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise self.not_sent(type(error).__name__) from None
        except (httpx.HTTPError, TimeoutError, OSError) as error:
            raise self.unknown(type(error).__name__) from None
        if said is None:
            raise self.unknown("the answer is too large")
        found: Any = None
        with suppress(orjson.JSONDecodeError):
            found = orjson.loads(said)
        if not isinstance(found, dict):
            raise self.unknown(f"HTTP {answer.status_code} without a JSON object")
        return answer.status_code, found

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
