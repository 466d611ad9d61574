"""The platform's Ed25519 signing key."""

from nacl.signing import SigningKey


class SeedSigner:
    """A signer with a key made from a 32-byte seed; deterministic, as Ed25519 is."""

    def __init__(self, seed: bytes) -> None:
        self._key = SigningKey(seed)

    @property
    def public_key(self) -> bytes:
        return bytes(self._key.verify_key)

    def sign(self, message: bytes) -> bytes:
        return bytes(self._key.sign(message).signature)
