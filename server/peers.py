"""Read the catalogues of the markets in EMPORION_REFERRALS, every six hours and in one process at a time."""

import asyncio
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog

from protocol.discovery.mcp_server import publisher
from server.adapters.catalogs import CatalogFetcher
from server.workers import MarketLoop, attempt
from storage.peers import checks, claim_peer, forget_peer, keep_catalog, peers_among
from storage.tables import PeerCatalogRow
from tools.discovery.peer_catalogs import MAX_ENTRIES, BadCatalog, Reader
from tools.engine.context import TxContext
from tools.engine.dispatch import Market
from tools.engine.outgoing_urls import own_places
from tools.kernel.ard_urns import MANIFEST
from tools.kernel.ssrf_guard import NotAttempted, UrlUnreachable

log = structlog.get_logger("emporion.peers")
EVERY, AGAIN = timedelta(hours=6), timedelta(minutes=15)  # after a good answer of the manifest; after none
LEASE = timedelta(minutes=5)  # eleven documents of ten seconds each take less
LOOK_SECONDS = 30.0
Document = dict[str, Any]  # url, etag, at (Unix seconds), entries, nested


class PeerCatalogs(MarketLoop):
    """The loop that reads catalogues; their servers may be slow, so nothing else waits for it."""

    def __init__(self, market: Market, fetcher: CatalogFetcher) -> None:
        super().__init__(market)
        self.fetcher = fetcher

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await attempt(log, "peers", self.step)
            await asyncio.sleep(LOOK_SECONDS)

    async def step(self) -> int:
        """Read every catalogue that is due; return how many were read."""
        now, origins = self.market.world.clock.now(), self.market.config.referrals
        known = dict(await self.market.store.read(lambda tx: tx.all(checks)))
        due = [origin for origin in origins if origin not in known or known[origin] <= now]
        gone = sorted(known.keys() - set(origins))
        if not due and not gone:
            return 0
        until = now + LEASE
        claimed = await self._write("peers", partial(_claim, due=due, gone=gone, until=until))
        for origin in claimed:
            await self._read(origin, until)
        return len(claimed)

    async def _read(self, origin: str, until: datetime) -> None:
        """Read the documents of a market and keep them; those that cannot be read stay as they were."""
        rows = await self.market.store.read(lambda tx: tx.all(peers_among, origins=[origin]))
        before = {one["url"]: one for row in rows for one in row.documents}
        config, now = self.market.config, self.market.world.clock.now()
        reader = Reader(origin, publisher(config), own_places(config), config.allow_private_networks)
        manifest = await self._document(reader, origin + MANIFEST, before, MAX_ENTRIES)
        documents = [] if manifest is None else [manifest]
        if manifest is not None:
            room = MAX_ENTRIES - len(manifest["entries"])
            for url in dict.fromkeys(manifest["nested"]):
                if room and (nested := await self._document(reader, url, before, room)):
                    nested = nested | {"entries": nested["entries"][:room]}
                    documents.append(nested)
                    room -= len(nested["entries"])
        following = now + (AGAIN if manifest is before.get(origin + MANIFEST) else EVERY)
        given = {"origin": origin, "documents": documents, "until": until, "next": following}
        await self._write("peers", lambda ctx: ctx.tx.run(keep_catalog, **given))

    async def _document(self, reader: Reader, url: str, before: dict[str, Document], room: int) -> Document | None:
        """Return a document as read now; as read before, if it has not changed or cannot be read."""
        known = before.get(url)
        at = self.market.world.clock.now().timestamp()
        try:
            fetched = await self.fetcher.catalog(url, None if known is None else known["etag"])
            if fetched.body is None and known is not None:
                return known | {"at": at}
            found = await asyncio.to_thread(reader.read, fetched.body or b"", room)
        except (UrlUnreachable, BadCatalog) as fault:
            log.warning("catalog_not_read", market=reader.origin, url=url, reason=fault.reason)
            return known
        except NotAttempted:
            return known
        if found.refused:
            log.warning("entries_refused", market=reader.origin, url=url, refused=found.refused)
        return {"url": url, "etag": fetched.etag, "at": at, "entries": found.entries, "nested": found.nested}


def _claim(ctx: TxContext, due: list[str], gone: list[str], until: datetime) -> list[str]:
    """Lease the markets that are due to this process; forget those that are no longer named."""
    for origin in gone:
        ctx.tx.run(forget_peer, origin=origin)
    for origin in due:
        ctx.tx.insert_if_absent(PeerCatalogRow(origin=origin, check_at=ctx.now, documents=[]))
    claims = (ctx.tx.one(claim_peer, origin=origin, now=ctx.now, until=until) for origin in due)
    return [origin for origin in claims if origin is not None]
