"""A buyer of the desk's services: the client library with a home of its own, on a served sandbox."""

import asyncio
import time
from pathlib import Path
from typing import Any, Self

from emporion_client import AsyncMarket

MOVED = 30.0  # seconds until a job changes; longer means that no worker is on it
MOST = "1.00"  # USDC


class Buyer(AsyncMarket):
    """An agent that orders and pays."""

    def __init__(self, url: str, home: Path) -> None:
        super().__init__(url, name="Bo", home=home)

    async def listings(self, at_least: int) -> dict[str, Any]:
        """Return the operator's listings by service tag, once at least this many are on sale."""
        until = time.monotonic() + 60
        while len(found := (await self.search_listings(env="test", limit=100))["data"]) < at_least:
            assert time.monotonic() < until, found
            await asyncio.sleep(0.2)
        return {one["tags"][0]: one for one in found if one["first_party"]}

    async def order(self, listing_id: str, given: Any, units: int | None = None) -> Any:
        more: Any = {} if units is None else {"units": units}
        return await self.create_job(listing_id=listing_id, input=given, **more)

    async def known(self, listings: dict[str, str]) -> Self:
        """Make a first payment and return the buyer, because newcomers may hold only one order."""
        bought = await self.buy(listings["validate-json"], {"schema": {}, "data": 1}, MOST)
        assert (await self.accept_job(job_id=bought.id))["payment"]["status"] == "paid"
        return self

    async def until(self, job: Any, *statuses: str) -> Any:
        """Wait until the job has one of these statuses; return it."""
        async with asyncio.timeout(MOVED):
            while job["status"] not in statuses:
                job = await self.get_job(job_id=job["id"], wait_seconds=5, since=job["updated_at"])
        return job

    async def paid(self, job: Any) -> Any:
        """Pay the job and return it, revealed."""
        return (await self.pay(job["id"], MOST)).job
