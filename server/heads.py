"""HTTP/1.1 as it comes in: what the parser keeps before anything of a request is understood, bounded in bytes and in time."""

from asyncio import TimerHandle, Transport

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from server.identify import request_id
from server.world.clock import SystemDice
from tools.errors import HeadersTooLarge

MOST_HEAD = 65_536  # bytes of a head or a trailer, and of all headers
HEAD_SECONDS = 20  # for a connection's first head, and for whatever has begun
TOO_LARGE = "the request line and headers, or the trailer, are larger than 64 KiB"


class BoundedHttp(HttpToolsProtocol):
    """uvicorn's own, which keeps a head or a trailer however long it is and however slowly it comes.

    `unread` bytes have come since the parser last told of a head, a part of a body or the end of a message.
    """

    docs_url = ""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.unread = 0
        self.deadline: TimerHandle | None = self.loop.call_later(HEAD_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._in_time()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.unread += len(data)
        super().data_received(data)
        if self.unread == 0:
            self._in_time()
        elif self.unread > MOST_HEAD:
            self._refuse()
        elif self.deadline is None:
            self.deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def on_headers_complete(self) -> None:
        self.unread = 0
        super().on_headers_complete()
        self.headers = []  # a trailer is no header (RFC 9110, 6.5.1): the request keeps the list it has

    def on_body(self, body: bytes) -> None:
        self.unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.unread = 0
        super().on_message_complete()

    def _in_time(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None

    def _refuse(self) -> None:
        """Close; with an answer where none is under way."""
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self.transport.write(refusal(self.docs_url))
        self.transport.close()


def bounded_http(docs_url: str) -> type[BoundedHttp]:
    """The protocol of a server whose errors are explained there."""
    return type("BoundedHttp", (BoundedHttp,), {"docs_url": docs_url})


def refusal(docs_url: str) -> bytes:
    """The whole answer to a head that is too large."""
    rid = request_id(None, SystemDice())
    error = HeadersTooLarge(TOO_LARGE)
    body = orjson.dumps({"error": error.record(rid, docs_url)})
    head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\nx-request-id: %s\r\n\r\n"
    return STATUS_LINE[error.status] + head % (len(body), rid.encode()) + body
