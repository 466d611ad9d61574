"""Public listings, read through the cache."""

from tools.engine.caches import CachedListing
from tools.engine.context import ReadContext
from tools.listings.logic import cache_name, show_listing


async def shown_listing(read_ctx: ReadContext, listing_id: str) -> CachedListing | None:
    """Return the listing as JSON text; None if it does not exist."""
    read = lambda: read_ctx.store.read(lambda tx: show_listing(tx, listing_id))  # noqa: E731 - reads as what it is
    return await read_ctx.services.caches.listings.fetch(cache_name(listing_id), read)
