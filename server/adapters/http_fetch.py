"""Fetch a web page at a URL that an agent chose, with the SSRF checks of outgoing requests on each redirect."""

import zlib
from dataclasses import dataclass
from email.message import Message
from urllib.parse import urldefrag, urljoin

import httpcore

from server.adapters.web import GuardedWeb, header
from tools.kernel.ssrf_guard import UrlUnreachable

MAX_PAGE_BYTES = 2 << 20  # also after decompression
MAX_HOPS = 5
PAGE_SECONDS = 20.0  # for all redirects together
REDIRECTS = frozenset({301, 302, 303, 307, 308})
HEADERS = {
    "Accept": "text/html, application/xhtml+xml;q=0.9, text/plain;q=0.8",
    "Accept-Encoding": "gzip, identity;q=0.5",
    "User-Agent": "emporion-desk",
}


@dataclass(frozen=True, slots=True)
class Page:
    """A fetched page and the URL it was finally found at."""

    url: str
    final_url: str
    status: int
    kind: str  # the media type, in lower case, without parameters
    charset: str | None
    body: bytes
    redirects: int


class HttpFetcher(GuardedWeb):
    """GuardedWeb for pages: it follows redirects, and checks, resolves and pins each."""

    async def page(self, url: str, by: str = "desk") -> Page:
        """GET a page; at most 20 seconds, five redirects and 2 MB.

        Raises UrlUnreachable and NotTried like any outgoing request.
        """
        return await self._guarded(by, self._page(url))

    async def _page(self, asked: str) -> Page:
        place = asked
        for hops in range(MAX_HOPS + 1):
            async with self._request("GET", place, HEADERS) as response:
                onward = header(response, "Location") if response.status in REDIRECTS else None
                if onward is None:
                    return await _read_page(response, asked, place, hops)
            place = urldefrag(urljoin(place, onward.strip())).url
        raise UrlUnreachable("redirects")


async def _read_page(response: httpcore.Response, asked: str, place: str, hops: int) -> Page:
    body = await _unpacked(response) if response.status == 200 else b""  # error pages are not used
    described = Message()
    described["Content-Type"] = header(response, "Content-Type") or ""
    kind, _, _ = str(described["Content-Type"]).partition(";")
    return Page(asked, place, response.status, kind.strip().lower(), described.get_content_charset(), body, hops)


async def _unpacked(response: httpcore.Response) -> bytes:
    """Return the body, decompressed; raises UrlUnreachable beyond MAX_PAGE_BYTES."""
    packing = (header(response, "Content-Encoding") or "identity").strip().lower()
    if packing not in ("identity", "gzip", "x-gzip"):
        raise UrlUnreachable("compressed")
    unpack = None if packing == "identity" else zlib.decompressobj(wbits=31)
    read = bytearray()
    try:
        async for piece in response.aiter_stream():
            read += piece if unpack is None else unpack.decompress(piece, MAX_PAGE_BYTES + 1 - len(read))
            if len(read) > MAX_PAGE_BYTES or (unpack is not None and unpack.unconsumed_tail):
                raise UrlUnreachable("too_large")
    except zlib.error:
        raise UrlUnreachable("bad_response") from None
    if unpack is not None and not unpack.eof:
        raise UrlUnreachable("bad_response")
    return bytes(read)
