"""Signatures of documents, and the keys that verify them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tools.kernel.records import Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The platform's signature over the RFC 8785 form of the document."""

    kid: Annotated[str, Field(description="RFC 7638 thumbprint of the platform key")]
    alg: Literal["EdDSA"] = "EdDSA"
    did: str
    sig: Annotated[str, Field(description="Ed25519 signature, hex")]
    canonical: Annotated[Literal["json-sorted-keys"], Field(description="RFC 8785")] = "json-sorted-keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """An Ed25519 key as a JWK; kid is its RFC 7638 thumbprint."""

    kty: str
    crv: str
    x: str
    kid: str
    use: str
    alg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredPlatformKey(PublicKey):
    """A key the platform signed with until it was replaced."""

    did: str
    retired_at: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySet:
    """The platform's public keys (RFC 7517, RFC 8037)."""

    keys: list[PublicKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredKeySet:
    """The platform's replaced keys, newest first, and when each was replaced."""

    keys: list[RetiredPlatformKey]
