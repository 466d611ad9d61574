"""Caches of frequently read records; the commit that changes a record drops its cache entry."""

from dataclasses import dataclass
from datetime import datetime

from storage.cache import Cache
from storage.store import Store
from storage.vocabulary import Env
from tools.engine.ports import Clock

MAX_BYTES = 64 * 1024 * 1024  # for listings: about 15,000 ordinary ones or 100 of the largest


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """The facts about an API key, cached by the hash of the key."""

    key_id: str
    agent_id: str
    env: Env
    scopes: tuple[str, ...]
    usable: bool
    expires_at: datetime | None


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
    archived: bool
    body: bytes
    brief: bytes

    @property
    def size(self) -> int:
        """Approximate bytes in memory."""
        return len(self.body) + len(self.brief) + 500


class Caches:
    """The caches, by the names that `Tx.forget` uses.

    Names: key:<hash>, listing:<id>, seller:<id> for all listings of a seller, and holder:<id> for everything the
    tokens of an agent depend on.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self.keys: Cache[KeyFacts] = Cache(store, clock.monotonic)
        self.holders: Cache[TokenSubject] = Cache(
            store, clock.monotonic, owners="holder", owner_of=lambda facts: facts.agent_id
        )
        self.listings: Cache[CachedListing] = Cache(
            store,
            clock.monotonic,
            MAX_BYTES,
            lambda shown: shown.size,
            owners="seller",
            owner_of=lambda shown: shown.seller_id,
        )
