"""Heads of responses: the fast path sends what uvicorn would, and leaves to uvicorn what it refuses or changes."""

import asyncio
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from server.http_limits import HttpLimits, bounded_http

TYPE, LENGTH = (b"content-type", b"text/plain"), (b"content-length", b"2")
GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"


class Connection(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.sent, self.closed = bytearray(), False

    def write(self, data: Any) -> None:
        self.sent += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        """Ignore it: nothing is read from a socket."""

    def resume_reading(self) -> None:
        """Ignore it: nothing is read from a socket."""


async def answered(kind: type[HttpToolsProtocol], request: bytes, *headers: tuple[bytes, bytes]) -> Connection:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": list(headers)})
        await send({"type": "http.response.body", "body": b"ok"})

    config = Config(app, log_config=None, access_log=False, proxy_headers=False, lifespan="off", ws="none", http=kind)
    config.load()
    connection, protocol = Connection(), kind(config, ServerState(), {})
    protocol.connection_made(connection)
    protocol.data_received(request)
    await asyncio.gather(*protocol.tasks)
    protocol.connection_lost(None)
    return connection


@pytest.mark.parametrize(
    "request_bytes",
    [
        GET,
        GET.replace(b"GET", b"HEAD"),
        GET.replace(b"1.1", b"1.0"),
        GET.replace(b"host", b"connection: close\r\nhost"),
    ],
)
@pytest.mark.parametrize(
    "headers",
    [(TYPE, LENGTH), (TYPE,), (LENGTH, (b"connection", b"close")), ((b"transfer-encoding", b"chunked"),)],
)
async def test_a_response_is_sent_as_uvicorn_sends_it(request_bytes: bytes, headers: Any) -> None:
    ours = await answered(bounded_http("https://market.test/docs"), request_bytes, *headers)
    theirs = await answered(HttpToolsProtocol, request_bytes, *headers)
    assert (ours.sent, ours.closed) == (theirs.sent, theirs.closed)
    assert ours.sent.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"a\rb", b"a\0b"])
async def test_a_value_that_would_begin_another_header_is_refused(value: bytes) -> None:
    sent = (await answered(bounded_http("https://market.test/docs"), GET, LENGTH, (b"x-request-id", value))).sent
    assert sent == b"", "uvicorn raises before it writes anything"


async def test_a_body_of_another_length_closes_the_connection() -> None:
    connection = await answered(HttpLimits, GET, TYPE, (b"content-length", b"3"))
    assert connection.closed
