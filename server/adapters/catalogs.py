"""Fetch a catalogue of another market: guarded like all outgoing requests, bounded, without redirects."""

import re
from dataclasses import dataclass

from server.adapters.http import read_bounded
from server.adapters.web import GuardedWeb, header
from tools.kernel.ssrf_guard import UrlUnreachable

MAX_CATALOG_BYTES = 2 << 20
HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "emporion-catalogs"}
ETAG = re.compile(r'(W/)?"[\x21\x23-\x7e]{0,200}"')


@dataclass(frozen=True, slots=True)
class Fetched:
    """A document, or None if it is that of the ETag."""

    body: bytes | None
    etag: str | None


class CatalogFetcher(GuardedWeb):
    """GuardedWeb for catalogues: one request takes at most 10 seconds and 2 MB."""

    async def catalog(self, url: str, etag: str | None = None) -> Fetched:
        """GET a document unless it still has this ETag. Raises UrlUnreachable and NotAttempted."""
        return await self._guarded("catalogs", self._catalog(url, etag))

    async def _catalog(self, url: str, etag: str | None) -> Fetched:
        known = {} if etag is None else {"If-None-Match": etag}
        async with self._request("GET", url, HEADERS | known) as response:
            if response.status == 304 and etag is not None:
                return Fetched(None, etag)
            if response.status != 200:
                raise UrlUnreachable(f"status_{response.status}")
            if (header(response, "Content-Encoding") or "identity").lower() != "identity":
                raise UrlUnreachable("compressed")
            body = await read_bounded(response.aiter_stream(), MAX_CATALOG_BYTES)
        if body is None:
            raise UrlUnreachable("too_large")
        made = header(response, "ETag") or ""
        return Fetched(body, made if ETAG.fullmatch(made) else None)
