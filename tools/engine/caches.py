"""Caches: of records, dropped by the commit that changes one; of answers that read much; of blocks of the chains."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, Protocol, TypeVar, cast

from storage.cache import Cache
from storage.listing_search import ALL_HITS
from storage.search_index import Found
from storage.store import Store
from storage.vocabulary import Env, ListingStatus
from tools.engine.ports import Clock

T = TypeVar("T")
KEPT_SECONDS, REST = 60.0, 50  # of a shared result; the longer one counts: KEPT_SECONDS, or REST times its computation
MAX_BYTES = 64 * 1024 * 1024  # for listings: about 15,000 ordinary ones or 100 of the largest
MAX_TERMS_BYTES = 8 * 1024 * 1024  # with ordinary schemas about 8,000 listings
SEARCH_WEIGHT, MAX_HITS = 10, 20_000  # a search counts as ten hits and its own: 700 full pages, about 5 MB
HITS_OWNERS, HITS_OWNER = ALL_HITS.split(":")
BLOCK_SECONDS, MAX_BLOCK_BYTES = 30.0, 32 * 1024 * 1024  # for blocks; a busy one has half a megabyte of inputs


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """The facts about an API key.

    They are cached by the key itself, because its hash costs more than the lookup.
    """

    hash: str
    key_id: str
    agent_id: str
    env: Env
    scopes: tuple[str, ...]
    active: bool  # neither revoked nor of an agent that is not active
    expires_at: datetime | None

    def is_usable(self, now: datetime) -> bool:
        return self.active and not (self.expires_at and self.expires_at <= now)


@dataclass(frozen=True, slots=True)
class TokenSubject:
    """The facts that an agent's access tokens depend on, cached by agent and API key."""

    agent_id: str
    active: bool
    epoch: int
    key: KeyFacts | None  # the key a token was issued for; None: none, or not of this agent


@dataclass(frozen=True, slots=True)
class CachedListing:
    """A listing as JSON text, in full and in the brief form of lists."""

    id: str
    env: Env
    seller_id: str
    status: ListingStatus
    body: bytes
    brief: bytes
    tag: bytes  # an ETag for both texts

    @property
    def size(self) -> int:
        """Approximate bytes in memory."""
        return len(self.body) + len(self.brief) + 500


@dataclass(frozen=True, slots=True)
class SaleTerms:
    """The part of a listing that an order is checked against before its unit of work."""

    env: Env
    price: int | None
    input_schema: str | None  # its hash
    schema_text: str | None

    @property
    def size(self) -> int:
        """Approximate bytes in memory."""
        return len(self.schema_text or "") + 300


class Caches:
    """The caches, by the names that `Tx.invalidate` uses.

    Names: key:<hash>, listing:<id>, seller:<id> for all listings of a seller, holder:<id> for everything the
    tokens of an agent depend on, and search:listings for all pages of hits.
    """

    def __init__(self, store: Store) -> None:
        self.keys = Cache[KeyFacts](store, owners="key", owner_of=attrgetter("hash"))
        self.holders = Cache[TokenSubject](store, owners="holder", owner_of=attrgetter("agent_id"))
        self.listings = Cache[CachedListing](
            store, MAX_BYTES, attrgetter("size"), owners="seller", owner_of=attrgetter("seller_id")
        )
        self.terms = Cache[SaleTerms](store, MAX_TERMS_BYTES, attrgetter("size"))  # by the names of listings
        self.searches = Cache[Found](
            store,
            MAX_HITS,
            lambda found: SEARCH_WEIGHT + len(found.hits),
            owners=HITS_OWNERS,
            owner_of=lambda _: HITS_OWNER,
        )  # by ListingSearch


class SharedResults:
    """Answers that read much of the market, shared by all callers, each with its expiry.

    If several callers find an entry expired, only one recomputes it.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.kept: dict[str, tuple[object, float]] = {}
        self.making: dict[str, asyncio.Lock] = {}

    async def of(self, name: str, make: Callable[[], Awaitable[T]]) -> T:
        """Return the value of this name; compute it if it is missing or expired.

        There are few names: an operation, its environment, a number or two.
        """
        if self._stands(name):
            return cast(T, self.kept[name][0])
        async with self.making.setdefault(name, asyncio.Lock()):
            if not self._stands(name):
                began = self.clock.monotonic()
                value = await make()
                now = self.clock.monotonic()
                self.kept[name] = value, now + max(KEPT_SECONDS, REST * (now - began))
        return cast(T, self.kept[name][0])

    def _stands(self, name: str) -> bool:
        return name in self.kept and self.clock.monotonic() < self.kept[name][1]


class Sized(Protocol):
    """A value that knows its approximate bytes in memory."""

    @property
    def size(self) -> int: ...


B = TypeVar("B", bound=Sized)


class BlockCache:
    """The blocks that were read last. All who look at a block share one read of it."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.kept: dict[tuple[Env, int], tuple[asyncio.Task[Any], float]] = {}

    async def of(self, env: Env, number: int, read: Callable[[], Coroutine[Any, Any, B]]) -> B:
        """Return a block of an environment's chain; read it if it is not kept."""
        place = env, number
        if not self._stands(place):
            self._forget()
            reading = asyncio.create_task(read(), name="block")
            reading.add_done_callback(_has_failed)  # asyncio logs a failure that no caller has awaited
            self.kept[place] = reading, self.clock.monotonic() + BLOCK_SECONDS
        reading = self.kept[place][0]
        return cast(B, await asyncio.shield(reading))  # a caller that leaves does not end the read of the others

    def _stands(self, place: tuple[Env, int]) -> bool:
        """Check whether a block is kept, neither old nor a read that failed."""
        if place not in self.kept:
            return False
        reading, until = self.kept[place]
        return self.clock.monotonic() < until and not (reading.done() and _has_failed(reading))

    def _forget(self) -> None:
        """Forget the blocks that are old or failed; then the oldest, until the others fit."""
        self.kept = {place: one for place, one in self.kept.items() if self._stands(place)}
        sizes = {place: one.result().size for place, (one, _) in self.kept.items() if one.done()}
        total = sum(sizes.values())
        for place, size in sizes.items():
            if total <= MAX_BLOCK_BYTES:
                break
            del self.kept[place]
            total -= size


def _has_failed(ended: asyncio.Task[Any]) -> bool:
    return ended.cancelled() or ended.exception() is not None
