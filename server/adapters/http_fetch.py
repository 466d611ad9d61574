"""Fetch a web page at a URL that an agent chose, with the SSRF checks of outgoing requests on each redirect."""

import zlib
from dataclasses import dataclass
from urllib.parse import urldefrag, urljoin

import aiohttp
from yarl import URL

from server.adapters.web import GuardedWeb
from tools.kernel.ssrf_guard import BadTarget, UrlUnreachable, judge_target

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
        return await self._guarded(url, by, self._page)

    async def _page(self, asked: URL) -> Page:
        place = str(asked)
        for hops in range(MAX_HOPS + 1):
            response = await self._reach("GET", URL(place, encoded=True), None, HEADERS)
            try:
                onward = response.headers.get("Location") if response.status in REDIRECTS else None
                if onward is None:
                    return await _read_page(response, str(asked), place, hops)
            finally:
                response.close()
            place = self._judged(place, onward)
        raise UrlUnreachable("redirects")

    def _judged(self, place: str, onward: str) -> str:
        try:
            wanted = urldefrag(urljoin(place, onward.strip())).url
            judge_target(wanted, self.allow_private)
        except BadTarget:
            raise UrlUnreachable("blocked_address") from None
        return wanted


async def _read_page(response: aiohttp.ClientResponse, asked: str, place: str, hops: int) -> Page:
    body = await _unpacked(response) if response.status == 200 else b""  # error pages are not used
    kind, _, _ = response.headers.get("Content-Type", "").partition(";")
    return Page(asked, place, response.status, kind.strip().lower(), _charset(response), body, hops)


def _charset(response: aiohttp.ClientResponse) -> str | None:
    try:
        return response.charset
    except (ValueError, LookupError, RuntimeError):
        return None


async def _unpacked(response: aiohttp.ClientResponse) -> bytes:
    """Return the body, decompressed; raises UrlUnreachable beyond MAX_PAGE_BYTES."""
    packing = response.headers.get("Content-Encoding", "identity").strip().lower()
    if packing not in ("identity", "gzip", "x-gzip"):
        raise UrlUnreachable("compressed")
    unpack = None if packing == "identity" else zlib.decompressobj(wbits=31)
    read = bytearray()
    try:
        async for piece in response.content.iter_any():
            read += piece if unpack is None else unpack.decompress(piece, MAX_PAGE_BYTES + 1 - len(read))
            if len(read) > MAX_PAGE_BYTES or (unpack is not None and unpack.unconsumed_tail):
                raise UrlUnreachable("too_large")
    except zlib.error:
        raise UrlUnreachable("bad_response") from None
    if unpack is not None and not unpack.eof:
        raise UrlUnreachable("bad_response")
    return bytes(read)
