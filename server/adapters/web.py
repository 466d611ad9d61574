"""Outgoing HTTP to URLs that agents chose, with SSRF checks: the address that is checked is the one that is dialled."""

import asyncio
import socket
from asyncio.staggered import staggered_race
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from functools import partial
from ssl import SSLContext, SSLError
from threading import Lock
from typing import TypeVar
from urllib.parse import urlsplit

import httpcore

from server.adapters.http import read_bounded, tls_context
from tools.engine.ports import Fetched, Reply
from tools.kernel.ssrf_guard import (
    BadTarget,
    NotAttempted,
    UrlUnreachable,
    address_in,
    is_allowed_address,
    judge_target,
)

Answered = TypeVar("Answered")
Resolve = Callable[[str, int], Awaitable[list[str]]]
Dial = Callable[[str, int], Awaitable[httpcore.AsyncNetworkStream]]

TIMEOUT_IN_SECONDS = 10.0
MAX_READ_BYTES = 64 * 1024
MAX_FIELD_BYTES = 8190  # of a response's header; httpcore limits them all together to 100 KiB
PLAIN = {"Accept": "text/plain, */*;q=0.1", "Accept-Encoding": "identity"}
READ_IN_SECONDS = 1.0  # to read a response's body, so that its connection can be reused
KEEP_ALIVE_SECONDS = 10.0
MAX_ADDRESSES, NEXT_ADDRESS_SECONDS = 8, 0.25  # the next one is tried too once an address has not answered for a while
LOOK_UPS, LOOK_UPS_OF_ONE = 64, 4  # at a time, each in a thread; few for each agent, because its name servers may hang

asking = ContextVar("asking", default="")  # the agent a name is looked up for; httpcore passes no arguments through


class Names:
    """The system's resolver in threads. A look-up that hangs counts even after its attempt."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(LOOK_UPS, "names")
        self.lock, self.under_way = Lock(), Counter[str]()

    async def __call__(self, host: str, port: int) -> list[str]:
        agent = asking.get()
        with self.lock:
            if self.under_way[agent] >= LOOK_UPS_OF_ONE or self.under_way.total() >= LOOK_UPS:
                raise NotAttempted  # a queue would use up the time of the attempt
            self.under_way[agent] += 1
        return await asyncio.get_running_loop().run_in_executor(self.threads, self._ask, agent, host, port)

    def _ask(self, agent: str, host: str, port: int) -> list[str]:
        try:
            return [str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        finally:
            with self.lock:
                self.under_way[agent] -= 1
                if not self.under_way[agent]:
                    del self.under_way[agent]

    def close(self) -> None:
        self.threads.shutdown(wait=False, cancel_futures=True)


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """A network that reaches a host only at the addresses that `addresses` returns for it."""

    def __init__(self, addresses: Resolve, dial: Dial) -> None:
        self.addresses, self.dial = addresses, dial

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        dials = [partial(self.dial, one, port) for one in await self.addresses(host, port)]
        stream: httpcore.AsyncNetworkStream | None
        stream, _, errors = await staggered_race(dials, NEXT_ADDRESS_SECONDS)
        if stream is None:
            raise next(filter(None, errors))
        return stream


class GuardedWeb:
    """The web port. Use it in one event loop and `close` it.

    A name is resolved once for each connection, so a second answer cannot differ; the address that is dialled is
    checked again. TLS is verified against the name.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        resolve: Resolve | None = None,
        tls: SSLContext | None = None,
        timeout_in_seconds: float = TIMEOUT_IN_SECONDS,
    ) -> None:
        self.allow_private, self.timeout_in_seconds = allow_private, timeout_in_seconds
        self.names = Names()
        self.resolve = resolve or self.names
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls or tls_context(),
            max_connections=None,  # the callers limit the number of requests
            keepalive_expiry=KEEP_ALIVE_SECONDS,
            network_backend=GuardedNetwork(self.addresses, lambda address, port: self.dial(address, port)),
        )

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], by: str = "") -> Reply:
        return await self._guarded(by, self._post(url, body, headers))

    async def get(self, url: str, by: str = "") -> Fetched:
        return await self._guarded(by, self._get(url))

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the allowed addresses of a host; one that is forbidden refuses them all."""
        name = host.removesuffix(".")
        found = await self.resolve(name, port) if address_in(name) is None else [name]
        if not found or not all(is_allowed_address(one, port, self.allow_private) for one in found):
            raise UrlUnreachable("blocked_address")
        return list(dict.fromkeys(found))[:MAX_ADDRESSES]

    async def dial(self, address: str, port: int) -> httpcore.AsyncNetworkStream:
        """Connect to an address, after a last check of it."""
        if not is_allowed_address(address, port, self.allow_private):
            raise UrlUnreachable("blocked_address")
        return await httpcore.AnyIOBackend().connect_tcp(address, port)

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.aclose()
        self.names.close()

    async def _guarded(self, by: str, answer: Awaitable[Answered]) -> Answered:
        """Await an answer in time; raises UrlUnreachable with one word, or NotAttempted."""
        asking.set(by)
        try:
            async with asyncio.timeout(self.timeout_in_seconds):
                return await answer
        except BadTarget:
            raise UrlUnreachable("blocked_address") from None
        except NotAttempted:
            raise NotAttempted from None
        except TimeoutError:
            raise UrlUnreachable("timeout") from None
        except (UrlUnreachable, httpcore.NetworkError, httpcore.ProtocolError, OSError, ValueError) as error:
            raise UrlUnreachable(_reason(error)) from None  # not chained: its message contains the address

    async def _post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        async with self._request("POST", url, headers, body) as response:
            with suppress(TimeoutError, httpcore.NetworkError, httpcore.ProtocolError):
                async with asyncio.timeout(READ_IN_SECONDS):
                    await read_bounded(response.aiter_stream(), MAX_READ_BYTES)
            return Reply(response.status, header(response, "Retry-After"))

    async def _get(self, url: str) -> Fetched:
        async with self._request("GET", url, PLAIN) as response:
            if (header(response, "Content-Encoding") or "identity").lower() != "identity":
                raise UrlUnreachable("compressed")
            body = await read_bounded(response.aiter_stream(), MAX_READ_BYTES)
        if body is None:
            raise UrlUnreachable("too_large")
        return Fetched(response.status, body)

    @asynccontextmanager
    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncIterator[httpcore.Response]:
        """Judge the URL and send a request to it.

        At the end, the connection is closed unless the response was read to its end.
        """
        target, parts = judge_target(url, self.allow_private), urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        sent = [("Host", parts.netloc), *headers.items()]
        if body is not None:
            sent.append(("Content-Length", str(len(body))))
        place = httpcore.URL(scheme=target.scheme, host=target.host, port=target.port, target=path.encode())
        extensions = {"sni_hostname": target.host.removesuffix(".")}
        response = await self._send(httpcore.Request(method, place, headers=sent, content=body, extensions=extensions))
        try:
            if any(len(value) > MAX_FIELD_BYTES for _, value in response.headers):
                raise UrlUnreachable("bad_response")
            yield response
        finally:
            await response.aclose()

    async def _send(self, request: httpcore.Request) -> httpcore.Response:
        """Send a request; send it again if the server had just closed the idle connection."""
        is_new = False

        async def note(event: str, _: object) -> None:
            nonlocal is_new
            is_new = is_new or event == "connection.connect_tcp.started"

        request.extensions["trace"] = note
        try:
            return await self._pool.handle_async_request(request)
        except (httpcore.ReadError, httpcore.WriteError, httpcore.RemoteProtocolError):
            if is_new:
                raise
            return await self._pool.handle_async_request(request)


def header(response: httpcore.Response, name: str) -> str | None:
    """Return the first header of this name."""
    wanted = name.lower().encode()
    return next((value.decode("latin-1") for found, value in response.headers if found.lower() == wanted), None)


def _reason(error: Exception) -> str:
    if isinstance(error, UrlUnreachable):
        return error.reason
    if isinstance(error, socket.gaierror):
        return "name_not_found"
    if isinstance(error, httpcore.ConnectError) and isinstance(error.args[0], SSLError):
        return "tls_failed"
    return "connection_failed" if isinstance(error, httpcore.ConnectError | OSError) else "bad_response"
