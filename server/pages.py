"""Documents over HTTP: pages with ETag, gzip and a choice by Accept, and probes such as /ready and /metrics."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import format_datetime
from functools import cached_property
from hashlib import blake2b

from starlette.types import Scope, Send

from protocol.accept import all_of, prefers_html, takes_gzip
from protocol.http import header_values
from rest.headers import matches
from tools.engine.errors import MethodNotAllowed

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Page:
    """A document and its HTTP headers."""

    body: bytes
    kind: str
    made_at: datetime
    more: tuple[tuple[bytes, bytes], ...] = ()
    max_age: int = 300  # seconds

    @cached_property
    def headers(self) -> Headers:
        return [
            (b"content-type", self.kind.encode()),
            (b"content-length", b"%d" % len(self.body)),
            (b"etag", b'"' + blake2b(self.body, digest_size=12).hexdigest().encode() + b'"'),
            (b"last-modified", format_datetime(self.made_at, usegmt=True).encode()),
            (b"cache-control", b"public, max-age=%d" % self.max_age),
            (b"vary", b"Accept, Accept-Encoding"),
            *self.more,
        ]

    async def page(self) -> "Page":
        """Return the page itself, as a LatePage returns its page."""
        return self

    @cached_property
    def compressed(self) -> "Page":
        """The document in gzip, made once; it has its own ETag, because its bytes differ."""
        small = gzip.compress(self.body, compresslevel=6, mtime=0)
        if len(small) >= len(self.body):
            return self
        return replace(self, body=small, more=(*self.more, (b"content-encoding", b"gzip")))


class LatePage:
    """A page of some kind that is made in a thread at its first request, and then kept."""

    def __init__(self, kind: str, make: Callable[[], Page]) -> None:
        self.kind, self.make, self.lock = kind, make, asyncio.Lock()
        self.made: Page | None = None

    async def page(self) -> Page:
        """Return the page; concurrent requests share one rendering."""
        if self.made is None:
            async with self.lock:
                if self.made is None:
                    self.made = await asyncio.to_thread(self.make)
        return self.made


class Pages:
    """Documents by path. Accept chooses between JSON, markdown and HTML forms of the same path."""

    def __init__(
        self,
        pages: dict[str, Page | LatePage],
        markdown: dict[str, Page],
        html: Mapping[str, LatePage] | None = None,
    ) -> None:
        self.pages, self.markdown, self.html = pages, markdown, html or {}
        self.fresh: dict[str, Callable[[Scope], Awaitable[Page]]] = {}  # documents that change while it runs

    def __contains__(self, path: str) -> bool:
        return path in self.pages

    async def __call__(self, scope: Scope, send: Send) -> None:
        _require_read(scope)
        fresh = self.fresh.get(scope["path"])
        page = await (self._chosen(scope["path"], all_of(scope, b"accept")) if fresh is None else fresh(scope))
        if takes_gzip(all_of(scope, b"accept-encoding")):
            page = (
                page.compressed if "compressed" in page.__dict__ else await asyncio.to_thread(lambda: page.compressed)
            )
        known = header_values(scope).get(b"if-none-match")
        if known is not None and matches(known, dict(page.headers)[b"etag"]):
            kept = [(name, value) for name, value in page.headers if name not in (b"content-length", b"content-type")]
            await _send(scope, send, 304, kept, b"")
        else:
            await _send(scope, send, 200, page.headers, page.body)

    async def _chosen(self, path: str, accept: bytes) -> Page:
        page = self.pages[path]
        if path in self.html and prefers_html(accept, page.kind.partition(";")[0]):
            page = self.html[path]
        elif b"text/markdown" in accept and path in self.markdown:
            page = self.markdown[path]
        return await page.page()


@dataclass(frozen=True, slots=True)
class Found:
    """The response of a probe."""

    status: int
    kind: str
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


async def send_to(place: str, scope: Scope, send: Send) -> None:
    """Redirect a visit to a page."""
    headers = [(b"location", place.encode()), (b"content-length", b"0"), (b"vary", b"Accept")]
    await _send(scope, send, 303, headers, b"")


Probe = Callable[[Scope], Awaitable[Found]]


async def send_probe(probe: Probe, scope: Scope, send: Send) -> None:
    """Send a monitoring page of the operator: computed for each request, never cached."""
    _require_read(scope)
    found = await probe(scope)
    headers = [
        (b"content-type", found.kind.encode()),
        (b"content-length", b"%d" % len(found.body)),
        (b"cache-control", b"no-store"),
        *found.headers,
    ]
    await _send(scope, send, found.status, headers, found.body)


def _require_read(scope: Scope) -> None:
    if scope["method"] not in ("GET", "HEAD"):
        raise MethodNotAllowed("this document is only read", allowed=["GET", "HEAD"])


async def _send(scope: Scope, send: Send, status: int, headers: Headers, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
