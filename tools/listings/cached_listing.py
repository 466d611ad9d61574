"""Public listings, read through the cache."""

from tools.engine.caches import Shown
from tools.engine.context import ReadContext
from tools.listings.logic import cache_name, show_listing


async def shown_listing(outside: ReadContext, listing_id: str) -> Shown | None:
    """Return the listing as JSON text; None if it does not exist."""
    read = lambda: outside.store.look(lambda tx: show_listing(tx, listing_id))  # noqa: E731 - reads as what it is
    return await outside.caches.listings.fetch(cache_name(listing_id), read)
