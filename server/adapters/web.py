"""Outgoing HTTP to URLs that agents chose, with SSRF checks: the address that is checked is the one that is dialled."""

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from ssl import SSLContext, create_default_context
from threading import Lock
from types import SimpleNamespace
from typing import Any, TypeVar

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from tools.engine.ports import Fetched, Reply
from tools.kernel.ssrf_guard import BadTarget, NotAttempted, UrlUnreachable, is_allowed_address, judge_target

Answered = TypeVar("Answered")
Resolve = Callable[[str, int], Awaitable[list[str]]]
AddrInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, Any]

TIMEOUT_IN_SECONDS = 10.0
MAX_READ_BYTES = 64 * 1024
PLAIN = {"Accept": "text/plain, */*;q=0.1", "Accept-Encoding": "identity"}
READ_IN_SECONDS = 1.0  # to read a response's body, so that its connection can be reused
MAX_ADDRESSES = 8
LOOK_UPS, LOOK_UPS_OF_ONE = 64, 4  # at a time, each in a thread; few for each agent, because its name servers may hang

asking = ContextVar("asking", default="")  # the agent a name is looked up for; aiohttp passes no arguments through


class Blocked(OSError):
    """The name leads, or also leads, to an address that must not be dialled."""


class Crowded(OSError):
    """Too many names are being looked up; a queue would use up the time of the attempt."""


class Names:
    """The system's resolver in threads. A look-up that hangs counts even after its attempt."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(LOOK_UPS, "names")
        self.lock, self.under_way = Lock(), Counter[str]()

    async def __call__(self, host: str, port: int) -> list[str]:
        agent = asking.get()
        with self.lock:
            if self.under_way[agent] >= LOOK_UPS_OF_ONE or self.under_way.total() >= LOOK_UPS:
                raise Crowded("names")
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


class Guard(AbstractResolver):
    """A resolver that returns only allowed addresses; one forbidden address refuses them all."""

    def __init__(self, resolve: Resolve, allow_private: bool) -> None:
        self.ask, self.allow_private = resolve, allow_private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        addresses = await self.ask(host.removesuffix("."), port)
        if not addresses or not all(is_allowed_address(one, port, self.allow_private) for one in addresses):
            raise Blocked(f"{len(addresses)} addresses")
        return [
            ResolveResult(
                hostname=host,
                host=one,
                port=port,
                family=socket.AF_INET6 if ":" in one else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for one in list(dict.fromkeys(addresses))[:MAX_ADDRESSES]
        ]

    async def close(self) -> None:
        """Do nothing, because nothing is held open."""


class GuardedWeb:
    """The web port. Use it in one event loop and `close` it.

    A name is resolved once for each connection, so a second answer cannot differ; the socket checks the address again.
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
        self.guard = Guard(resolve or self.names, allow_private)
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], by: str = "") -> Reply:
        return await self._guarded(url, by, partial(self._post, body=body, headers=headers))

    async def get(self, url: str, by: str = "") -> Fetched:
        return await self._guarded(url, by, self._get)

    async def _guarded(self, url: str, by: str, ask: Callable[[URL], Awaitable[Answered]]) -> Answered:
        """Check the URL and send the request in time; raises UrlUnreachable with one word."""
        asking.set(by)
        try:
            judge_target(url, self.allow_private)
        except BadTarget:
            raise UrlUnreachable("blocked_address") from None
        try:
            async with asyncio.timeout(self.timeout_in_seconds):
                return await ask(URL(url, encoded=True))
        except TimeoutError:
            raise UrlUnreachable("timeout") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(_cause(error), Crowded):
                raise NotAttempted from None
            raise UrlUnreachable(_reason(error)) from None  # not chained: its message contains the address

    def open_socket(self, info: AddrInfo) -> socket.socket:
        """Create a connection's socket, after a last check of the address."""
        family, kind, proto, _, place = info
        if not is_allowed_address(place[0], place[1], self.allow_private):
            raise Blocked("the socket")
        return socket.socket(family, kind, proto)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
        self.names.close()

    async def _post(self, url: URL, body: bytes, headers: Mapping[str, str]) -> Reply:
        response = await self._reach("POST", url, body, headers)
        try:
            return Reply(response.status, response.headers.get("Retry-After"))
        finally:
            await _finish(response)

    async def _get(self, url: URL) -> Fetched:
        response = await self._reach("GET", url, None, PLAIN)
        try:
            return Fetched(response.status, await _body(response))
        finally:
            response.close()

    async def _reach(
        self, method: str, url: URL, body: bytes | None, headers: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        connection = SimpleNamespace(used_before=False)
        try:
            return await self._send(method, url, body, headers, connection)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if not connection.used_before:
                raise
            return await self._send(method, url, body, headers, connection)  # an idle connection was just closed

    async def _send(
        self, method: str, url: URL, body: bytes | None, headers: Mapping[str, str], connection: SimpleNamespace
    ) -> aiohttp.ClientResponse:
        connection.used_before = False
        return await self._connections().request(
            method, url, data=body, headers=headers, allow_redirects=False, trace_request_ctx=connection
        )

    def _connections(self) -> aiohttp.ClientSession:
        if self._session is None:
            again = aiohttp.TraceConfig()
            again.on_connection_reuseconn.append(_used_before)
            connector = aiohttp.TCPConnector(
                resolver=self.guard,
                use_dns_cache=False,
                ssl=self._tls or create_default_context(),
                socket_factory=self.open_socket,
                limit=0,  # the callers limit the number of requests
                keepalive_timeout=10.0,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None),  # _guarded limits the total time
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                skip_auto_headers=("Accept", "Accept-Encoding"),
                trace_configs=[again],
            )
        return self._session


async def _used_before(_: object, context: SimpleNamespace, __: object) -> None:
    context.trace_request_ctx.used_before = True


async def _body(response: aiohttp.ClientResponse) -> bytes:
    """Return the body; raises UrlUnreachable if it is compressed or longer than MAX_READ_BYTES."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UrlUnreachable("compressed")
    read = bytearray()
    async for piece in response.content.iter_any():
        read += piece
        if len(read) > MAX_READ_BYTES:
            raise UrlUnreachable("too_large")
    return bytes(read)


async def _finish(response: aiohttp.ClientResponse) -> None:
    """Read a small response to its end, so that the connection can be reused; close any other."""
    read = 0
    with suppress(aiohttp.ClientError, TimeoutError):
        async with asyncio.timeout(READ_IN_SECONDS):
            async for piece in response.content.iter_any():
                read += len(piece)
                if read > MAX_READ_BYTES:
                    break
    if response.content.at_eof():
        response.release()
    else:
        response.close()


def _cause(error: Exception) -> Exception:
    return getattr(error, "os_error", None) or error


def _reason(error: Exception) -> str:
    cause = _cause(error)
    if isinstance(cause, Blocked):
        return "blocked_address"
    if isinstance(cause, socket.gaierror):
        return "name_not_found"
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError):
        return "tls_failed"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "connection_failed"
    return "bad_response"
