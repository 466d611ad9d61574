"""Serve openapi.json with the listings that one x402 payment buys; made again if they change."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import parse_qs

import orjson
from starlette.types import Scope

from rest.openapi_listings import with_listings
from server.pages import LatePage, Page
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.engine.dispatch import Market
from tools.purchases.catalogue_entries import Entry, Version, entries, env_of_catalogue, sold_now, version_of

PATH, LISTINGS = "/openapi.json", "listings"
MAX_AGE = 60  # seconds; a client that asks again gets the new document at once


@dataclass
class ListedOpenapi:
    """The document without listings, and the newest one with them."""

    market: Market
    plain: Page | LatePage
    version: Version = ()
    listed: Page | None = None

    async def __call__(self, scope: Scope) -> Page:
        """Return the document; `?listings=false` leaves the listings out, for generators."""
        env, asked = env_of_catalogue(self.market.world), parse_qs(scope["query_string"].decode("latin-1"))
        if env is None or asked.get(LISTINGS) == ["false"]:
            return await self.plain.page()
        version = await self.market.store.read(lambda tx: version_of(sold_now(tx, env)))
        if self.listed is None or version != self.version:
            version, sold = await self.market.store.read(lambda tx: _sold(tx, env))
            self.listed = await asyncio.to_thread(partial(self._made, await self.plain.page(), sold, env))
            self.version = version
        return self.listed

    def _made(self, plain: Page, sold: Sequence[Entry], env: Env) -> Page:
        body = orjson.dumps(with_listings(orjson.loads(plain.body), sold, env))
        return Page(body, plain.kind, self.market.world.clock.now(), max_age=MAX_AGE)


def _sold(tx: Tx, env: Env) -> tuple[Version, list[Entry]]:
    rows = sold_now(tx, env)
    return version_of(rows), entries(tx, rows)
