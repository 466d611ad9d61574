"""The real clock, the real source of randomness, and the platform's Ed25519 signing key."""

import os
import time
from datetime import UTC, datetime

from nacl.signing import SigningKey


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - this is World.clock

    def monotonic(self) -> float:
        return time.monotonic()


class SystemDice:
    def random_bytes(self, count: int) -> bytes:
        return os.urandom(count)


class SeedSigner:
    """A signer with a key made from a 32-byte seed; deterministic, as Ed25519 is."""

    def __init__(self, seed: bytes) -> None:
        self._key = SigningKey(seed)

    @property
    def public_key(self) -> bytes:
        return bytes(self._key.verify_key)

    def sign(self, message: bytes) -> bytes:
        return bytes(self._key.sign(message).signature)
