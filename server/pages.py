"""Static documents over HTTP: texts, cards and web pages, with ETag, gzip and a choice by Accept."""

import asyncio
import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from functools import cached_property
from hashlib import blake2b

from starlette.types import Scope, Send

from rest.headers import matches
from server.content_negotiation import prefers_html, takes_gzip
from tools.engine.errors import MethodNotAllowed

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Page:
    """A document and its HTTP headers."""

    body: bytes
    kind: str
    made_at: datetime
    more: tuple[tuple[bytes, bytes], ...] = ()

    @cached_property
    def headers(self) -> Headers:
        return [
            (b"content-type", self.kind.encode()),
            (b"content-length", b"%d" % len(self.body)),
            (b"etag", b'"' + blake2b(self.body, digest_size=12).hexdigest().encode() + b'"'),
            (b"last-modified", format_datetime(self.made_at, usegmt=True).encode()),
            (b"cache-control", b"public, max-age=300"),
            (b"vary", b"Accept, Accept-Encoding"),
            *self.more,
        ]

    @cached_property
    def compressed(self) -> "Page":
        """The document in gzip, made once; it has its own ETag, because its bytes differ."""
        small = gzip.compress(self.body, compresslevel=6, mtime=0)
        if len(small) >= len(self.body):
            return self
        return Page(small, self.kind, self.made_at, (*self.more, (b"content-encoding", b"gzip")))


class Pages:
    """Documents by path. Accept chooses between JSON, markdown and HTML forms of the same path."""

    def __init__(
        self, pages: dict[str, Page], markdown: dict[str, Page], html: Mapping[str, Callable[[], Page]] | None = None
    ) -> None:
        self.pages, self.markdown, self.html = pages, markdown, html or {}
        self.made: dict[str, Page] = {}
        self.making = asyncio.Lock()

    def __contains__(self, path: str) -> bool:
        return path in self.pages

    async def __call__(self, scope: Scope, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("this document is only read", allowed=["GET", "HEAD"])
        headers = dict(scope["headers"])
        page = await self._chosen(
            scope["path"], b",".join(value for name, value in scope["headers"] if name == b"accept")
        )
        if takes_gzip(b",".join(value for name, value in scope["headers"] if name == b"accept-encoding")):
            page = page.compressed if "compressed" in page.__dict__ else await asyncio.to_thread(_compressed, page)
        said = page.headers
        if b"if-none-match" in headers and matches(headers[b"if-none-match"], dict(said)[b"etag"]):
            kept = [(name, value) for name, value in said if name not in (b"content-length", b"content-type")]
            await _send(send, 304, kept, b"")
            return
        await _send(send, 200, said, b"" if scope["method"] == "HEAD" else page.body)

    async def _chosen(self, path: str, accept: bytes) -> Page:
        page = self.pages[path]
        if path in self.html and prefers_html(accept, page.kind.partition(";")[0]):
            return await self._written(path)
        return self.markdown[path] if b"text/markdown" in accept and path in self.markdown else page

    async def _written(self, path: str) -> Page:
        """Return the HTML form; it is made in a thread at the first request and then kept."""
        if path not in self.made:
            async with self.making:
                if path not in self.made:
                    self.made[path] = await asyncio.to_thread(self.html[path])
        return self.made[path]


def _compressed(page: Page) -> Page:
    return page.compressed


async def _send(send: Send, status: int, headers: Headers, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
