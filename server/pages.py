"""Documents served as they are: texts, cards and web pages, with validators."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from functools import cached_property
from hashlib import blake2b
from typing import Any

from rest.headers import matches
from server.accept import prefers_html
from tools.errors import MethodNotAllowed

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Page:
    """One document and what HTTP says of it."""

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
            (b"vary", b"Accept"),
            *self.more,
        ]


class Pages:
    """Pages by path. Accept picks where one path has a JSON and a markdown form, or a form for people."""

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
        """The form for people: made when it is first asked for, in a thread beside the requests of others, and kept."""
        if path not in self.made:
            async with self.making:
                if path not in self.made:
                    self.made[path] = await asyncio.to_thread(self.html[path])
        return self.made[path]


async def _send(send: Send, status: int, headers: Headers, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
