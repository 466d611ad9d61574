"""Documents served as they are: texts and cards, with validators."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from hashlib import blake2b
from typing import Any

from rest.headers import matches
from tools.errors import MethodNotAllowed

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Page:
    """One document and what HTTP says of it."""

    body: bytes
    kind: str
    made_at: datetime

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        return [
            (b"content-type", self.kind.encode()),
            (b"content-length", b"%d" % len(self.body)),
            (b"etag", b'"' + blake2b(self.body, digest_size=12).hexdigest().encode() + b'"'),
            (b"last-modified", format_datetime(self.made_at, usegmt=True).encode()),
            (b"cache-control", b"public, max-age=300"),
            (b"vary", b"Accept"),
        ]


class Pages:
    """Pages by path. `choose` picks by Accept where one path has a JSON and a markdown form."""

    def __init__(self, pages: dict[str, Page], markdown: dict[str, Page]) -> None:
        self.pages, self.markdown = pages, markdown

    def __contains__(self, path: str) -> bool:
        return path in self.pages

    async def __call__(self, scope: Scope, send: Send) -> None:
        headers = dict(scope["headers"])
        page = self.pages[scope["path"]]
        if b"text/markdown" in headers.get(b"accept", b"") and scope["path"] in self.markdown:
            page = self.markdown[scope["path"]]
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("this document is only read", allowed=["GET", "HEAD"])
        tag = dict(page.headers)[b"etag"]
        if b"if-none-match" in headers and matches(headers[b"if-none-match"], tag):
            kept = [(name, value) for name, value in page.headers if name not in (b"content-length", b"content-type")]
            await _send(send, 304, kept, b"")
            return
        await _send(send, 200, page.headers, b"" if scope["method"] == "HEAD" else page.body)


async def _send(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
