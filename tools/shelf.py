"""The shelf: records read often, kept in memory in front of their rows and dropped by the commit that changes them."""

from dataclasses import dataclass
from datetime import datetime

from storage.cache import Cache
from storage.store import Store
from tools.ports import Clock, Env

MOST_BYTES = 64 * 1024 * 1024  # of listings: some 15,000 ordinary ones, a hundred of the largest


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """What an API key opens. Kept by the hash of the key."""

    key_id: str
    agent_id: str
    env: Env
    scopes: tuple[str, ...]
    usable: bool
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class HolderFacts:
    """What access tokens of an agent hang on. Kept by agent and API key."""

    agent_id: str
    active: bool
    epoch: int
    key: KeyFacts | None  # the one a token was given for; None: there is none, or none of this agent


@dataclass(frozen=True, slots=True)
class Shown:
    """A listing as JSON text, whole and as it stands in lists."""

    id: str
    env: Env
    seller_id: str
    archived: bool
    body: bytes
    brief: bytes

    @property
    def size(self) -> int:
        """Bytes in memory, roughly."""
        return len(self.body) + len(self.brief) + 500


class Shelf:
    """The caches, by the names `Tx.forget` uses: key:<hash>, listing:<id>, seller:<id> for all of a seller's listings, and
    holder:<id> for all that tokens of an agent hang on.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self.keys: Cache[KeyFacts] = Cache(store, clock.monotonic)
        self.holders: Cache[HolderFacts] = Cache(
            store, clock.monotonic, owners="holder", owner_of=lambda facts: facts.agent_id
        )
        self.listings: Cache[Shown] = Cache(
            store,
            clock.monotonic,
            MOST_BYTES,
            lambda shown: shown.size,
            owners="seller",
            owner_of=lambda shown: shown.seller_id,
        )
