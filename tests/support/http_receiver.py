"""HTTP receivers for tests: a real socket that records requests and answers as configured, and checks of signatures."""

import asyncio
import hmac
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from ssl import SSLContext
from typing import Any, Self

import orjson
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Posted:
    """One received request."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return orjson.loads(self.raw)


def status(code: int, *headers: str) -> Answer:
    """Answer with a status and no body."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        head = [f"HTTP/1.1 {code} Said", "content-length: 0", *headers]
        writer.write("\r\n".join([*head, "", ""]).encode())
        await writer.drain()

    return answer


async def hang(_: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.Event().wait()


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Cut the connection."""
    writer.transport.abort()


async def nonsense(writer: asyncio.StreamWriter) -> None:
    writer.write(b"SMTP ready when you are\r\n\r\n")
    await writer.drain()


async def slow_headers(writer: asyncio.StreamWriter) -> None:
    """Send headers without end."""
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"x: y\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)


async def huge(writer: asyncio.StreamWriter) -> None:
    """Send up to a gigabyte, until the client stops reading."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n")
    for _ in range(16_384):
        writer.write(b"x" * 65_536)
        await writer.drain()


@dataclass
class Receiver:
    """A receiver for `async with`.

    It answers 200. If `answers` has entries, they answer the next requests; `always` replaces 200.
    """

    host: str = "127.0.0.1"
    port: int = 0  # 0 selects a free port
    tls: SSLContext | None = None
    answers: list[Answer] = field(default_factory=list)
    always: Answer = field(default_factory=lambda: status(200))
    got: list[Posted] = field(default_factory=list)
    connections: int = 0
    at_once: int = 0
    most_at_once: int = 0

    async def __aenter__(self) -> Self:
        self.tasks: set[asyncio.Task[None]] = set()
        self.came = asyncio.Event()
        self.server = await asyncio.start_server(self._serve, self.host, self.port, ssl=self.tls)
        self.port = self.server.sockets[0].getsockname()[1]
        self.url = f"http://{self.host}:{self.port}/hook"
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self.tasks:
            task.cancel()
        self.server.close()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.server.wait_closed()

    async def has(self, count: int) -> None:
        """Wait until `count` requests have arrived."""
        while len(self.got) < count:
            self.came.clear()
            await self.came.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        self.connections += 1
        try:
            while True:
                await self._one(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.tasks.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        self.got.append(Posted(first.split(" ")[1], headers, raw))
        self.came.set()
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await (self.answers.pop(0) if self.answers else self.always)(writer)
        finally:
            self.at_once -= 1


def verified(posted: Posted, secret: str) -> Any:
    """Check the symmetric signature of Standard Webhooks; return the body."""
    key = b64decode(secret.removeprefix("whsec_"))
    given = [part.partition(",") for part in posted.headers["webhook-signature"].split(" ")]
    (signature,) = [b64decode(value) for version, _, value in given if version == "v1"]
    assert hmac.compare_digest(signature, hmac.digest(key, content_of(posted), sha256)), "the signature does not hold"
    return posted.body


def verified_by_key(posted: Posted, keys: Any) -> Any:
    """Check the platform's signature with a published key; return the body."""
    given = [part.partition(",") for part in posted.headers["webhook-signature"].split(" ")]
    (signature,) = [b64decode(value) for version, _, value in given if version == "v1a"]
    public = VerifyKey(urlsafe_b64decode(keys["keys"][0]["x"] + "="))
    try:
        public.verify(content_of(posted), signature)
    except BadSignatureError:
        raise AssertionError("the signature does not hold") from None
    return posted.body


def content_of(posted: Posted) -> bytes:
    headers = posted.headers
    return f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + posted.raw
