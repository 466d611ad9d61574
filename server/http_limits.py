"""HTTP/1.1 of the server: limits on incoming requests, in bytes and in time, and a cheaper way to send a head."""

from asyncio import TimerHandle, Transport

import orjson
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from server.adapters.clock import SystemDice
from server.http_identity import request_id
from tools.engine.errors import HeadersTooLarge

MAX_HEAD = 65_536  # bytes of a head or a trailer, and of all headers together
HEAD_SECONDS = 20  # for the first head of a connection, and for each head or trailer that has begun
BODY_SECONDS = 30  # for a whole body, plus one second for each BODY_RATE bytes that have come
BODY_RATE = 32_768
UNUSUAL = frozenset({b"connection", b"transfer-encoding"})  # headers that uvicorn acts on
TOO_LARGE = "the request line and headers, or the trailer, are larger than 64 KiB"


class Cycle(RequestResponseCycle):
    """A request of uvicorn and its response, with a faster way to send an ordinary head.

    The head is joined and checked as one text. uvicorn searches each name and value for forbidden characters, which takes longer than a cached record does.
    """

    async def send(self, message: ASGISendEvent) -> None:
        if self.response_started or message["type"] != "http.response.start" or not self._send_head(message):
            await super().send(message)

    def _send_head(self, message: ASGISendEvent) -> bool:
        """Send the head of a response; return False if it needs more than joining its headers."""
        headers: list[tuple[bytes, bytes]] = [*self.default_headers, *message["headers"]]  # type: ignore[typeddict-item]
        values = dict(headers)
        length = values.get(b"content-length")
        if (
            length is None
            or self.access_log  # uvicorn writes it with the head
            or not self.keep_alive
            or self.disconnected
            or self.flow.write_paused
            or not UNUSUAL.isdisjoint(values)
        ):
            return False
        head = b"".join([b"%b: %b\r\n" % header for header in headers])
        if not head.count(b"\n") == head.count(b"\r") == len(headers) or b"\0" in head:
            return False  # uvicorn refuses it
        self.response_started, self.waiting_for_100_continue = True, False
        self.expected_content_length, self.chunked_encoding = int(length), False
        self.transport.write(STATUS_LINE[message["status"]] + head + b"\r\n")  # type: ignore[typeddict-item]
        return True


class Progress:
    """The part of a request that has come, and the timers of the rest."""

    __slots__ = ("body_began", "body_bytes", "body_deadline", "head_deadline", "reads_body", "unread")

    def __init__(self, head_deadline: TimerHandle) -> None:
        self.unread = 0  # bytes of a head or a trailer
        self.head_deadline: TimerHandle | None = head_deadline
        self.reads_body, self.body_began, self.body_bytes = False, 0.0, 0
        self.body_deadline: TimerHandle | None = None  # only of a body that did not come with its head

    def end_head(self) -> None:
        _cancel(self.head_deadline)
        self.head_deadline = None

    def end_body(self) -> None:
        _cancel(self.body_deadline)
        self.reads_body, self.body_deadline = False, None


class HttpLimits(HttpToolsProtocol):
    """uvicorn's HTTP parser with limits on the size and duration of heads, trailers and bodies.

    It adds one attribute only: with more than 30 attributes, Python gives each instance a larger dictionary.
    """

    docs_url = ""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.progress = Progress(self.loop.call_later(HEAD_SECONDS, transport.close))

    def connection_lost(self, exc: Exception | None) -> None:
        self.progress.end_head()
        self.progress.end_body()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        progress = self.progress
        progress.unread += len(data)
        super().data_received(data)
        if progress.unread == 0:
            progress.end_head()
        elif progress.unread > MAX_HEAD:
            self._refuse()
        elif progress.head_deadline is None:
            progress.head_deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)
        if progress.reads_body and progress.body_deadline is None:
            progress.body_deadline = self.loop.call_later(BODY_SECONDS, self._look_at_body)

    def on_headers_complete(self) -> None:
        progress = self.progress
        progress.unread = 0
        super().on_headers_complete()
        self.cycle.__class__ = Cycle  # uvicorn has no setting for the class; the response begins later
        self.headers = []  # a trailer is not a header (RFC 9110, 6.5.1): the request keeps the list it has
        progress.end_body()
        progress.reads_body, progress.body_began, progress.body_bytes = True, self.loop.time(), 0

    def on_body(self, body: bytes) -> None:
        self.progress.unread = 0
        self.progress.body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.progress.unread = 0
        self.progress.end_body()
        super().on_message_complete()

    def _look_at_body(self) -> None:
        """Close the connection if the body is late; bytes that came since extend the deadline."""
        progress = self.progress
        left = progress.body_began + BODY_SECONDS + progress.body_bytes / BODY_RATE - self.loop.time()
        if left <= 0:
            self.transport.close()
        else:
            progress.body_deadline = self.loop.call_later(left, self._look_at_body)

    def _refuse(self) -> None:
        """Close the connection; send an error first unless a response is under way."""
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self.transport.write(refusal(self.docs_url))
        self.transport.close()


def _cancel(timer: TimerHandle | None) -> None:
    """Cancel a timer, which may have ended."""
    if timer is not None:
        timer.cancel()


def bounded_http(docs_url: str) -> type[HttpLimits]:
    """Return a protocol class whose errors link to `docs_url`."""
    return type("BoundedHttp", (HttpLimits,), {"docs_url": docs_url})


def refusal(docs_url: str) -> bytes:
    """Return a complete HTTP response that refuses a head that is too large."""
    rid = request_id(None, SystemDice())
    error = HeadersTooLarge(TOO_LARGE)
    body = orjson.dumps({"error": error.record(rid, docs_url)})
    head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\nx-request-id: %s\r\n\r\n"
    return STATUS_LINE[error.status] + head % (len(body), rid.encode()) + body
